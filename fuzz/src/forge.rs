//! How does an attacker who sees everything write packets? Tag and checksum right, the rest as the bytes decide.

use anabranch_types::VerificationTag;
use anabranch_wire::{Chunk, Packet, checksum, chunk::kind};

use crate::Choices;

/// What was overheard between the two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overheard {
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
    /// What the victim wants back from its last HEARTBEAT.
    pub(crate) heartbeat: Vec<u8>,
}

impl Overheard {
    /// Listens to a packet of the victim.
    pub(crate) fn of_victim(&mut self, bytes: &[u8]) {
        let packet = Packet::parse(bytes).expect("checked when it was sent");
        let header = packet.header();
        self.ports = (header.destination_port, header.source_port);
        for chunk in packet.chunks().filter_map(|chunk| chunk.ok()?.decode().ok()) {
            match chunk {
                Chunk::Init(init) => {
                    self.tag = init.initiate_tag.0;
                    self.victim_tsn = init.initial_tsn.0.wrapping_sub(1);
                }
                Chunk::InitAck(init) => {
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

    /// Listens to a packet of the victim's peer.
    pub(crate) fn of_peer(&mut self, bytes: &[u8]) {
        let Ok(packet) = Packet::parse(bytes) else { return };
        if packet.header().tag != VerificationTag::ZERO {
            self.tag = packet.header().tag.0;
        }
        for chunk in packet.chunks().filter_map(|chunk| chunk.ok()?.decode().ok()) {
            match chunk {
                Chunk::Init(init) | Chunk::InitAck(init) => {
                    self.peer_tag = init.initiate_tag.0;
                    self.peer_tsn = init.initial_tsn.0.wrapping_sub(1);
                }
                Chunk::Data(data) => self.peer_tsn = data.tsn.0,
                _ => {}
            }
        }
    }

    /// A packet of up to seven chunks.
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
        for _ in 0..=(shape & 7) {
            self.chunk(choices, &mut packet);
        }
        checksum::seal(&mut packet);
        packet
    }

    fn chunk(&mut self, choices: &mut Choices<'_>, packet: &mut Vec<u8>) {
        const KINDS: [u8; 20] = [
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
            kind::HEARTBEAT => parameter(1, choices.slice(8)),
            kind::HEARTBEAT_ACK => parameter(1, &damaged(&self.heartbeat, choices)),
            kind::ABORT | kind::ERROR => parameters(choices, 0),
            kind::SHUTDOWN => choices.near(self.victim_tsn).to_be_bytes().to_vec(),
            kind::COOKIE_ECHO => damaged(&self.cookie, choices),
            kind::SHUTDOWN_ACK | kind::COOKIE_ACK | kind::SHUTDOWN_COMPLETE => Vec::new(),
            _ => {
                let length = choices.byte();
                choices.slice(length.into()).to_vec()
            }
        }
    }

    /// TSNs wander with what was forged, so that gaps can be filled.
    fn data(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let tsn = choices.near(self.peer_tsn.wrapping_add(1));
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

    fn sack(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let mut value = choices.near(self.victim_tsn).to_be_bytes().to_vec();
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
            value.extend(choices.near(self.victim_tsn).to_be_bytes());
        }
        value
    }

    fn init(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let tag = choices.near(self.peer_tag);
        let mut value = tag.to_be_bytes().to_vec();
        value.extend([0, choices.byte(), choices.byte(), 0]);
        value.extend([0, choices.byte(), 0, choices.byte()]);
        let tsn = choices.near(self.peer_tsn.wrapping_add(1));
        value.extend(tsn.to_be_bytes());
        value.extend(parameters(choices, 7));
        value
    }
}

fn parameter(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_be_bytes().to_vec();
    bytes.extend((value.len() as u16 + 4).to_be_bytes());
    bytes.extend(value);
    bytes
}

/// Up to three parameters or causes; a kind beyond the known ones stands for `usual`.
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

/// The same, or with one byte changed, or cut.
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
