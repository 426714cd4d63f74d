//! A bottleneck for tests of models: packets of one chunk, a rate, a delay, a queue and losses.

use alloc::collections::VecDeque;
use core::time::Duration;

use anabranch_types::{Instant, PathId, SendNumber};

use super::modelled::{Modelled, PathModel};
use crate::testing::{CHUNK, healthy, in_order, ms, sack, tsn};
use crate::{CongestionControl, LossCause, LossEvent, LostPackets, PathFacts, SentOnce, SentPacket};

/// Of the bottleneck, in bytes per second: 50 Mbit/s.
pub(super) const RATE: u64 = 6_250_000;
/// Without a queue.
pub(super) const ROUND_TRIP: Duration = ms(40);

/// One packet on its way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    sent_at: Instant,
    /// When its acknowledgement, or that of the packet after it, arrives.
    answered_at: Instant,
    is_lost: bool,
}

/// A sender with endless data, a controller and a bottleneck.
#[derive(Debug)]
pub(super) struct Pipe<A: PathModel> {
    pub(super) now: Instant,
    /// Bytes that the queue holds.
    pub(super) queue: u64,
    /// Added to the round-trip time.
    pub(super) extra_delay: Duration,
    /// Each packet of this number is lost.
    pub(super) lose_each: Option<u64>,
    control: Modelled<A>,
    path: PathFacts,
    under_way: VecDeque<Packet>,
    free_at: Instant,
    next_send: Instant,
    sent: u64,
    delivered: u64,
    recovers_until: u64,
}

impl<A: PathModel> Pipe<A> {
    pub(super) fn new(algorithm: A) -> Self {
        let mut path = healthy(0);
        path.set_srtt(None);
        path.set_min_rtt(None);
        let mut control = Modelled::new(algorithm);
        control.add_path(&path, Instant::ZERO);
        Self {
            now: Instant::ZERO,
            queue: u64::MAX,
            extra_delay: Duration::ZERO,
            lose_each: None,
            control,
            path,
            under_way: VecDeque::new(),
            free_at: Instant::ZERO,
            next_send: Instant::ZERO,
            sent: 0,
            delivered: 0,
            recovers_until: 0,
        }
    }

    pub(super) fn state(&self) -> &A::State {
        self.control.model(PathId(0))
    }

    pub(super) fn state_mut(&mut self) -> &mut A::State {
        self.control.model_mut(PathId(0))
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.path.in_flight
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// To the next acknowledgement or transmission.
    pub(super) fn step(&mut self) {
        let may_send = self.path.in_flight + CHUNK <= self.control.cwnd(PathId(0));
        let answer = self.under_way.front().map(|packet| packet.answered_at);
        match answer {
            Some(answer) if !may_send || answer <= self.next_send => {
                self.now = self.now.max(answer);
                self.answer();
            }
            _ => {
                self.now = self.now.max(self.next_send);
                self.send();
            }
        }
    }

    fn send(&mut self) {
        self.sent += 1;
        let packet = SentPacket {
            bytes: CHUNK,
            in_flight_before: self.path.in_flight,
            last: SendNumber(self.sent),
        };
        self.control.on_sent(&packet, &self.path, self.now);
        self.path.in_flight += CHUNK;
        let serial = Duration::from_nanos(CHUNK * 1_000_000_000 / RATE);
        let waits = self.free_at.max(self.now) - self.now;
        let queued = u64::try_from(waits.as_nanos()).unwrap() * RATE / 1_000_000_000;
        let is_lost =
            queued > self.queue || self.lose_each.is_some_and(|each| self.sent.is_multiple_of(each));
        if !is_lost {
            self.free_at = self.free_at.max(self.now) + serial;
        }
        self.under_way.push_back(Packet {
            number: self.sent,
            sent_at: self.now,
            answered_at: self.free_at.max(self.now) + ROUND_TRIP + self.extra_delay,
            is_lost,
        });
        let pace = self.control.pacing_rate(PathId(0));
        self.next_send = self.now
            + pace.map_or(Duration::ZERO, |rate| {
                Duration::from_nanos(CHUNK * 1_000_000_000 / rate)
            });
    }

    fn answer(&mut self) {
        let packet = self.under_way.pop_front().unwrap();
        if packet.is_lost {
            self.lose(&packet);
            return;
        }
        self.path.set_srtt(Some(self.now - packet.sent_at));
        self.path.in_recovery = packet.number < self.recovers_until;
        let mut ack = in_order(0, self.path.in_flight, CHUNK);
        ack.latest_send_number = Some(SendNumber(packet.number));
        ack.rtt_sample = Some(SentOnce {
            sent_at: packet.sent_at,
            tsn: tsn(packet.number),
        });
        self.control
            .on_ack(&sack(&[ack]), core::slice::from_ref(&self.path), self.now);
        self.path.in_flight -= CHUNK;
        self.delivered += CHUNK;
    }

    fn lose(&mut self, packet: &Packet) {
        let lost = LostPackets {
            bytes: CHUNK,
            last: SendNumber(packet.number),
        };
        self.control.on_lost(&lost, &self.path, self.now);
        if packet.number >= self.recovers_until {
            self.recovers_until = self.sent + 1;
            self.tell(LossCause::FastRetransmit, CHUNK);
        }
        self.path.in_flight -= CHUNK;
    }

    /// The loss of a packet begins a recovery now.
    pub(super) fn enter_recovery(&mut self) {
        self.tell(LossCause::FastRetransmit, CHUNK);
    }

    /// Everything in flight is lost by a timeout.
    pub(super) fn time_out(&mut self) {
        self.under_way.clear();
        self.free_at = self.now;
        self.tell(LossCause::Timeout, self.path.in_flight);
        self.path.in_flight = 0;
    }

    fn tell(&mut self, cause: LossCause, bytes: u64) {
        let loss = LossEvent {
            path: PathId(0),
            cause,
            bytes,
        };
        self.control
            .on_loss(&loss, core::slice::from_ref(&self.path), self.now);
    }
}
