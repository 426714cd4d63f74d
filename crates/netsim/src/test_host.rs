//! Host for this crate's tests: sends datagrams at scheduled times and keeps what it receives.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_types::{Ecn, Instant, PathAddr};

use crate::{Datagram, Host, Protocol};

#[derive(Default)]
pub(crate) struct TestHost {
    /// Times and datagrams to send, in order of time.
    pub(crate) timetable: VecDeque<(Instant, Datagram)>,
    pub(crate) outgoing: VecDeque<Datagram>,
    pub(crate) received: Vec<(Instant, Datagram)>,
    /// Whether it returns each datagram to its sender.
    pub(crate) echoes: bool,
}

impl TestHost {
    /// Sends `count` datagrams of 1,000 bytes of IP, numbered in their first bytes, one every `gap`.
    pub(crate) fn sending(path: PathAddr, count: u32, gap: Duration) -> Self {
        let timetable = (0..count).map(|number| (Instant::ZERO + gap * number, numbered(path, number)));
        Self {
            timetable: timetable.collect(),
            ..Self::default()
        }
    }

    pub(crate) fn echoing() -> Self {
        Self {
            echoes: true,
            ..Self::default()
        }
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.received
            .iter()
            .map(|(_, datagram)| number_of(&datagram.payload))
            .collect()
    }
}

pub(crate) fn numbered(path: PathAddr, number: u32) -> Datagram {
    let mut payload = vec![0; 972];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    Datagram {
        path,
        protocol: Protocol::SCTP,
        ecn: Ecn::NotCapable,
        may_fragment: false,
        payload,
    }
}

pub(crate) fn number_of(payload: &[u8]) -> u32 {
    u32::from_be_bytes(payload[..4].try_into().unwrap())
}

impl Host for TestHost {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        if self.echoes {
            self.outgoing.push_back(Datagram {
                path: datagram.path.reversed(),
                ..datagram.clone()
            });
        }
        self.received.push((now, datagram));
    }

    fn on_deadline(&mut self, now: Instant) {
        let due = self.timetable.partition_point(|(at, _)| *at <= now);
        self.outgoing
            .extend(self.timetable.drain(..due).map(|(_, datagram)| datagram));
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Datagram> {
        self.outgoing.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        self.timetable.front().map(|(at, _)| *at)
    }
}
