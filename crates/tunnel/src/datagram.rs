//! Datagrams: UDP and ICMP echo. Each is one SCTP message with a lifetime. How is it encoded, and on which stream is it sent?
//!
//! A flow is what one socket of a program sends and receives, to and from any number of hosts. A datagram carries the number of its flow and the host at the
//! far side, so none waits for another, and nothing has to be opened or closed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use std::time::Duration;

use anabranch::{Message, Ppid, Reliability, StreamId};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::class::{Class, by_size};
use crate::frame::{FrameError, IPV4, IPV6, NAME};
use crate::relay::{Role, STREAMS};
use crate::target::Host;

/// Payload protocol identifier of datagrams.
pub const DATAGRAM: Ppid = Ppid(0x414e_5402);

/// Streams of datagrams, beside those of connections: six groups of sixteen.
pub const DATAGRAM_STREAMS: u16 = 96;

/// Streams of a group: 0 is bulk, 1 interactive by a rule, 2 real-time by size, 3 real-time by a rule, 4 and 5 as 2 and 3 and redundant. The
/// datagrams of a flow use one of each.
const GROUP: u16 = 16;

/// The first group of real-time datagrams.
const REAL_TIME: u16 = 2;

/// The first group whose datagrams are redundant.
const REDUNDANT: u16 = 4;

/// How long a datagram may wait to be sent, or to be sent again. Who waits for it has given it up by then, or asks again.
const LIFETIME: Duration = Duration::from_millis(500);

const UDP: u8 = 17;
const ECHO: u8 = 1;

/// What a datagram is to hosts at the far side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DatagramKind {
    /// A UDP datagram.
    Udp,
    /// An ICMP or ICMPv6 echo request or reply, with its sequence number and data. There is no port.
    Echo,
}

/// A datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Number of its flow: even if the client has begun it, odd if the server has.
    pub flow: u16,
    /// What it is.
    pub kind: DatagramKind,
    /// The host at the far side that it goes to, or comes from.
    pub host: Host,
    /// The port of that host: 0 for an echo, and only for that.
    pub port: u16,
    /// Its class, by a rule of the end that has begun the flow; `None` if its size decides. Its stream tells it.
    pub class: Option<Class>,
    /// Whether it is sent on all paths, by a rule of the end that has begun the flow, if it is real-time. Its stream tells it.
    pub redundant: bool,
    /// The data.
    pub payload: Bytes,
}

impl Role {
    /// Whether the end with this role has begun the flow.
    #[must_use]
    pub const fn begins(self, flow: u16) -> bool {
        match self {
            Self::Client => flow.is_multiple_of(2),
            Self::Server => !flow.is_multiple_of(2),
        }
    }

    /// The flow that has this number among those of the end with this role.
    pub(crate) const fn flow(self, number: u16) -> u16 {
        match self {
            Self::Client => number << 1,
            Self::Server => number << 1 | 1,
        }
    }
}

impl Datagram {
    /// Parses the payload of a message. What the stream tells is not set.
    ///
    /// # Errors
    ///
    /// It is no datagram.
    pub fn parse(mut payload: Bytes) -> Result<Self, FrameError> {
        let short = FrameError::Datagram;
        let flow = payload.try_get_u16().map_err(|_| short)?;
        let kind = match payload.try_get_u8().map_err(|_| short)? {
            UDP => DatagramKind::Udp,
            ECHO => DatagramKind::Echo,
            _ => return Err(FrameError::Datagram),
        };
        let host = parse_host(&mut payload)?;
        let port = payload.try_get_u16().map_err(|_| short)?;
        if (kind == DatagramKind::Echo) != (port == 0) {
            return Err(FrameError::Datagram);
        }
        Ok(Self {
            flow,
            kind,
            host,
            port,
            class: None,
            redundant: false,
            payload,
        })
    }

    /// The payload of its message.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(22 + self.payload.len());
        out.put_u16(self.flow);
        out.put_u8(match self.kind {
            DatagramKind::Udp => UDP,
            DatagramKind::Echo => ECHO,
        });
        match &self.host {
            Host::Address(IpAddr::V4(address)) => {
                out.put_u8(IPV4);
                out.put_slice(&address.octets());
            }
            Host::Address(IpAddr::V6(address)) => {
                out.put_u8(IPV6);
                out.put_slice(&address.octets());
            }
            Host::Name(name) => {
                let name = name.as_str().as_bytes();
                out.put_u8(NAME);
                // A name has at most 255 letters.
                out.put_u8(name.len() as u8);
                out.put_slice(name);
            }
        }
        out.put_u16(self.port);
        out.put_slice(&self.payload);
        out.freeze()
    }

    /// The stream of its flow, class and redundancy.
    pub(crate) const fn stream(&self) -> StreamId {
        let group = match (self.class, by_size(self.payload.len())) {
            (None | Some(Class::Bulk), Class::Bulk) | (Some(Class::Bulk), _) => 0,
            (Some(Class::Interactive), _) => 1,
            (None, _) if self.redundant => REDUNDANT,
            (None, _) => 2,
            (Some(Class::RealTime), _) if self.redundant => REDUNDANT + 1,
            (Some(Class::RealTime), _) => 3,
        };
        StreamId(STREAMS + group * GROUP + self.place())
    }

    /// The stream of its flow for bulk.
    pub(crate) const fn bulk_stream(&self) -> StreamId {
        StreamId(STREAMS + self.place())
    }

    /// The place of the streams of its flow in their groups.
    const fn place(&self) -> u16 {
        // The lowest bit says who has begun the flow.
        (self.flow >> 1) % GROUP
    }

    /// The class of datagrams on a stream, by a rule; `None` where size decides.
    pub(crate) const fn class_of(stream: StreamId) -> Option<Class> {
        match stream.0.saturating_sub(STREAMS) / GROUP {
            1 => Some(Class::Interactive),
            3 | 5 => Some(Class::RealTime),
            _ => None,
        }
    }

    /// Whether datagrams on a stream are redundant.
    pub(crate) const fn is_redundant_on(stream: StreamId) -> bool {
        stream.0.saturating_sub(STREAMS) / GROUP >= REDUNDANT
    }

    /// All redundant streams.
    pub(crate) fn redundant_streams() -> impl Iterator<Item = StreamId> {
        (STREAMS + REDUNDANT * GROUP..STREAMS + DATAGRAM_STREAMS).map(StreamId)
    }

    /// All streams of datagrams that are packets of longer flows, as those of HTTP/3: bulk and interactive ones.
    pub(crate) fn streams_of_flows() -> impl Iterator<Item = StreamId> {
        (STREAMS..STREAMS + REAL_TIME * GROUP).map(StreamId)
    }

    /// All streams of real-time datagrams that are sent once.
    pub(crate) fn real_time_streams() -> impl Iterator<Item = StreamId> {
        (STREAMS + REAL_TIME * GROUP..STREAMS + REDUNDANT * GROUP).map(StreamId)
    }

    /// Whether datagrams on a stream belong to calls, games and the like.
    pub(crate) const fn is_real_time_on(stream: StreamId) -> bool {
        stream.0 >= STREAMS + REAL_TIME * GROUP
    }

    /// All streams of datagrams whose weight is another one than that of bulk.
    pub(crate) fn weights() -> impl Iterator<Item = (StreamId, NonZeroU16)> {
        let classes = [
            (1, Class::Interactive),
            (REAL_TIME, Class::RealTime),
            (3, Class::RealTime),
            (REDUNDANT, Class::RealTime),
            (REDUNDANT + 1, Class::RealTime),
        ];
        classes.into_iter().flat_map(|(group, class)| {
            let first = STREAMS + group * GROUP;
            (first..first + GROUP).map(move |stream| (StreamId(stream), class.weight()))
        })
    }

    /// Its message, on a stream. Ordered messages of a stream do not overtake one another.
    pub(crate) fn message(&self, stream: StreamId, unordered: bool) -> Message {
        Message {
            ppid: DATAGRAM,
            unordered,
            reliability: Reliability::Lifetime(LIFETIME),
            ..Message::new(stream, self.encode())
        }
    }
}

fn parse_host(payload: &mut Bytes) -> Result<Host, FrameError> {
    let wrong = FrameError::Datagram;
    match payload.try_get_u8().map_err(|_| wrong)? {
        IPV4 => {
            let address = payload.try_get_u32().map_err(|_| wrong)?;
            Ok(Ipv4Addr::from_bits(address).into())
        }
        IPV6 => {
            let address = payload.try_get_u128().map_err(|_| wrong)?;
            Ok(Ipv6Addr::from_bits(address).into())
        }
        NAME => {
            let length = usize::from(payload.try_get_u8().map_err(|_| wrong)?);
            if payload.len() < length {
                return Err(wrong);
            }
            let name = payload.split_to(length);
            let name = std::str::from_utf8(&name).map_err(|_| wrong)?;
            Ok(Host::Name(name.parse().map_err(|_| wrong)?))
        }
        _ => Err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use anabranch_types::Seed;

    use super::*;

    fn datagram(kind: DatagramKind, host: &str, port: u16) -> Datagram {
        Datagram {
            flow: 7,
            kind,
            host: host.parse().unwrap(),
            port,
            class: None,
            redundant: false,
            payload: Bytes::from_static(b"data"),
        }
    }

    #[test]
    fn datagrams_are_parsed_as_they_were_encoded() {
        for host in ["192.0.2.1", "2001:db8::1", "example.org"] {
            for (kind, port) in [(DatagramKind::Udp, 53), (DatagramKind::Echo, 0)] {
                let datagram = datagram(kind, host, port);
                assert_eq!(Datagram::parse(datagram.encode()), Ok(datagram));
            }
        }
        let empty = Datagram {
            payload: Bytes::new(),
            ..datagram(DatagramKind::Udp, "192.0.2.1", 1)
        };
        assert_eq!(Datagram::parse(empty.encode()), Ok(empty));
    }

    #[test]
    fn stream_tells_the_class_that_a_rule_gave() {
        let of = |class, length: usize| {
            let payload = Bytes::from(vec![0; length]);
            let datagram = datagram(DatagramKind::Udp, "192.0.2.1", 53);
            let stream = Datagram {
                class,
                payload,
                ..datagram
            }
            .stream();
            let weight = Datagram::weights().find(|(known, _)| *known == stream);
            (
                weight.map_or(1, |(_, weight)| weight.get()),
                Datagram::class_of(stream),
            )
        };
        assert_eq!(of(None, 160), (64, None));
        assert_eq!(of(None, 1_200), (1, None));
        for class in [Class::Interactive, Class::RealTime] {
            assert_eq!(of(Some(class), 160), (class.weight().get(), Some(class)));
            assert_eq!(of(Some(class), 1_200), (class.weight().get(), Some(class)));
        }
        // Answers to bulk go by size: nothing is gained by less.
        assert_eq!(of(Some(Class::Bulk), 160), (1, None));
        assert_eq!(Datagram::weights().count(), 80);
        assert!(Datagram::weights().all(|(stream, _)| stream.0 < STREAMS + DATAGRAM_STREAMS));
    }

    #[test]
    fn stream_tells_whether_a_real_time_datagram_is_redundant() {
        let of = |class, length: usize| {
            let sent = Datagram {
                class,
                redundant: true,
                payload: Bytes::from(vec![0; length]),
                ..datagram(DatagramKind::Udp, "192.0.2.1", 53)
            };
            let stream = sent.stream();
            let is_marked = Datagram::redundant_streams().any(|known| known == stream);
            assert_eq!(is_marked, Datagram::is_redundant_on(stream));
            (is_marked, Datagram::class_of(stream))
        };
        let real_time = Some(Class::RealTime);
        assert_eq!(of(None, 160), (true, None));
        assert_eq!(of(real_time, 1_200), (true, real_time));
        // Others are never.
        assert_eq!(of(None, 1_200), (false, None));
        assert_eq!(
            of(Some(Class::Interactive), 160),
            (false, Some(Class::Interactive))
        );
        assert_eq!(of(Some(Class::Bulk), 160), (false, None));
        assert_eq!(Datagram::redundant_streams().count(), 32);
        assert!(!Datagram::is_redundant_on(StreamId(STREAMS - 1)));
    }

    #[test]
    fn what_is_no_datagram_is_refused() {
        let refused = |payload: &[u8]| Datagram::parse(Bytes::copy_from_slice(payload)).is_err();
        let whole = datagram(DatagramKind::Udp, "example.org", 53).encode();
        for length in 0..whole.len() - 4 {
            assert!(refused(&whole[..length]), "{length}");
        }
        // Another kind, another type of address, port 0 of UDP, a port of an echo, no name.
        assert!(refused(&[0, 1, 6, IPV4, 192, 0, 2, 1, 0, 53]));
        assert!(refused(&[0, 1, UDP, 2, 192, 0, 2, 1, 0, 53]));
        assert!(refused(&[0, 1, UDP, IPV4, 192, 0, 2, 1, 0, 0]));
        assert!(refused(&[0, 1, ECHO, IPV4, 192, 0, 2, 1, 0, 7]));
        assert!(refused(&[0, 1, UDP, NAME, 0, 0, 53]));
    }

    /// Whatever is accepted means one thing only.
    #[test]
    fn randomized_datagrams_are_encoded_as_they_were_parsed() {
        let mut rng = Seed(1).rng();
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect();
            if let [_, _, kind, address, ..] = &mut bytes[..] {
                *kind = [UDP, ECHO, *kind][rng.below(3) as usize];
                *address = [IPV4, NAME, IPV6][rng.below(3) as usize];
            }
            let bytes = Bytes::from(bytes);
            if let Ok(datagram) = Datagram::parse(bytes.clone()) {
                assert_eq!(datagram.encode(), bytes);
            }
        }
    }
}
