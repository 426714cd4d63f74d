//! Order of the datagrams of QUIC. Which small ones must not overtake the large ones of their flow? (ADR 0208)
//!
//! Small datagrams are real-time by default. The small packets between the large ones of a QUIC connection would overtake those that wait,
//! and its other end takes large packets for lost that come after three later ones (RFC 9002 §6.1.1). For the same reason packets of these
//! connections do not overtake one another on their path: they are ordered messages, and what the path loses is sent again first.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch::{Bytes, StreamId};

use crate::datagram::Datagram;

/// So long after a large packet of a connection, its small ones follow on the same stream. In the other direction, acknowledgements are
/// real-time.
const MEMORY: Duration = Duration::from_secs(1);

/// Connections of which more is not remembered; as many flows a peer may have.
const MAX_CONNECTIONS: usize = 4_096;

/// Where a datagram belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) stream: StreamId,
    /// Whether it may overtake others of its stream.
    pub(super) unordered: bool,
}

/// By the flows that have begun as QUIC does, when their last large packet was sent.
#[derive(Debug, Default)]
pub(super) struct Order(Mutex<HashMap<u16, Instant>>);

impl Order {
    /// Where a datagram that is sent now belongs.
    pub(super) fn place(&self, datagram: &Datagram, now: Instant) -> Place {
        let stream = datagram.stream();
        if datagram.class.is_some() {
            return Place::by_itself(stream);
        }
        let mut connections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if Datagram::is_real_time_on(stream) {
            let large_at = connections.get(&datagram.flow);
            let follows = large_at.is_some_and(|at| now - *at <= MEMORY);
            return match follows {
                true => Place::in_order(datagram.bulk_stream()),
                false => Place::by_itself(stream),
            };
        }
        if let Some(large_at) = connections.get_mut(&datagram.flow) {
            *large_at = now;
            return Place::in_order(stream);
        }
        if !begins_quic(&datagram.payload) {
            return Place::by_itself(stream);
        }
        if connections.len() >= MAX_CONNECTIONS {
            connections.retain(|_, at| now - *at <= MEMORY);
        }
        connections.insert(datagram.flow, now);
        Place::in_order(stream)
    }
}

impl Place {
    const fn by_itself(stream: StreamId) -> Self {
        Self {
            stream,
            unordered: true,
        }
    }

    const fn in_order(stream: StreamId) -> Self {
        Self {
            stream,
            unordered: false,
        }
    }
}

/// Whether it is the first packet of a connection in its direction: a long header with a version (RFC 9000 §17.2, RFC 9369 §3). Later
/// packets say nothing, and even the fixed bit may be anything (RFC 9287).
fn begins_quic(payload: &Bytes) -> bool {
    const VERSIONS: [[u8; 4]; 2] = [[0, 0, 0, 1], [0x6b, 0x33, 0x43, 0xcf]];
    let is_long = payload.first().is_some_and(|first| first & 0x80 != 0);
    is_long && VERSIONS.iter().any(|version| payload.get(1..5) == Some(version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::DatagramKind;

    fn udp(flow: u16, payload: Vec<u8>) -> Datagram {
        Datagram {
            flow,
            kind: DatagramKind::Udp,
            host: "192.0.2.1".parse().unwrap(),
            port: 443,
            class: None,
            redundant: false,
            payload: Bytes::from(payload),
        }
    }

    fn initial(flow: u16) -> Datagram {
        let mut payload = vec![0xc1, 0, 0, 0, 1];
        payload.resize(1_200, 7);
        udp(flow, payload)
    }

    fn small(flow: u16) -> Datagram {
        udp(flow, vec![0x12; 40])
    }

    #[test]
    fn small_packets_of_quic_follow_the_large_ones_for_a_second() {
        let began = Instant::now();
        let at = |millis| began + Duration::from_millis(millis);
        let order = Order::default();
        assert_eq!(
            order.place(&small(14), at(0)),
            Place::by_itself(small(14).stream()),
            "nothing to overtake"
        );
        assert_eq!(
            order.place(&initial(14), at(0)),
            Place::in_order(initial(14).stream())
        );
        // Its first byte is protected, and says nothing.
        order.place(&udp(14, vec![0x12; 1_200]), at(5));
        assert_eq!(
            order.place(&small(14), at(1_005)),
            Place::in_order(initial(14).stream())
        );
        assert_eq!(
            order.place(&small(14), at(1_006)),
            Place::by_itself(small(14).stream())
        );
    }

    #[test]
    fn other_flows_stay_real_time() {
        let (order, now) = (Order::default(), Instant::now());
        order.place(&initial(14), now);
        assert_eq!(order.place(&small(16), now), Place::by_itself(small(16).stream()));
        order.place(&udp(16, vec![0x80; 1_200]), now);
        assert_eq!(
            order.place(&small(16), now),
            Place::by_itself(small(16).stream()),
            "a call with video"
        );
        let ruled = Datagram {
            class: Some(crate::Class::RealTime),
            ..small(14)
        };
        assert_eq!(order.place(&ruled, now), Place::by_itself(ruled.stream()));
    }

    #[test]
    fn few_connections_are_remembered() {
        let (order, began) = (Order::default(), Instant::now());
        for flow in 0..=u16::MAX {
            let now = began + Duration::from_millis(u64::from(flow) * 2);
            order.place(&initial(flow), now);
        }
        assert!(order.0.lock().unwrap().len() <= MAX_CONNECTIONS);
    }
}
