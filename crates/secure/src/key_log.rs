//! Key log. Which of the secrets in a file of SSLKEYLOGFILE opens a captured data packet?
//!
//! The lines are those of TLS 1.3 (draft-ietf-tls-keylogfile): label, random number of the ClientHello, secret. A secret is found by
//! trying: so a capture need not contain the handshake.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use aws_lc_rs::hkdf::{self, HKDF_SHA256, HKDF_SHA384, KeyType, Prk};

use crate::index::Index;
use crate::number::expand;
use crate::packet::{DATA_HEADER_LEN, DataHeader, Packet};

/// The labels of the secrets of data packets.
const LABELS: [&str; 2] = ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"];
/// Packets of an index that are tried with all secrets before it is taken for that of another key log.
const MAX_TRIES: u32 = 8;
/// Key updates before the first captured packet of a connection that are tried.
const MAX_UPDATES: usize = 64;

/// Why a text is no key log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyLogError {
    /// The line of this number is malformed.
    #[error("line {0}: expected LABEL CLIENT_RANDOM SECRET in hexadecimal digits")]
    Line(usize),
    /// No line has a secret of data packets.
    #[error("no line starts with CLIENT_TRAFFIC_SECRET_0 or SERVER_TRAFFIC_SECRET_0")]
    NoSecrets,
}

/// Opens captured data packets by the secrets of a key log.
pub struct KeyLog {
    candidates: Vec<Candidate>,
    directions: BTreeMap<Index, Direction>,
}

/// What is known about the packets for one index.
enum Direction {
    /// No secret has opened one; so many were tried.
    Unknown(u32),
    Known(Box<Known>),
}

struct Known {
    current: Generation,
    previous: Option<Generation>,
    next: Generation,
    phase: u8,
    /// The largest number in each space, plus one.
    expected: BTreeMap<u8, u64>,
}

impl KeyLog {
    /// Reads the lines of a key log. Those with other labels are skipped, so are empty ones and comments.
    ///
    /// # Errors
    ///
    /// A line is malformed, or none has a secret of data packets.
    pub fn parse(text: &str) -> Result<Self, KeyLogError> {
        let mut candidates = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let error = KeyLogError::Line(index + 1);
            let mut words = line.split(' ');
            let (label, random, secret) = (words.next(), words.next(), words.next());
            let [random, secret] = [random, secret].map(|word| word.and_then(bytes_of));
            let (Some(label), Some(_), Some(secret), None) = (label, random, secret, words.next()) else {
                return Err(error);
            };
            if LABELS.contains(&label) {
                let suites = Suite::of(secret.len()).ok_or(error)?;
                candidates.extend(suites.iter().map(|suite| Candidate::new(*suite, secret.clone())));
            }
        }
        if candidates.is_empty() {
            return Err(KeyLogError::NoSecrets);
        }
        Ok(Self {
            candidates,
            directions: BTreeMap::new(),
        })
    }

    /// The payload of a data packet; `None` if it is none, or no secret opens it. Packets are best passed in the order in which they
    /// were captured.
    pub fn open(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        let Ok(Packet::Data(header)) = Packet::parse(datagram) else {
            return None;
        };
        let direction = self.directions.entry(header.receiver);
        match direction.or_insert(Direction::Unknown(0)) {
            Direction::Known(known) => known.open(&header, datagram),
            Direction::Unknown(tries) if *tries >= MAX_TRIES => None,
            Direction::Unknown(tries) => {
                *tries += 1;
                let (known, payload) = find(&mut self.candidates, &header, datagram)?;
                let known = Direction::Known(Box::new(known));
                self.directions.insert(header.receiver, known);
                Some(payload)
            }
        }
    }
}

/// Tries all secrets, and as many key updates as have the phase of the packet.
fn find(candidates: &mut [Candidate], header: &DataHeader, datagram: &[u8]) -> Option<(Known, Vec<u8>)> {
    let number = u64::from(header.number);
    for candidate in candidates {
        for updates in (usize::from(header.phase)..MAX_UPDATES).step_by(4) {
            let generation = candidate.after(updates);
            if let Some(payload) = generation.open(header, number, datagram) {
                let mut known = Known {
                    current: generation.clone(),
                    previous: None,
                    next: generation.updated(),
                    phase: header.phase,
                    expected: BTreeMap::new(),
                };
                known.on_opened(header, number);
                return Some((known, payload));
            }
        }
    }
    None
}

impl Known {
    fn open(&mut self, header: &DataHeader, datagram: &[u8]) -> Option<Vec<u8>> {
        let expected = self.expected.get(&header.space.get()).copied().unwrap_or(0);
        let number = expand(expected, u64::from(header.number), 32);
        let ahead = header.phase.wrapping_sub(self.phase) & 3;
        let generation = match ahead {
            0 => &self.current,
            1 => &self.next,
            3 => self.previous.as_ref()?,
            _ => return None,
        };
        let payload = generation.open(header, number, datagram)?;
        if ahead == 1 {
            let next = self.next.updated();
            let current = std::mem::replace(&mut self.next, next);
            self.previous = Some(std::mem::replace(&mut self.current, current));
            self.phase = header.phase;
        }
        self.on_opened(header, number);
        Some(payload)
    }

    fn on_opened(&mut self, header: &DataHeader, number: u64) {
        let expected = self.expected.entry(header.space.get()).or_default();
        *expected = (*expected).max(number + 1);
    }
}

/// An AEAD and its hash.
#[derive(Clone, Copy)]
struct Suite {
    aead: &'static Algorithm,
    hash: hkdf::Algorithm,
}

impl Suite {
    /// Those with secrets of this length (RFC 8446 §B.4).
    fn of(secret: usize) -> Option<&'static [Self]> {
        static SHA256: [Suite; 2] = [
            Suite {
                aead: &AES_128_GCM,
                hash: HKDF_SHA256,
            },
            Suite {
                aead: &CHACHA20_POLY1305,
                hash: HKDF_SHA256,
            },
        ];
        static SHA384: [Suite; 1] = [Suite {
            aead: &AES_256_GCM,
            hash: HKDF_SHA384,
        }];
        match secret {
            32 => Some(&SHA256),
            48 => Some(&SHA384),
            _ => None,
        }
    }
}

/// A secret of the file with one of the AEADs that it may be for.
struct Candidate {
    /// The keys after 0, 1, 2 … key updates, as far as a packet has needed them: deriving them takes longer than a try.
    generations: Vec<Generation>,
}

impl Candidate {
    fn new(suite: Suite, secret: Vec<u8>) -> Self {
        Self {
            generations: vec![Generation::new(suite, secret)],
        }
    }

    fn after(&mut self, updates: usize) -> &Generation {
        while let Some(last) = self
            .generations
            .last()
            .filter(|_| self.generations.len() <= updates)
        {
            let next = last.updated();
            self.generations.push(next);
        }
        &self.generations[updates]
    }
}

/// The keys between two key updates.
#[derive(Clone)]
struct Generation {
    suite: Suite,
    secret: Vec<u8>,
    key: Vec<u8>,
    iv: Vec<u8>,
}

impl Generation {
    fn new(suite: Suite, secret: Vec<u8>) -> Self {
        Self {
            suite,
            key: expand_label(suite.hash, &secret, "quic key", suite.aead.key_len()),
            iv: expand_label(suite.hash, &secret, "quic iv", suite.aead.nonce_len()),
            secret,
        }
    }

    /// The keys after the next update (RFC 9001 §6.1).
    fn updated(&self) -> Self {
        let secret = expand_label(self.suite.hash, &self.secret, "quic ku", self.secret.len());
        Self::new(self.suite, secret)
    }

    fn open(&self, header: &DataHeader, number: u64, datagram: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&u32::from(header.space.get()).to_be_bytes());
        nonce[4..].copy_from_slice(&number.to_be_bytes());
        for (byte, mask) in nonce.iter_mut().zip(&self.iv) {
            *byte ^= mask;
        }
        let key = LessSafeKey::new(UnboundKey::new(self.suite.aead, &self.key).ok()?);
        let (head, sealed) = datagram.split_at_checked(DATA_HEADER_LEN)?;
        let mut payload = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let len = key
            .open_in_place(nonce, Aad::from(head), &mut payload)
            .ok()?
            .len();
        payload.truncate(len);
        Some(payload)
    }
}

/// A length that HKDF is asked for.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label with an empty context (RFC 8446 §7.1).
fn expand_label(hash: hkdf::Algorithm, secret: &[u8], label: &str, len: usize) -> Vec<u8> {
    let label = [b"tls13 ", label.as_bytes()].concat();
    let length = u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
    let label_length = [u8::try_from(label.len()).unwrap_or(u8::MAX)];
    let info: [&[u8]; 4] = [&length, &label_length, &label, &[0]];
    let mut bytes = vec![0; len];
    let prk = Prk::new_less_safe(hash, secret);
    let okm = prk
        .expand(&info, Length(len))
        .and_then(|okm| okm.fill(&mut bytes));
    okm.expect("invariant: no length asked for is too long for HKDF");
    bytes
}

/// The bytes that hexadecimal digits state.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

/// Without the secrets.
impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLog").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
