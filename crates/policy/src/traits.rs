//! The policy traits: what does the core ask each policy to decide?

use core::fmt;
use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::{Instant, PathId, StreamId, UnwrappedTsn};

use crate::facts::{
    AckSample, AckWhen, Arrival, Backlog, BufferFacts, ChunkInFlight, LossEvent, LossThreshold, LostChunk,
    LostPackets, PathAck, PathFacts, Pick, Reachability, Reschedule, SendAllowance, SentPacket, StreamFacts,
    StuckChunk,
};
use crate::path_scheduler::leaves_a_quarter;

/// Methods of all policies.
pub trait Policy: Send + fmt::Debug {
    /// The name that users type, as in the catalog.
    fn name(&self) -> &'static str;
}

/// Congestion control. How much may be in flight on each path (RFC 9260 §7.2)?
///
/// One controller serves all paths of an association, so that it can couple them (RFC 6356); an uncoupled
/// algorithm ignores the other paths. Windows are in bytes of DATA chunks, headers included, and never below one
/// [`PathFacts::max_data_chunk`].
pub trait CongestionControl: Policy {
    /// A path was added; called once before any other call that names it.
    fn add_path(&mut self, path: &PathFacts, now: Instant);
    /// A path was removed; its id may be used again for another one.
    fn remove_path(&mut self, path: PathId);
    /// A SACK acknowledged something. Called once for each SACK, before `on_loss` for the losses that it reveals.
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant);
    /// Chunks were lost. Called once for each loss event: once per window of data, or once per timeout.
    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant);
    /// Nothing was sent on `path` for `idle`. Called before the next transmission (RFC 9260 §7.2.1).
    fn on_idle(&mut self, path: &PathFacts, idle: Duration) {
        let _ = (path, idle);
    }
    /// The burst policy limits the cwnd of `path` to `limit` bytes, which is less than it has. The cwnd it had becomes
    /// its ssthresh if that is lower, so that the cwnd returns in slow start.
    fn on_burst_limit(&mut self, path: PathId, limit: u64) {
        let _ = (path, limit);
    }
    /// The bottlenecks that paths share have changed, as [`PathFacts::bottleneck`] shows.
    fn on_bottlenecks(&mut self, paths: &[PathFacts]) {
        let _ = paths;
    }
    /// Queues on the paths are to be short from now on, or need not be any more.
    fn set_low_latency(&mut self, low_latency: bool, paths: &[PathFacts], now: Instant) {
        let _ = (low_latency, paths, now);
    }
    /// Whether it measures delivery rates: then [`CongestionControl::on_sent`], [`CongestionControl::on_lost`] and
    /// [`CongestionControl::on_application_limited`] are called. Asked when a path is added and after each event.
    fn measures_rates(&self) -> bool {
        false
    }
    /// Whether it measures rates at any time: then data is paced, whatever the burst policy (see
    /// [`PolicySet::add_path`](crate::PolicySet::add_path)). Constant, and true if [`CongestionControl::measures_rates`] ever is.
    fn may_measure_rates(&self) -> bool {
        false
    }
    /// A packet with data was sent on `path`.
    fn on_sent(&mut self, sent: &SentPacket, path: &PathFacts, now: Instant) {
        let _ = (sent, path, now);
    }
    /// Chunks were lost because later ones arrived. Called for all of them, before `on_loss` if that follows.
    fn on_lost(&mut self, lost: &LostPackets, path: &PathFacts, now: Instant) {
        let _ = (lost, path, now);
    }
    /// Nothing more is sent on `path` now, although its cwnd and its pacing allow it: data, buffers or the scheduler lack it.
    fn on_application_limited(&mut self, path: &PathFacts) {
        let _ = path;
    }
    /// The pacing rate of `path` in bytes per second; `None` while it is unknown or if the algorithm has none.
    fn pacing_rate(&self, path: PathId) -> Option<NonZeroU64> {
        let _ = path;
        None
    }
    /// The cwnd of `path` in bytes; 0 for an unknown path.
    fn cwnd(&self, path: PathId) -> u64;
    /// The ssthresh of `path` in bytes; [`u64::MAX`] while unset or if the algorithm has none.
    fn ssthresh(&self, path: PathId) -> u64;
}

/// Shared bottlenecks. Which paths share one (RFC 8382)? Their windows are to be coupled, and only theirs.
///
/// Where there is detection, each path has a bottleneck from the beginning: one of its own, until it is seen to be that of another path.
pub trait SharedBottleneck: Policy {
    /// Whether there is detection. If not, the core calls none of the methods that follow, except [`SharedBottleneck::group`].
    fn detects(&self) -> bool {
        true
    }
    /// A path was removed; its id may be used again for another one.
    fn remove_path(&mut self, path: PathId);
    /// A SACK acknowledged something. Called before the congestion control. Returns whether [`SharedBottleneck::group`] of any path
    /// has changed.
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) -> bool;
    /// Chunks were lost or packets marked; called as [`CongestionControl::on_loss`], and before it.
    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant);
    /// The lowest id of the paths that share a bottleneck with `path`: its own if no other is known to, and always for a path that
    /// was just added. `None` without detection, for all paths. Other policies see it as [`PathFacts::bottleneck`].
    fn group(&self, path: PathId) -> Option<PathId>;
}

/// Path scheduler. Which path takes the next packet of new data, or is waiting better?
///
/// A scheduler may wait while something is in flight: the next acknowledgement calls it again. With nothing in
/// flight and a path that can take data, it must pick a path.
pub trait PathScheduler: Policy {
    /// A path was added.
    fn add_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// A path was removed; its id may be used again for another one.
    fn remove_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// A SACK acknowledged something.
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        let _ = (ack, paths, now);
    }
    /// Chunks were lost; called as [`CongestionControl::on_loss`], before the facts show the new cwnd.
    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant) {
        let _ = (loss, paths, now);
    }
    /// New data waits, and the peer's receive window does not let it through.
    fn on_blocked(&mut self) {}
    /// Picks among the paths with [`PathFacts::can_take_data`]. Called before each packet.
    fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, now: Instant) -> Pick;
    /// `bytes` of user data were sent on `path` for the first time.
    fn on_sent(&mut self, path: PathId, bytes: u64, now: Instant) {
        let _ = (path, bytes, now);
    }
    /// An output call begins: as many packets as the windows allow follow at this moment.
    fn on_round(&mut self) {}
    /// Whether the scheduler ever sends any chunk in flight on one path on others too. If not, the core asks about chunks of redundant
    /// streams only.
    fn sends_duplicates(&self) -> bool {
        false
    }
    /// Whether a duplicate of `chunk`, in flight on another path, is to be sent on `onto`, which can take data. Called
    /// before new data is scheduled: for each path in the order of TSNs, once for each chunk if the answer is yes, and
    /// until the chunk is acknowledged or lost if it is no. Changes no state.
    ///
    /// The duplicate counts as [`PathFacts::duplicated_bytes`] for a round trip. The acknowledgement of a chunk with
    /// duplicates proves nothing about any path: it is no RTT sample, does not clear error counters, and no cwnd
    /// grows by it.
    ///
    /// By default, chunks of redundant streams are duplicated as long as duplicates leave a quarter of the cwnd to other data.
    fn wants_duplicate(&self, chunk: &ChunkInFlight, onto: &PathFacts, now: Instant) -> bool {
        let _ = now;
        chunk.redundant && leaves_a_quarter(chunk, onto)
    }
}

/// Stream scheduler. Which stream sends next (RFC 8260 §3)?
///
/// The core reports changes and never passes a list, so that the cost is per message, not per stream. Without message
/// interleaving the core calls [`StreamScheduler::next`] only between messages.
pub trait StreamScheduler: Policy {
    /// `stream` has a new message at its head: it became ready, or its last message was taken and the next one moved
    /// up. Also called when its priority or weight was set.
    fn on_ready(&mut self, stream: &StreamFacts);
    /// `stream` has nothing left to send, or nothing that may be sent before other data is acknowledged.
    fn on_idle(&mut self, stream: StreamId);
    /// The data of `stream` that is taken next is sent on `path`.
    fn on_placed(&mut self, stream: StreamId, path: PathId) {
        let _ = (stream, path);
    }
    /// `bytes` of the head message of `stream` were taken; `message_done` if that was its end. The core then
    /// calls [`StreamScheduler::on_ready`] or [`StreamScheduler::on_idle`].
    fn on_taken(&mut self, stream: StreamId, bytes: u32, message_done: bool);
    /// Whether streams are bound to paths. Then the path scheduler only orders the paths that can take data: waiting for
    /// a faster path that is not its own does not help a stream.
    fn binds_streams(&self) -> bool {
        false
    }
    /// Whether `stream` may be sent on `path`, whatever other streams want. Changes no state.
    fn admits(&self, stream: StreamId, path: PathId) -> bool {
        let _ = (stream, path);
        true
    }
    /// The path to which `stream` keeps: what it loses is sent again there. `None` leaves that to the retransmission policy.
    fn path_of(&self, stream: StreamId) -> Option<PathId> {
        let _ = stream;
        None
    }
    /// The facts of all paths; called before each packet of new data.
    fn observe(&mut self, paths: &[PathFacts], now: Instant) {
        let _ = (paths, now);
    }
    /// The packet for which bytes were taken is complete: bytes taken from now on go into another one.
    fn on_packet_end(&mut self) {}
    /// The stream to serve next on `path`; `None` if no stream is ready for it. Changes no state.
    fn next(&self, path: PathId) -> Option<StreamId>;
}

/// RTT sampling. Which acknowledgements are round-trip time samples (RFC 9260 §6.3.1)?
///
/// A sample is the time at which its chunk was sent. The core takes one sample per round trip and smooths it.
pub trait RttSampling: Policy {
    /// A path was added.
    fn add_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// A path was removed.
    fn remove_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// Whether the next new chunk on `path` is to be a probe: its I bit asks the peer to acknowledge it at once (RFC
    /// 9260 §3.3.1), over the same path. Changes no state.
    fn wants_probe(&self, path: &PathFacts, now: Instant) -> bool {
        let _ = (path, now);
        false
    }
    /// A probe was sent on `path`.
    fn on_probe_sent(&mut self, path: &PathFacts, now: Instant) {
        let _ = (path, now);
    }
    /// A SACK arrived over `path`, outdated or not, and is not processed yet; `reports` tells which TSNs it reports.
    /// Returns the RTT sample, if it is one.
    fn on_sack(
        &mut self,
        path: &PathFacts,
        reports: &dyn Fn(UnwrappedTsn) -> bool,
        now: Instant,
    ) -> Option<Instant> {
        let _ = (path, reports, now);
        None
    }
    /// A SACK that arrived over `arrived_on` acknowledged chunks of `path`. Returns the RTT sample, if it is one.
    fn on_ack(
        &mut self,
        ack: &PathAck,
        path: &PathFacts,
        arrived_on: PathId,
        now: Instant,
    ) -> Option<Instant>;
}

/// Loss detection. Which outstanding chunks are lost (RFC 9260 §7.2.4)?
///
/// The result is a threshold for each path, so that the core touches each lost chunk once and no other.
pub trait LossDetection: Policy {
    /// A path was added.
    fn add_path(&mut self, path: PathId);
    /// A path was removed.
    fn remove_path(&mut self, path: PathId);
    /// A SACK acknowledged something.
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant);
    /// Everything on `path` was declared lost by its T3-rtx timer; the state of the path is reset.
    fn on_timeout(&mut self, path: PathId);
    /// The loss threshold of `path` after the last call. Called after each SACK, and at [`LossThreshold::again_at`].
    /// Changes no state.
    fn loss_threshold(&self, path: PathId, now: Instant) -> LossThreshold;
}

/// Tail loss probe. When is a packet sent to find out whether the last data was lost (RFC 8985 §7)?
pub trait TailProbe: Policy {
    /// The probe timeout: how long nothing must be sent or acknowledged on `path` before a probe is sent to elicit a
    /// SACK; `None` for no probes. The probe is new data if there is some, else the highest outstanding chunk again. One
    /// probe is sent until something is acknowledged, and only if the T3-rtx timer expires later. The cwnd is not cut.
    fn probe_after(&self, path: &PathFacts) -> Option<Duration>;
}

/// Retransmission policy. On which path is a lost chunk retransmitted (RFC 9260 §6.4)?
pub trait RetransmissionPolicy: Policy {
    /// The path for `chunk`; `None` if no path is fit. The core lets one packet per loss event exceed the cwnd (RFC 9260
    /// §7.2.4); all others need a path that can take data. A path that cannot may be returned where waiting for it is
    /// better than another path, or where no path can; the core then holds the chunk back.
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId>;
}

/// Ack policy. When is a SACK sent (RFC 9260 §6.2)?
pub trait AckPolicy: Policy {
    /// A packet with DATA arrived and was processed. Returns when its SACK is to be sent.
    fn on_packet(&mut self, arrival: &Arrival, now: Instant) -> AckWhen;
    /// Whether SACKs carry the number of packets since the last SACK in their flags, as DAC asks.
    fn reports_packet_count(&self) -> bool {
        false
    }
}

/// SACK path policy. On which path is a SACK sent (RFC 9260 §6.4)?
pub trait SackPath: Policy {
    /// The path for the SACK: a usable path, or `arrived_on`, over which the last DATA arrived. Not called where the
    /// peer asked for a SACK over a certain path (I bit, RFC 9260 §3.3.1).
    fn path(&mut self, arrived_on: PathId, paths: &[PathFacts]) -> PathId;
}

/// Buffer splitting. How much of the shared send and receive buffer may a path hold?
pub trait BufferPolicy: Policy {
    /// Whether each path gets a share of the send buffer; other policies see it as [`BufferFacts::send_split`].
    fn splits_send_buffer(&self) -> bool {
        false
    }
    /// Whether each path gets a share of the peer's receive buffer; see [`BufferFacts::receive_split`].
    fn splits_receive_buffer(&self) -> bool {
        false
    }
    /// Whether it never limits a path. Then the core does not ask for the allowance.
    fn is_unlimited(&self) -> bool {
        false
    }
    /// Further bytes that `path` may take; [`u64::MAX`] for no limit.
    fn allowance(&self, path: &PathFacts, paths: &[PathFacts], buffer: &BufferFacts) -> u64;
}

/// Chunk rescheduling. A buffer is blocked: which chunks move to another path?
pub trait ReschedulingPolicy: Policy {
    /// Whether it never reschedules. Then the core skips the check.
    fn is_never(&self) -> bool {
        false
    }
    /// When [`ReschedulingPolicy::reschedule`] is to be asked again although nothing happens until then. Called when the buffers let no
    /// new data through and nothing was rescheduled; `None` to wait for the next event.
    fn overdue_at(&self, stuck: &StuckChunk, buffer: &BufferFacts, paths: &[PathFacts]) -> Option<Instant> {
        let _ = (stuck, buffer, paths);
        None
    }
    /// Whether to reschedule onto `onto`. Called before new data is sent on `onto`, and while the buffers let no new data
    /// through; `stuck` is the oldest outstanding chunk of the association.
    fn reschedule(
        &mut self,
        onto: &PathFacts,
        stuck: &StuckChunk,
        buffer: &BufferFacts,
        paths: &[PathFacts],
        now: Instant,
    ) -> Option<Reschedule>;
}

/// Burst limit. How many packets may be sent at once (RFC 9260 §6.1 D)?
pub trait BurstPolicy: Policy {
    /// A path was added.
    fn add_path(&mut self, path: PathId);
    /// A path was removed.
    fn remove_path(&mut self, path: PathId);
    /// Whether it follows the pacing rate of a path. Constant.
    fn is_paced(&self) -> bool {
        false
    }
    /// A transmission opportunity: a packet was handled, a timer expired, or an idle application has new data. What is
    /// sent until the next call is one burst.
    fn on_transmission_opportunity(&mut self) {}
    /// The largest cwnd that `path` may have from now on. Called before data is sent; a smaller cwnd is left alone.
    /// `None` if bursts are limited without changing the cwnd.
    fn window_limit(&self, path: &PathFacts) -> Option<u64> {
        let _ = path;
        None
    }
    /// Number of bytes that may be sent on `path` now, whatever its cwnd.
    fn allowance(&mut self, path: &PathFacts, now: Instant) -> SendAllowance;
    /// A packet with data was sent on `path`: `bytes` of data chunks and headers, without what is bundled with them.
    fn on_sent(&mut self, path: PathId, bytes: u64, now: Instant) {
        let _ = (path, bytes, now);
    }
}

/// Failover policy. When is a path potentially failed, inactive or active again (RFC 9260 §8.2, RFC 7829)?
pub trait FailoverPolicy: Policy {
    /// The error counter of `path` was incremented; [`PathFacts::errors`] includes it.
    fn on_error(&mut self, path: &PathFacts) -> Reachability;
    /// Whether that error also counts against the peer, which is given up after Association.Max.Retrans errors (RFC 9260
    /// §8.1). `paths` are the facts of all paths, with that error counted.
    fn counts_against_peer(&self, path: &PathFacts, paths: &[PathFacts]) -> bool {
        let _ = (path, paths);
        true
    }
    /// The path works: a HEARTBEAT ACK arrived, or a chunk sent only once on `path` was acknowledged.
    fn on_reachable(&mut self, path: &PathFacts) -> Reachability;
    /// How long SACKs may acknowledge nothing of `path`, which has data in flight, before it becomes potentially failed
    /// without an error; `None` if only its timer counts. The core checks while there is another usable path, and sends
    /// a heartbeat at once when the time is over.
    fn suspect_after(&self, path: &PathFacts) -> Option<Duration> {
        let _ = path;
        None
    }
    /// HB.interval of `path` (RFC 9260 §8.3), to which the core adds the RTO and jitter; `None` for no heartbeats.
    fn heartbeat_interval(&self, path: &PathFacts) -> Option<Duration>;
}
