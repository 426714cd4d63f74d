//! Packet forgery for fuzzing. The attacker observes all packets: tag and checksum are valid, the fuzzer's bytes decide the rest.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_types::VerificationTag;
use anabranch_wire::{Chunk, Packet, Parameters, checksum, chunk::kind};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Choices, Host};

/// Values observed in the packets of both ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// The tag that the victim expects.
    pub(crate) tag: u32,
    /// The tag that the peer expects: reflected in ABORT and SHUTDOWN COMPLETE.
    pub(crate) peer_tag: u32,
    /// SCTP ports: the peer's, the victim's.
    pub(crate) ports: (u16, u16),
    /// The last TSN of the victim.
    pub(crate) victim_tsn: u32,
    /// The last TSN of the peer.
    pub(crate) peer_tsn: u32,
    /// The last cookie that the victim gave out.
    pub(crate) cookie: Vec<u8>,
    /// The information of the victim's last HEARTBEAT.
    pub(crate) heartbeat: Vec<u8>,
    /// The key vectors of both ends, the victim's first (RFC 4895 §6.1).
    vectors: [Vec<u8>; 2],
    /// The serial number of the next ASCONF (RFC 5061 §4.1.1).
    serial: u32,
}

/// Bytes of an AUTH chunk before its HMAC, and of the HMAC.
const AUTH: (usize, usize) = (8, 32);

impl Observed {
    /// Reads a packet of the victim.
    pub(crate) fn observe_victim(&mut self, bytes: &[u8]) {
        let packet = Packet::parse_unverified(bytes).expect("checked when it was sent");
        let header = packet.header();
        self.ports = (header.destination_port, header.source_port);
        for chunk in packet.chunks().filter_map(|chunk| chunk.ok()?.decode().ok()) {
            match chunk {
                Chunk::Init(init) => {
                    self.vectors[0] = vector(&init.parameters);
                    self.tag = init.initiate_tag.0;
                    self.victim_tsn = init.initial_tsn.0.wrapping_sub(1);
                }
                Chunk::InitAck(init) => {
                    self.vectors[0] = vector(&init.parameters);
                    let cookies = init.parameters.iter().filter_map(Result::ok);
                    let cookie = cookies.filter(|parameter| parameter.kind == 7).last();
                    self.cookie = cookie.map_or_else(Vec::new, |cookie| cookie.value.to_vec());
                }
                Chunk::Data(data) => self.victim_tsn = data.tsn.0,
                Chunk::Heartbeat(heartbeat) => self.heartbeat = heartbeat.info.to_vec(),
                _ => {}
            }
        }
    }

    /// Reads a packet of the victim's peer.
    pub(crate) fn observe_peer(&mut self, bytes: &[u8]) {
        let Ok(packet) = Packet::parse_unverified(bytes) else {
            return;
        };
        if packet.header().tag != VerificationTag::ZERO {
            self.tag = packet.header().tag.0;
        }
        for chunk in packet.chunks().filter_map(|chunk| chunk.ok()?.decode().ok()) {
            match chunk {
                Chunk::Init(init) | Chunk::InitAck(init) => {
                    self.vectors[1] = vector(&init.parameters);
                    self.serial = init.initial_tsn.0;
                    self.peer_tag = init.initiate_tag.0;
                    self.peer_tsn = init.initial_tsn.0.wrapping_sub(1);
                }
                Chunk::Data(data) => self.peer_tsn = data.tsn.0,
                _ => {}
            }
        }
    }

    /// Forges a packet of up to eight chunks.
    pub(crate) fn forge(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let shape = choices.byte();
        let tag = match shape >> 5 {
            0 => 0,
            1 => self.peer_tag,
            2 => choices.long(),
            _ => self.tag,
        };
        let mut packet = Vec::new();
        packet.extend(self.ports.0.to_be_bytes());
        packet.extend(self.ports.1.to_be_bytes());
        packet.extend(tag.to_be_bytes());
        packet.extend([0; 4]);
        let is_authenticated = shape & 24 == 24;
        if is_authenticated {
            // Key 0, HMAC-SHA-256 (RFC 4895 §4.1), and room for the HMAC, which is computed at the end.
            packet.extend([kind::AUTH, 0, 0, (AUTH.0 + AUTH.1) as u8, 0, 0, 0, 3]);
            packet.extend([0; AUTH.1]);
        }
        for _ in 0..=(shape & 7) {
            self.chunk(choices, &mut packet);
        }
        if is_authenticated {
            self.authenticate(&mut packet[12..]);
        }
        checksum::seal(&mut packet);
        packet
    }

    /// Writes the valid HMAC into the AUTH chunk at the start of `covered`. An attacker who has observed the handshake can compute it
    /// (RFC 4895 §8).
    fn authenticate(&self, covered: &mut [u8]) {
        let mut vectors = self.vectors.each_ref();
        vectors.sort_by_key(|vector| (vector.len(), vector.as_slice()));
        let mut code = Hmac::<Sha256>::new_from_slice(&vectors.map(Vec::as_slice).concat())
            .expect("a key of any length");
        code.update(covered);
        covered[AUTH.0..AUTH.0 + AUTH.1].copy_from_slice(&code.finalize().into_bytes());
    }

    fn chunk(&mut self, choices: &mut Choices<'_>, packet: &mut Vec<u8>) {
        const KINDS: [u8; 30] = [
            kind::DATA,
            kind::DATA,
            kind::DATA,
            kind::SACK,
            kind::SACK,
            kind::INIT,
            kind::INIT_ACK,
            kind::HEARTBEAT,
            kind::HEARTBEAT_ACK,
            kind::ABORT,
            kind::SHUTDOWN,
            kind::SHUTDOWN_ACK,
            kind::ERROR,
            kind::COOKIE_ECHO,
            kind::COOKIE_ACK,
            kind::ECNE,
            kind::CWR,
            kind::SHUTDOWN_COMPLETE,
            kind::NR_SACK,
            kind::PAD,
            kind::ASCONF,
            kind::ASCONF,
            kind::ASCONF,
            kind::ASCONF_ACK,
            kind::AUTH,
            kind::I_DATA,
            kind::FORWARD_TSN,
            kind::I_FORWARD_TSN,
            kind::RE_CONFIG,
            kind::RE_CONFIG,
        ];
        let choice = choices.byte();
        let kind = match KINDS.get(usize::from(choice & 31)) {
            Some(kind) => *kind,
            None => choices.byte(),
        };
        let flags = if choice & 32 == 0 { 3 } else { choices.byte() };
        let value = self.value(kind, choices);
        let mut length = (value.len() + 4) as u16;
        if choice >> 6 == 3 {
            length = length.wrapping_add(choices.byte() as i8 as u16);
        }
        packet.extend([kind, flags]);
        packet.extend(length.to_be_bytes());
        packet.extend(value);
        packet.resize(packet.len().next_multiple_of(4), 0);
    }

    fn value(&mut self, kind: u8, choices: &mut Choices<'_>) -> Vec<u8> {
        match kind {
            kind::DATA => self.data(choices),
            kind::SACK | kind::NR_SACK => self.sack(choices),
            kind::INIT | kind::INIT_ACK => self.init(choices),
            kind::ASCONF => self.asconf(choices),
            kind::ASCONF_ACK => {
                let mut value = choices.around(self.victim_tsn).to_be_bytes().to_vec();
                value.extend(parameters(choices, 0xc005));
                value
            }
            kind::HEARTBEAT => parameter(1, choices.slice(8)),
            kind::HEARTBEAT_ACK => parameter(1, &damaged(&self.heartbeat, choices)),
            kind::ABORT | kind::ERROR => parameters(choices, 0),
            kind::RE_CONFIG => self.re_config(choices),
            kind::FORWARD_TSN | kind::I_FORWARD_TSN => self.forward_tsn(choices),
            kind::SHUTDOWN => choices.around(self.victim_tsn).to_be_bytes().to_vec(),
            kind::COOKIE_ECHO => damaged(&self.cookie, choices),
            kind::SHUTDOWN_ACK | kind::COOKIE_ACK | kind::SHUTDOWN_COMPLETE => Vec::new(),
            _ => {
                let length = choices.byte();
                choices.slice(length.into()).to_vec()
            }
        }
    }

    /// A DATA chunk. Its TSN follows earlier forged ones, so that gaps can be filled.
    fn data(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let tsn = choices.around(self.peer_tsn.wrapping_add(1));
        if tsn.wrapping_sub(self.peer_tsn) < 64 {
            self.peer_tsn = tsn;
        }
        let numbers = choices.byte();
        let mut value = tsn.to_be_bytes().to_vec();
        value.extend(u16::from(numbers & 7).to_be_bytes());
        value.extend(u16::from(numbers >> 3).to_be_bytes());
        value.extend([0; 4]);
        let length = usize::from(choices.byte());
        value.resize(value.len() + length * length / 50, 7);
        value
    }

    /// One to three parameters of RE-CONFIG, with numbers around those of the last TSNs.
    fn re_config(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..=choices.below(3) {
            let kind = 13 + u16::from(choices.below(7));
            let mut value = choices.around(self.serial).to_be_bytes().to_vec();
            value.extend(choices.around(self.victim_tsn).to_be_bytes());
            value.extend(choices.around(self.peer_tsn).to_be_bytes());
            value.extend((0..choices.below(3)).flat_map(|_| u16::from(choices.byte() & 15).to_be_bytes()));
            value.truncate(match kind {
                13 => value.len(),
                14 => 4 + usize::from(choices.byte() & 6),
                15 => 4,
                16 if choices.byte() & 1 == 0 => 8,
                16 => 16,
                _ => 8,
            });
            bytes.extend(parameter(kind, &value));
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    /// A FORWARD TSN around the TSNs of forged DATA, with entries of either kind.
    fn forward_tsn(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let cumulative = choices.around(self.peer_tsn.wrapping_add(1));
        if cumulative.wrapping_sub(self.peer_tsn) < 64 {
            self.peer_tsn = cumulative;
        }
        let mut value = cumulative.to_be_bytes().to_vec();
        for _ in 0..choices.below(5) {
            value.extend(u16::from(choices.byte() & 15).to_be_bytes());
            value.extend(choices.short().to_be_bytes());
        }
        value
    }

    fn sack(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let mut value = choices.around(self.victim_tsn).to_be_bytes().to_vec();
        let window = match choices.below(4) {
            0 => 0,
            1 => u32::from(choices.short()),
            2 => u32::MAX,
            _ => 100_000,
        };
        let (blocks, duplicates) = (choices.below(6), choices.below(3));
        value.extend(window.to_be_bytes());
        value.extend([0, blocks, 0, duplicates]);
        for _ in 0..blocks {
            value.extend(u16::from(choices.byte()).to_be_bytes());
            value.extend(u16::from(choices.byte()).to_be_bytes());
        }
        for _ in 0..duplicates {
            value.extend(choices.around(self.victim_tsn).to_be_bytes());
        }
        value
    }

    /// An ASCONF: its address, then requests for addresses that exist, that do not, and that are invalid.
    fn asconf(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let serial = match choices.byte() {
            0..192 => self.serial,
            _ => choices.around(self.serial),
        };
        if serial == self.serial {
            self.serial = serial.wrapping_add(1);
        }
        let mut value = serial.to_be_bytes().to_vec();
        value.extend(address(choices));
        for number in 0..choices.below(4) {
            let kind = match choices.below(8) {
                0..3 => 0xc001,
                3..6 => 0xc002,
                6 => 0xc004,
                _ => choices.short(),
            };
            let request = [&[0, 0, 0, number], &*address(choices)].concat();
            value.extend(parameter(kind, &request));
        }
        value
    }

    fn init(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let tag = choices.around(self.peer_tag);
        let mut value = tag.to_be_bytes().to_vec();
        value.extend([0, choices.byte(), choices.byte(), 0]);
        value.extend([0, choices.byte(), 0, choices.byte()]);
        let tsn = choices.around(self.peer_tsn.wrapping_add(1));
        value.extend(tsn.to_be_bytes());
        value.extend(parameters(choices, 7));
        value
    }
}

/// The key vector of an INIT or INIT ACK: RANDOM, CHUNKS and HMAC-ALGO, in this order (RFC 4895 §6.1).
fn vector(parameters: &Parameters<'_>) -> Vec<u8> {
    let all = || parameters.iter().filter_map(Result::ok);
    let found = [0x8002, 0x8003, 0x8004].map(|kind| all().find(|parameter| parameter.kind == kind));
    let found = found.into_iter().flatten();
    found.flat_map(|parameter| parameter.bytes.to_vec()).collect()
}

/// An address parameter: an address of either host, or another.
fn address(choices: &mut Choices<'_>) -> Vec<u8> {
    let ip = match choices.byte() {
        known @ 0..192 => Host::address(1 + (known & 1), known >> 1 & 3).ip(),
        192..200 => Ipv4Addr::UNSPECIFIED.into(),
        200..208 => Ipv4Addr::BROADCAST.into(),
        208..216 => Ipv6Addr::from([choices.byte(); 16]).into(),
        _ => Ipv4Addr::from(choices.long()).into(),
    };
    match ip {
        IpAddr::V4(ip) => parameter(5, &ip.octets()),
        IpAddr::V6(ip) => parameter(6, &ip.octets()),
    }
}

fn parameter(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_be_bytes().to_vec();
    bytes.extend((value.len() as u16 + 4).to_be_bytes());
    bytes.extend(value);
    bytes
}

/// Up to three parameters or error causes, many of type `usual`.
fn parameters(choices: &mut Choices<'_>, usual: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..choices.below(4) {
        let kind = match choices.byte() {
            small @ 0..16 => u16::from(small),
            wild @ 240.. => u16::from_be_bytes([wild, choices.byte()]),
            _ => usual,
        };
        let length = choices.below(24);
        bytes.extend(parameter(kind, choices.slice(length.into())));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// Copies `bytes`, sometimes with one byte changed or truncated.
fn damaged(bytes: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = choices.short();
    match at >> 14 {
        1 => {
            if let Some(byte) = bytes.get_mut(usize::from(at & 0x3ff)) {
                *byte ^= choices.byte();
            }
        }
        2 => bytes.truncate(usize::from(at & 0xff)),
        _ => {}
    }
    bytes
}
