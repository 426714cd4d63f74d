//! Frames: what one end tells the other about a connection. Each is one SCTP message on the connection's stream. How are they encoded?
//!
//! docs/tunnel.md has the table of both payload protocol identifiers and of all types.

use std::net::{Ipv4Addr, Ipv6Addr};

use anabranch::Ppid;
use bytes::{BufMut as _, Bytes, BytesMut};
use thiserror::Error;

use crate::class::Class;
use crate::target::{Host, Target};

/// Code point of the adaptation layer (RFC 5061 §4.2.6): `ANT` and the version of the protocol. Ends that declare another one do not
/// talk to each other.
pub const ADAPTATION_LAYER: u32 = 0x414e_5401;

/// Payload protocol identifier of the bytes of connections.
pub const DATA: Ppid = Ppid(0x414e_5400);

/// Payload protocol identifier of all other frames.
pub const CONTROL: Ppid = Ppid(0x414e_5401);

/// Longest data frame.
pub const LONGEST_DATA: usize = 64 << 10;

/// Longest control frame: OPEN with the longest name.
pub(crate) const LONGEST_CONTROL: usize = 5 + 255;

const OPEN: u8 = 1;
const OPENED: u8 = 2;
const FINISHED: u8 = 3;
const CREDIT: u8 = 4;
const RESET: u8 = 5;
const CLOSED: u8 = 6;

// Types of addresses, as in SOCKS5 (RFC 1928 §5).
pub(crate) const IPV4: u8 = 1;
pub(crate) const NAME: u8 = 3;
pub(crate) const IPV6: u8 = 4;

/// A frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Opens a connection to a target, of a class; `None` if its size decides.
    Open(Target, Option<Class>),
    /// The target has accepted the connection.
    Opened,
    /// Bytes of the connection: 1 to [`LONGEST_DATA`].
    Data(Bytes),
    /// No more data follows in this direction.
    Finished,
    /// So many more bytes may be sent, not 0.
    Credit(u32),
    /// The connection is over in both directions; what was not read is lost.
    Reset(Reason),
    /// Everything has been delivered in both directions, and the stream may carry another connection.
    Closed,
}

/// Why a connection was refused or reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Reason {
    /// None of the others, or one of a later version.
    #[error("the connection failed at the far side")]
    Failed,
    /// The far side's configuration does not permit the target.
    #[error("the far side does not permit this target (Allow in its configuration)")]
    NotPermitted,
    /// No route to the target's network.
    #[error("the far side has no route to the target's network")]
    NetworkUnreachable,
    /// The target's host cannot be reached.
    #[error("the far side cannot reach the target")]
    HostUnreachable,
    /// Nothing listens at the target.
    #[error("the target refuses connections at this port")]
    Refused,
    /// The target did not answer in time.
    #[error("the target does not answer")]
    TimedOut,
    /// The far side cannot resolve the name.
    #[error("the far side cannot resolve the target's name")]
    UnknownName,
    /// The far side carries as many connections as it permits.
    #[error("the far side has too many connections")]
    TooMany,
    /// The inner connection at the other end was reset.
    #[error("the connection was reset")]
    Reset,
    /// There is no association with the far side.
    #[error("the tunnel is down")]
    Down,
}

/// All reasons, by their numbers.
const REASONS: [Reason; 10] = [
    Reason::Failed,
    Reason::NotPermitted,
    Reason::NetworkUnreachable,
    Reason::HostUnreachable,
    Reason::Refused,
    Reason::TimedOut,
    Reason::UnknownName,
    Reason::TooMany,
    Reason::Reset,
    Reason::Down,
];

impl Reason {
    fn number(self) -> u8 {
        let place = REASONS.iter().position(|reason| *reason == self);
        // There are fewer than 256.
        place.map_or(0, |place| place as u8)
    }

    fn of(number: u8) -> Self {
        REASONS.get(usize::from(number)).copied().unwrap_or(Self::Failed)
    }
}

/// Why a message is no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Its payload protocol identifier is neither of the two.
    #[error("a message has the payload protocol identifier {0:#x}")]
    Ppid(u32),
    /// It is longer than frames of its kind can be.
    #[error("a frame has {0} bytes, more than are permitted")]
    TooLong(usize),
    /// A control frame has a type that does not exist.
    #[error("a control frame has the type {0}")]
    Type(u8),
    /// A control frame of this type is shorter or longer than its fields.
    #[error("a control frame of the type {0} has a wrong length")]
    Length(u8),
    /// The target of an OPEN frame is not valid.
    #[error("the target of an OPEN frame is not valid")]
    Target,
    /// The class of an OPEN frame does not exist.
    #[error("an OPEN frame has the class {0}")]
    Class(u8),
    /// A CREDIT frame gives nothing.
    #[error("a CREDIT frame gives nothing")]
    NoCredit,
    /// A frame was sent unordered.
    #[error("a frame was sent unordered")]
    Unordered,
    /// A datagram is shorter than its fields, or a field is not valid.
    #[error("a datagram is not valid")]
    Datagram,
    /// The message was abandoned.
    #[error("a message was abandoned")]
    Abandoned,
}

impl Frame {
    /// Parses a message.
    ///
    /// # Errors
    ///
    /// The message is no frame.
    pub fn parse(ppid: Ppid, payload: Bytes) -> Result<Self, FrameError> {
        match ppid {
            DATA if payload.len() <= LONGEST_DATA => Ok(Self::Data(payload)),
            DATA => Err(FrameError::TooLong(payload.len())),
            CONTROL => Self::parse_control(&payload),
            Ppid(other) => Err(FrameError::Ppid(other)),
        }
    }

    fn parse_control(payload: &[u8]) -> Result<Self, FrameError> {
        let (&kind, fields) = payload.split_first().ok_or(FrameError::Length(0))?;
        let wrong_length = FrameError::Length(kind);
        let frame = match kind {
            OPEN => return parse_open(fields),
            CREDIT => {
                let bytes = u32::from_be_bytes(fields.try_into().map_err(|_| wrong_length)?);
                return if bytes == 0 {
                    Err(FrameError::NoCredit)
                } else {
                    Ok(Self::Credit(bytes))
                };
            }
            RESET => {
                let [reason] = fields else {
                    return Err(wrong_length);
                };
                return Ok(Self::Reset(Reason::of(*reason)));
            }
            OPENED => Self::Opened,
            FINISHED => Self::Finished,
            CLOSED => Self::Closed,
            other => return Err(FrameError::Type(other)),
        };
        if fields.is_empty() {
            Ok(frame)
        } else {
            Err(wrong_length)
        }
    }

    /// Length of the payload of its message.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Data(payload) => payload.len(),
            Self::Open(target, class) => encode_open(target, *class).len(),
            Self::Credit(_) => 5,
            Self::Reset(_) => 2,
            Self::Opened | Self::Finished | Self::Closed => 1,
        }
    }

    /// The payload protocol identifier and the payload of its message.
    #[must_use]
    pub fn encode(self) -> (Ppid, Bytes) {
        let control = match self {
            Self::Data(payload) => return (DATA, payload),
            Self::Open(target, class) => return (CONTROL, encode_open(&target, class)),
            Self::Credit(bytes) => {
                let mut out = BytesMut::with_capacity(5);
                out.put_u8(CREDIT);
                out.put_u32(bytes);
                return (CONTROL, out.freeze());
            }
            Self::Reset(reason) => return (CONTROL, Bytes::copy_from_slice(&[RESET, reason.number()])),
            Self::Opened => &[OPENED],
            Self::Finished => &[FINISHED],
            Self::Closed => &[CLOSED],
        };
        (CONTROL, Bytes::from_static(control))
    }
}

fn parse_open(fields: &[u8]) -> Result<Frame, FrameError> {
    let wrong = FrameError::Length(OPEN);
    let (port, fields) = fields.split_first_chunk::<2>().ok_or(wrong)?;
    let (&[class, kind], address) = fields.split_first_chunk::<2>().ok_or(wrong)?;
    let class = Class::of_number(class).ok_or(FrameError::Class(class))?;
    let host = match kind {
        IPV4 => Host::from(Ipv4Addr::from(<[u8; 4]>::try_from(address).map_err(|_| wrong)?)),
        IPV6 => Host::from(Ipv6Addr::from(<[u8; 16]>::try_from(address).map_err(|_| wrong)?)),
        NAME => {
            let name = std::str::from_utf8(address).map_err(|_| FrameError::Target)?;
            Host::Name(name.parse().map_err(|_| FrameError::Target)?)
        }
        _ => return Err(FrameError::Target),
    };
    let target = Target::new(host, u16::from_be_bytes(*port)).ok_or(FrameError::Target)?;
    Ok(Frame::Open(target, class))
}

fn encode_open(target: &Target, class: Option<Class>) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(OPEN);
    out.put_u16(target.port);
    out.put_u8(class.map_or(0, Class::number));
    match &target.host {
        Host::Address(std::net::IpAddr::V4(address)) => {
            out.put_u8(IPV4);
            out.put_slice(&address.octets());
        }
        Host::Address(std::net::IpAddr::V6(address)) => {
            out.put_u8(IPV6);
            out.put_slice(&address.octets());
        }
        Host::Name(name) => {
            out.put_u8(NAME);
            out.put_slice(name.as_str().as_bytes());
        }
    }
    out.freeze()
}

#[cfg(test)]
mod tests {
    use anabranch_types::Seed;

    use super::*;

    #[test]
    fn frames_are_parsed_as_they_were_encoded() {
        let targets = ["192.0.2.1:80", "[2001:db8::1]:443", "example.org:22"];
        let classes = [None, Some(Class::Bulk), Some(Class::RealTime)];
        let opens = targets.iter().zip(classes);
        let opens = opens.map(|(target, class)| Frame::Open(target.parse().unwrap(), class));
        let resets = REASONS.iter().map(|reason| Frame::Reset(*reason));
        let others = [
            Frame::Opened,
            Frame::Data("x".into()),
            Frame::Finished,
            Frame::Credit(70_000),
            Frame::Closed,
        ];
        for frame in opens.chain(resets).chain(others) {
            let (ppid, payload) = frame.clone().encode();
            assert_eq!(Frame::parse(ppid, payload), Ok(frame));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused_with_its_reason() {
        let control =
            |payload: &'static [u8]| Frame::parse(CONTROL, Bytes::from_static(payload)).unwrap_err();
        assert_eq!(control(&[9]), FrameError::Type(9));
        assert_eq!(control(&[OPENED, 0]), FrameError::Length(OPENED));
        assert_eq!(control(&[CREDIT, 0, 0, 1]), FrameError::Length(CREDIT));
        assert_eq!(control(&[CREDIT, 0, 0, 0, 0]), FrameError::NoCredit);
        assert_eq!(control(&[RESET]), FrameError::Length(RESET));
        assert_eq!(
            control(&[OPEN, 0, 80, 0, IPV4, 1, 2, 3]),
            FrameError::Length(OPEN)
        );
        assert_eq!(control(&[OPEN, 0, 0, 0, IPV4, 1, 2, 3, 4]), FrameError::Target);
        assert_eq!(control(&[OPEN, 0, 80, 0, NAME]), FrameError::Target);
        assert_eq!(control(&[OPEN, 0, 80, 0, NAME, b'a', b'\n']), FrameError::Target);
        assert_eq!(control(&[OPEN, 0, 80, 0, 2, b'a']), FrameError::Target);
        assert_eq!(control(&[OPEN, 0, 80, 4, NAME, b'a']), FrameError::Class(4));
        assert_eq!(Frame::parse(Ppid(0), "x".into()), Err(FrameError::Ppid(0)));
        let long = Bytes::from(vec![0; LONGEST_DATA + 1]);
        assert_eq!(
            Frame::parse(DATA, long),
            Err(FrameError::TooLong(LONGEST_DATA + 1))
        );
    }

    #[test]
    fn reason_of_a_later_version_is_a_failure() {
        let parsed = Frame::parse(CONTROL, Bytes::from_static(&[RESET, 200]));
        assert_eq!(parsed, Ok(Frame::Reset(Reason::Failed)));
    }

    /// Whatever is accepted means one thing only, apart from reasons of later versions.
    #[test]
    fn random_control_frames_are_refused_or_encoded_again_alike() {
        let mut rng = Seed(1).rng();
        let mut accepted = 0;
        for _ in 0..200_000 {
            let mut bytes = vec![0; rng.below(12) as usize];
            rng.fill(&mut bytes);
            if let Some(kind) = bytes.first_mut() {
                *kind %= 8;
            }
            let payload = Bytes::from(bytes);
            match Frame::parse(CONTROL, payload.clone()) {
                Ok(Frame::Reset(Reason::Failed)) | Err(_) => {}
                Ok(frame) => {
                    accepted += 1;
                    assert_eq!(frame.encode(), (CONTROL, payload));
                }
            }
        }
        assert!(accepted > 1_000, "{accepted}");
    }
}
