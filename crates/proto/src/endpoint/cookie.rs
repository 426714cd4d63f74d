//! State cookies (RFC 9260 §5.1.3), which let the answering side keep no state during the handshake.
//!
//! A cookie contains what an association needs, with an HMAC-SHA-256 under a key that changes. The current key and the one before
//! are accepted, so a cookie is valid for at least Valid.Cookie.Life. Cookies are small: an INIT ACK is at most three times as long
//! as the smallest INIT.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use anabranch_types::{ChannelId, Instant, Tsn, VerificationTag};
use anabranch_wire::chunk::kind;
use hmac::{KeyInit as _, Mac as _};

use crate::auth::KeyVector;
use crate::config::ErrorDetection;
use crate::extensions::ChunkKinds;
use crate::handshake::Declared;
use crate::secrets::{HmacSha256, Secrets, TieTags};

/// Length of the seal in bytes: half of the HMAC, as RFC 2104 §5 permits.
const SEAL_LEN: usize = 16;

/// The truncated HMAC of a cookie, which identifies it.
pub(crate) type Seal = [u8; SEAL_LEN];

/// The seal of a cookie, valid or not; `None` if the cookie is too short.
pub(crate) fn seal_of(cookie: &[u8]) -> Option<Seal> {
    cookie.first_chunk().copied()
}
/// Maximum number of addresses in a cookie, beside the source of the INIT.
pub(super) const MAX_ADDRESSES: usize = 15;

const HAS_TIE_TAGS: u8 = 0x01;
const HAS_EXTENSIONS: u8 = 0x02;
const HAS_VECTOR: u8 = 0x04;
const COMES_FROM_IPV6: u8 = 0x08;
/// PART is among the extensions. As a flag it costs no byte.
const TAKES_PARTS: u8 = 0x10;
/// Both ends accept a checksum of zero over DTLS.
const ZERO_CHECKSUM_DTLS: u8 = 0x20;
const HAS_ADAPTATION_LAYER: u8 = 0x40;
/// Both ends support ECN.
const ECN: u8 = 0x80;

/// Content of a cookie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cookie {
    /// Our tag; our initial TSN has the same value. The seal covers it, but the cookie does not contain it, because the packet of
    /// the COOKIE ECHO does.
    pub(crate) local_tag: VerificationTag,
    pub(crate) peer_tag: VerificationTag,
    pub(crate) peer_tsn: Tsn,
    pub(crate) peer_window: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    /// Tie-tags of the association that existed when the INIT arrived.
    pub(crate) tie_tags: Option<TieTags>,
    /// Chunk types that both sides support.
    pub(crate) extensions: ChunkKinds,
    /// The peer's key vector for authentication.
    pub(crate) vector: Option<KeyVector>,
    /// What the peer declared and we support.
    pub(crate) declared: Declared,
    /// Source address of the INIT.
    pub(crate) source: SocketAddr,
    /// The addresses that the INIT listed, in its order.
    pub(crate) listed: Vec<IpAddr>,
}

/// Ports and channel, which the seal covers but the cookie does not contain, because every packet has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ports {
    pub(crate) ours: u16,
    pub(crate) peers: u16,
    pub(crate) channel: ChannelId,
}

/// Reason why a cookie is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BadCookie {
    /// The seal is invalid.
    Forged,
    /// The cookie is valid but too old by this time.
    Stale(Box<Cookie>, Duration),
}

/// The keys that seal cookies.
#[derive(Debug)]
pub(crate) struct CookieKeys {
    secrets: Secrets,
    current: [u8; 32],
    previous: [u8; 32],
    changed_at: Instant,
    life: Duration,
    /// Cookies sealed before this time are stale, whatever their age.
    refused_until: Option<Instant>,
}

impl CookieKeys {
    //= rfc9260 5.1.3-4
    pub(crate) fn new(mut secrets: Secrets, life: Duration) -> Self {
        let (current, previous) = (secrets.bytes(), secrets.bytes());
        Self {
            secrets,
            current,
            previous,
            changed_at: Instant::ZERO,
            life,
            refused_until: None,
        }
    }

    /// Makes all cookies stale that were sealed before `until`.
    pub(crate) const fn refuse_until(&mut self, until: Instant) {
        self.refused_until = Some(until);
    }

    //= rfc9260 5.1.3-5, 5.1.5-1
    /// Changes the key. A key seals for one cookie lifetime and opens for at most two more, so that a cookie sealed at its end can
    /// be recognised as stale.
    fn rotate(&mut self, now: Instant) {
        let age = now - self.changed_at;
        if age < self.life {
            return;
        }
        self.previous = if age < self.life.saturating_mul(2) {
            self.current
        } else {
            self.secrets.bytes()
        };
        self.current = self.secrets.bytes();
        self.changed_at = now;
    }

    //= rfc9260 3.3.3.1.1-1, 5.1.3-1, 5.1.3-3
    pub(crate) fn seal(&mut self, cookie: &Cookie, ports: Ports, now: Instant) -> Vec<u8> {
        self.rotate(now);
        let mut bytes = alloc::vec![0; SEAL_LEN];
        bytes.extend_from_slice(&millis(now).to_be_bytes());
        cookie.encode(&mut bytes);
        let seal = seal(&self.current, &bytes[SEAL_LEN..], ports, cookie.local_tag)
            .finalize()
            .into_bytes();
        bytes[..SEAL_LEN].copy_from_slice(&seal[..SEAL_LEN]);
        bytes
    }

    //= rfc9260 5.1.5-3
    /// Opens a cookie that arrived in a packet with `tag`.
    pub(crate) fn open(
        &mut self,
        bytes: &[u8],
        ports: Ports,
        tag: VerificationTag,
        now: Instant,
    ) -> Result<Cookie, BadCookie> {
        self.rotate(now);
        let (sealed_with, content) = bytes.split_at_checked(SEAL_LEN).ok_or(BadCookie::Forged)?;
        let genuine = [&self.current, &self.previous].iter().any(|key| {
            seal(key, content, ports, tag)
                .verify_truncated_left(sealed_with)
                .is_ok()
        });
        if !genuine {
            return Err(BadCookie::Forged);
        }
        let mut reader = Reader(content);
        let created = reader.u32().ok_or(BadCookie::Forged)?;
        let cookie = Cookie::decode(&mut reader, tag).ok_or(BadCookie::Forged)?;
        let age = Duration::from_millis(millis(now).wrapping_sub(created).into());
        match self.staleness(age, now) {
            Some(by) => Err(BadCookie::Stale(Box::new(cookie), by)),
            None => Ok(cookie),
        }
    }

    /// How long a cookie of this age, in whole milliseconds, has been stale.
    fn staleness(&self, age: Duration, now: Instant) -> Option<Duration> {
        // The cookie may have been sealed up to one millisecond earlier.
        let earliest = age + Duration::from_millis(1);
        let refused = self
            .refused_until
            .and_then(|until| earliest.checked_sub(now - until));
        let refused = refused.filter(|by| !by.is_zero());
        age.checked_sub(self.life).filter(|by| !by.is_zero()).or(refused)
    }
}

fn millis(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

fn seal(key: &[u8; 32], content: &[u8], ports: Ports, tag: VerificationTag) -> HmacSha256 {
    let mut mac = HmacSha256::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(&ports.ours.to_be_bytes());
    mac.update(&ports.peers.to_be_bytes());
    mac.update(&ports.channel.0);
    mac.update(&tag.0.to_be_bytes());
    mac.update(content);
    mac
}

impl Cookie {
    //= rfc4895 6.3-16
    //= rfc9260 3.3.11-3, 5.1.3-7
    fn encode(&self, bytes: &mut Vec<u8>) {
        let mut extensions = self.extensions.to_bytes();
        extensions.retain(|listed| *listed != kind::PART);
        // Absent fields take no space: an INIT ACK for the smallest INIT has no byte to spare.
        let flags = [
            (self.tie_tags.is_some(), HAS_TIE_TAGS),
            (!extensions.is_empty(), HAS_EXTENSIONS),
            (self.vector.is_some(), HAS_VECTOR),
            (self.source.is_ipv6(), COMES_FROM_IPV6),
            (self.extensions.contains(kind::PART), TAKES_PARTS),
            (
                self.declared.zero_checksum == Some(ErrorDetection::Dtls),
                ZERO_CHECKSUM_DTLS,
            ),
            (self.declared.adaptation_layer.is_some(), HAS_ADAPTATION_LAYER),
            (self.declared.ecn, ECN),
        ];
        let set = flags.iter().filter(|(is_set, _)| *is_set);
        bytes.push(set.fold(0, |flags, (_, flag)| flags | flag));
        bytes.extend_from_slice(&self.peer_tag.0.to_be_bytes());
        bytes.extend_from_slice(&self.peer_tsn.0.to_be_bytes());
        bytes.extend_from_slice(&self.peer_window.to_be_bytes());
        bytes.extend_from_slice(&self.outbound_streams.to_be_bytes());
        bytes.extend_from_slice(&self.inbound_streams.to_be_bytes());
        if let Some(tie_tags) = self.tie_tags {
            bytes.extend_from_slice(&tie_tags.0);
        }
        if !extensions.is_empty() {
            bytes.push(extensions.len() as u8);
            bytes.extend_from_slice(&extensions);
        }
        // One byte is enough for a length of at most `KeyVector::MAX_LEN`.
        if let Some(vector) = self.vector.as_ref().map(KeyVector::bytes) {
            bytes.push(vector.len() as u8);
            bytes.extend_from_slice(vector);
        }
        if let Some(code) = self.declared.adaptation_layer {
            bytes.extend_from_slice(&code.to_be_bytes());
        }
        bytes.extend_from_slice(&self.source.port().to_be_bytes());
        encode_ip(self.source.ip(), bytes);
        for address in self.listed.iter().take(MAX_ADDRESSES) {
            bytes.push(address.is_ipv6().into());
            encode_ip(*address, bytes);
        }
    }

    fn decode(reader: &mut Reader<'_>, local_tag: VerificationTag) -> Option<Self> {
        let flags = reader.u8()?;
        let has = |flag: u8| flags & flag != 0;
        let peer_tag = VerificationTag(reader.u32()?);
        let peer_tsn = Tsn(reader.u32()?);
        let peer_window = reader.u32()?;
        let outbound_streams = reader.u16()?;
        let inbound_streams = reader.u16()?;
        let tie_tags = if has(HAS_TIE_TAGS) {
            Some(TieTags(reader.take()?))
        } else {
            None
        };
        let extensions = reader.counted_if(has(HAS_EXTENSIONS))?;
        let vector = reader.counted_if(has(HAS_VECTOR))?;
        let adaptation_layer = if has(HAS_ADAPTATION_LAYER) {
            Some(reader.u32()?)
        } else {
            None
        };
        let port = reader.u16()?;
        let source = SocketAddr::new(reader.ip(has(COMES_FROM_IPV6))?, port);
        let mut listed = Vec::new();
        while !reader.0.is_empty() {
            let is_v6 = reader.u8()? != 0;
            listed.push(reader.ip(is_v6)?);
        }
        Some(Self {
            local_tag,
            peer_tag,
            peer_tsn,
            peer_window,
            outbound_streams,
            inbound_streams,
            tie_tags,
            extensions: ChunkKinds::from_bytes(extensions).with(kind::PART, has(TAKES_PARTS)),
            vector: has(HAS_VECTOR).then(|| KeyVector::from_bytes(vector)),
            declared: Declared {
                zero_checksum: has(ZERO_CHECKSUM_DTLS).then_some(ErrorDetection::Dtls),
                ecn: has(ECN),
                adaptation_layer,
            },
            source,
            listed,
        })
    }
}

fn encode_ip(ip: IpAddr, bytes: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(v4) => bytes.extend_from_slice(&v4.octets()),
        IpAddr::V6(v6) => bytes.extend_from_slice(&v6.octets()),
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|bytes| bytes[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// Reads a field that starts with a byte for its length; an empty one if `is_there` is false.
    fn counted_if(&mut self, is_there: bool) -> Option<&'a [u8]> {
        let count = if is_there { self.u8()? } else { 0 };
        self.bytes(count.into())
    }

    fn ip(&mut self, is_v6: bool) -> Option<IpAddr> {
        if is_v6 {
            self.take::<16>().map(|octets| Ipv6Addr::from(octets).into())
        } else {
            self.take::<4>().map(|octets| Ipv4Addr::from(octets).into())
        }
    }
}

#[cfg(test)]
mod tests;
