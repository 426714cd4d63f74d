//! Sample of a path. How fast is it, what is lost, and what keeps it from carrying more?

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch::Reachability;
use serde::Serialize;

use super::Reading;
use super::reading::PathReading;

/// Time over which the loss rate is taken: a single sample has few chunks.
const LOSS_WINDOW: Duration = Duration::from_secs(2);

/// State of a path at a moment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathSample {
    /// Its number.
    pub path: u64,
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the peer.
    pub remote: SocketAddr,
    /// `unconfirmed`, `active`, `potentially-failed` or `inactive`.
    pub state: &'static str,
    /// Whether it is the primary path.
    pub primary: bool,
    /// Whether it carries nothing, because a path of smaller cost is active.
    pub resting: bool,
    /// How it is to be used: 0 as any other one, 255 as a backup.
    pub cost: u8,
    /// What it may carry in each direction; `None` for no limit.
    pub cap_bit_s: Option<u64>,
    /// Largest IP packet, in bytes.
    pub mtu: u16,
    /// Smoothed round-trip time.
    pub rtt_ms: Option<f64>,
    /// How much the round-trip time exceeds the smallest one seen: the time that packets wait in queues.
    pub queue_ms: Option<f64>,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Chunks in flight.
    pub in_flight_bytes: u64,
    /// What keeps it from carrying more.
    pub limit: Limit,
    /// User data since the sample before, retransmissions included.
    pub sent_bit_s: u64,
    /// User data since the sample before.
    pub received_bit_s: u64,
    /// The part of both rates among all paths, 0 to 1.
    pub share: f64,
    /// Chunks declared lost by chunks sent, in the last seconds, 0 to 1.
    pub loss: f64,
    /// User data sent for the first time.
    pub sent_bytes: u64,
    /// User data sent again, duplicates on other paths included.
    pub retransmitted_bytes: u64,
    /// User data received.
    pub received_bytes: u64,
    /// DATA chunks sent.
    pub sent_chunks: u64,
    /// DATA chunks declared lost.
    pub lost_chunks: u64,
    /// Expiries of the T3-rtx timer.
    pub timeouts: u64,
}

/// What keeps a path from carrying more data at this moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// It is not active.
    State,
    /// It rests, because a path of smaller cost is active.
    Rests,
    /// No data waits to be sent.
    Idle,
    /// The peer's receive window is full.
    PeerWindow,
    /// The congestion window is full.
    Cwnd,
    /// Packets are paced.
    Pacing,
    /// Nothing: the scheduler prefers other paths, or has just used this one.
    None,
}

impl Limit {
    fn of(path: &PathReading, association: &Reading) -> Self {
        let packet = u64::from(path.mtu);
        match path {
            PathReading { reachability, .. } if *reachability != Reachability::Active => Self::State,
            _ if path.resting => Self::Rests,
            _ if association.unsent == 0 => Self::Idle,
            _ if association.peer_window < packet => Self::PeerWindow,
            _ if path.in_flight + packet > path.cwnd => Self::Cwnd,
            _ if path.pacing_limited => Self::Pacing,
            _ => Self::None,
        }
    }
}

/// Counters of a path at former moments, and what follows from them.
#[derive(Clone, Debug, Default)]
pub(super) struct PathMeter {
    sent: u64,
    received: u64,
    /// Time, chunks sent and chunks lost, of the last seconds.
    chunks: VecDeque<(Duration, u64, u64)>,
    sent_bit_s: u64,
    received_bit_s: u64,
    loss: f64,
}

impl PathMeter {
    /// Takes the counters at a time, which is `since` after the time before.
    pub(super) fn take(&mut self, at: Duration, since: Duration, now: &PathReading) {
        let sent = now.sent + now.retransmitted;
        let rate = |bytes: u64| (bytes as f64 * 8.0 / since.as_secs_f64()).round() as u64;
        self.sent_bit_s = rate(sent.saturating_sub(self.sent));
        self.received_bit_s = rate(now.received.saturating_sub(self.received));
        (self.sent, self.received) = (sent, now.received);
        self.chunks.push_back((at, now.sent_chunks, now.lost_chunks));
        while self.chunks.len() > 2 && self.chunks[1].0 + LOSS_WINDOW <= at {
            self.chunks.pop_front();
        }
        let (_, sent, lost) = self.chunks[0];
        let sent = now.sent_chunks.saturating_sub(sent);
        let lost = now.lost_chunks.saturating_sub(lost);
        // Chunks are declared lost after the time in which they were sent.
        self.loss = (lost as f64 / sent.max(lost).max(1) as f64 * 1e4).round() / 1e4;
    }

    /// The sample of a path, with the rates that were taken last.
    pub(super) fn sample(&self, now: &PathReading, association: &Reading) -> PathSample {
        let queue = now
            .srtt
            .zip(now.min_rtt)
            .map(|(srtt, min)| srtt.saturating_sub(min));
        PathSample {
            path: now.path,
            local: now.local,
            remote: now.remote,
            state: state_name(now.reachability),
            primary: now.primary,
            resting: now.resting,
            cost: now.preference.cost,
            cap_bit_s: now.preference.limit.map(|limit| limit.get().saturating_mul(8)),
            mtu: now.mtu,
            rtt_ms: now.srtt.map(in_milliseconds),
            queue_ms: queue.map(in_milliseconds),
            cwnd_bytes: now.cwnd,
            in_flight_bytes: now.in_flight,
            limit: Limit::of(now, association),
            sent_bit_s: self.sent_bit_s,
            received_bit_s: self.received_bit_s,
            share: 0.0,
            loss: self.loss,
            sent_bytes: now.sent,
            retransmitted_bytes: now.retransmitted,
            received_bytes: now.received,
            sent_chunks: now.sent_chunks,
            lost_chunks: now.lost_chunks,
            timeouts: now.timeouts,
        }
    }
}

/// Sets the share of each path.
pub(super) fn set_shares(paths: &mut [PathSample]) {
    let rate = |path: &PathSample| (path.sent_bit_s + path.received_bit_s) as f64;
    let all: f64 = paths.iter().map(rate).sum();
    for path in paths {
        path.share = (rate(path) / all.max(1.0) * 1e4).round() / 1e4;
    }
}

fn in_milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}

/// The names that all output of the program uses.
const fn state_name(reachability: Reachability) -> &'static str {
    match reachability {
        Reachability::Unconfirmed => "unconfirmed",
        Reachability::Active => "active",
        Reachability::PotentiallyFailed => "potentially-failed",
        Reachability::Inactive => "inactive",
    }
}
