//! The policy traits: what does the core ask each policy to decide?

use core::fmt;
use core::time::Duration;

use anabranch_types::{Instant, PathId, StreamId, UnwrappedTsn};

use crate::facts::{
    AckSample, AckWhen, Arrival, Backlog, BufferFacts, ChunkInFlight, LossEvent, LossThreshold, LostChunk,
    PathAck, PathFacts, Pick, Reachability, Reschedule, SendAllowance, StreamFacts, StuckChunk,
};

/// What all policies share.
pub trait Policy: Send + fmt::Debug {
    /// The name that users type, as in the catalog.
    fn name(&self) -> &'static str;
}

/// How much may be in flight on each path?
///
/// One controller serves all paths of an association, so that it can couple them (RFC 6356); an uncoupled
/// algorithm is the special case that ignores the siblings. Windows are in bytes of DATA chunks, headers
/// included, and never below one [`PathFacts::max_data_chunk`].
pub trait CongestionControl: Policy {
    /// A path exists from now on; called once before any other call that names it.
    fn add_path(&mut self, path: &PathFacts, now: Instant);
    /// A path is gone; its id may be used again for another one.
    fn remove_path(&mut self, path: PathId);
    /// A SACK acknowledged something. Called once for each SACK, before losses that the same SACK reveals.
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant);
    /// Chunks were lost; called once for each loss event (once per window of data, or once per timeout).
    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant);
    /// Nothing was sent on `path` for `idle`; called before the next transmission (RFC 9260 §7.2.1).
    fn on_idle(&mut self, path: &PathFacts, idle: Duration) {
        let _ = (path, idle);
    }
    /// The burst policy keeps the window of `path` down to `limit` bytes, which are fewer than it has. What it had becomes its
    /// threshold, if that is lower: the window comes back in slow start.
    fn on_burst_limit(&mut self, path: PathId, limit: u64) {
        let _ = (path, limit);
    }
    /// The window of `path` in bytes; 0 for an unknown path.
    fn cwnd(&self, path: PathId) -> u64;
    /// The slow-start threshold of `path` in bytes; [`u64::MAX`] while unset or where the idea does not apply.
    fn ssthresh(&self, path: PathId) -> u64;
}

/// Which path takes the next packet of new data, or is waiting better?
///
/// To wait is a full answer while something is in flight, for its acknowledgement leads to the next question. With
/// nothing in flight and a path with room, some path must be picked.
pub trait PathScheduler: Policy {
    /// A path exists from now on.
    fn add_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// A path is gone; its id may be used again for another one.
    fn remove_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// A SACK acknowledged something.
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        let _ = (ack, paths, now);
    }
    /// Chunks were lost; called as [`CongestionControl::on_loss`], before the facts show the new window.
    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant) {
        let _ = (loss, paths, now);
    }
    /// New data waits, and the peer's window keeps it back.
    fn on_blocked(&mut self) {}
    /// Picks among the paths with [`PathFacts::can_take_data`]; called before each packet.
    fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, now: Instant) -> Pick;
    /// `bytes` of user data were put on `path` for the first time.
    fn on_sent(&mut self, path: PathId, bytes: u64, now: Instant) {
        let _ = (path, bytes, now);
    }
    /// An output call begins: as many packets as windows allow follow at this moment.
    fn on_round(&mut self) {}
    /// Whether chunks in flight on one path are ever sent on others too, so that somebody need ask.
    fn sends_duplicates(&self) -> bool {
        false
    }
    /// Whether `chunk`, in flight on another path, is sent on `onto` too, which has room. Asked before new data is
    /// scheduled: for each path in the order of TSNs, once about each chunk if the answer is yes, and until it is
    /// acknowledged or lost if it is no. Changes nothing.
    ///
    /// The copy counts as [`PathFacts::duplicated_bytes`] for a round trip. Whatever is said of a chunk with copies says nothing of
    /// any path: it is neither a round-trip sample nor a sign of life, and no window grows by it.
    fn wants_duplicate(&self, chunk: &ChunkInFlight, onto: &PathFacts, now: Instant) -> bool {
        let _ = (chunk, onto, now);
        false
    }
}

/// Whose bytes are next (RFC 8260 §3)?
///
/// Told about changes, never shown a list: cost is per message, not per stream. Without message interleaving
/// the core asks only between messages.
pub trait StreamScheduler: Policy {
    /// `stream` has a message at its head that was not there before: it became ready, or its last message is
    /// gone and the next one moved up. Also called when its priority or its weight was set.
    fn on_ready(&mut self, stream: &StreamFacts);
    /// `stream` has nothing to send any more, or nothing that may be sent before others are acknowledged.
    fn on_idle(&mut self, stream: StreamId);
    /// `bytes` of the head message of `stream` were taken; `message_done` if that was its end. The core then
    /// says [`StreamScheduler::on_ready`] or [`StreamScheduler::on_idle`].
    fn on_taken(&mut self, stream: StreamId, bytes: u32, message_done: bool);
    /// Whether streams are bound to paths. Then a path scheduler only orders the paths that have room: no stream is better
    /// served by waiting for a path that is not its own.
    fn binds(&self) -> bool {
        false
    }
    /// Whether `stream` may go on `path`, for all that the others want. Changes nothing.
    fn admits(&self, stream: StreamId, path: PathId) -> bool {
        let _ = (stream, path);
        true
    }
    /// How the paths are doing; told before each packet of new data.
    fn observe(&mut self, paths: &[PathFacts], now: Instant) {
        let _ = (paths, now);
    }
    /// The packet for which bytes were taken is done: what is taken from now on goes into another one.
    fn on_packet_end(&mut self) {}
    /// The stream to serve now on `path`; `None` if none is ready for it. Changes nothing.
    fn next(&self, path: PathId) -> Option<StreamId>;
}

/// Which acknowledgements tell how long a round trip takes (RFC 9260 §6.3.1)?
///
/// A sample is named by when its chunk was sent. The core takes one in a round trip, and smooths.
pub trait RttSampling: Policy {
    /// A path exists from now on.
    fn add_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// A path is gone.
    fn remove_path(&mut self, path: PathId) {
        let _ = path;
    }
    /// Whether the next new chunk on `path` is to be a probe: the I bit asks the peer to acknowledge it at once (RFC
    /// 9260 §3.3.1), over the same path. Changes nothing.
    fn wants_probe(&self, path: &PathFacts, now: Instant) -> bool {
        let _ = (path, now);
        false
    }
    /// A probe left on `path`.
    fn on_probe_sent(&mut self, path: &PathFacts, now: Instant) {
        let _ = (path, now);
    }
    /// A SACK came over `path`, outdated or not, and has not been looked at for anything else; `reports` tells which
    /// TSNs it reports. The sample that it is, if any.
    fn on_sack(
        &mut self,
        path: &PathFacts,
        reports: &dyn Fn(UnwrappedTsn) -> bool,
        now: Instant,
    ) -> Option<Instant> {
        let _ = (path, reports, now);
        None
    }
    /// A SACK that came over `arrived_on` acknowledged chunks of `path`. The sample that it is, if any.
    fn on_ack(
        &mut self,
        ack: &PathAck,
        path: &PathFacts,
        arrived_on: PathId,
        now: Instant,
    ) -> Option<Instant>;
}

/// Which outstanding chunks are lost?
///
/// The answer is a line, so that the core touches each lost chunk once and no other.
pub trait LossDetection: Policy {
    /// A path exists from now on.
    fn add_path(&mut self, path: PathId);
    /// A path is gone.
    fn remove_path(&mut self, path: PathId);
    /// A SACK acknowledged something.
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant);
    /// Everything on `path` was declared lost by its T3 timer; what follows starts anew.
    fn on_timeout(&mut self, path: PathId);
    /// What is lost on `path`, after the last call. Asked after each SACK, and at the moment that the last line of the
    /// path named. Changes nothing.
    fn loss_threshold(&self, path: PathId, now: Instant) -> LossThreshold;
}

/// Is the tail of what was sent still there? Nothing behind it would tell.
pub trait TailProbe: Policy {
    /// After how long without anything sent or acknowledged on `path` a chunk is sent to provoke an acknowledgement:
    /// new data if there is some, else the highest outstanding chunk once more; `None` for never. It is sent once
    /// until something is acknowledged, and only while the T3 timer runs for longer. The window is not cut for it.
    fn probe_after(&self, path: &PathFacts) -> Option<Duration>;
}

/// Where does a lost chunk go (RFC 9260 §6.4)?
pub trait RetransmissionPolicy: Policy {
    /// The path for `chunk`; `None` if none is fit. The core lets one packet per loss event exceed the window
    /// (RFC 9260 §7.2.4); all others need room. So a path without room may be named, where waiting for it is
    /// better than another path or where none has room, and the core holds the chunk back until there is.
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId>;
}

/// When is a SACK sent (RFC 9260 §6.2)?
pub trait AckPolicy: Policy {
    /// A packet with DATA arrived and was processed.
    fn on_packet(&mut self, arrival: &Arrival, now: Instant) -> AckWhen;
    /// Whether SACKs carry the number of packets since the last one in their flags, as DAC asks.
    fn reports_packet_count(&self) -> bool {
        false
    }
}

/// On which path is a SACK sent?
pub trait SackPath: Policy {
    /// `arrived_on` is where the last DATA came from; the answer must be a usable path or `arrived_on` itself. Not
    /// asked where the peer wants an answer over a certain path (I bit, RFC 9260 §3.3.1).
    fn path(&mut self, arrived_on: PathId, paths: &[PathFacts]) -> PathId;
}

/// How much of the shared send and receive buffer may a path hold?
pub trait BufferPolicy: Policy {
    /// Whether it gives each path a share of the send buffer; told to the others as [`BufferFacts::send_split`].
    fn splits_send_buffer(&self) -> bool {
        false
    }
    /// The same of the peer's receive buffer.
    fn splits_receive_buffer(&self) -> bool {
        false
    }
    /// Further bytes that `path` may take; [`u64::MAX`] for no limit.
    fn allowance(&self, path: &PathFacts, paths: &[PathFacts], buffer: &BufferFacts) -> u64;
}

/// The buffer is blocked: what moves to another path?
pub trait ReschedulingPolicy: Policy {
    /// Whether the answer is no whatever is asked, so that nobody need ask.
    fn is_never(&self) -> bool {
        false
    }
    /// Asked before new data goes onto `onto`, and while the buffers let nothing new be sent, with the oldest
    /// outstanding chunk of the association.
    fn reschedule(
        &mut self,
        onto: &PathFacts,
        stuck: &StuckChunk,
        buffer: &BufferFacts,
        paths: &[PathFacts],
        now: Instant,
    ) -> Option<Reschedule>;
}

/// How many packets may leave at once?
pub trait BurstPolicy: Policy {
    /// A path exists from now on.
    fn add_path(&mut self, path: PathId);
    /// A path is gone.
    fn remove_path(&mut self, path: PathId);
    /// A packet was handled, a timer expired, or an application that had nothing left to send has something: what may leave
    /// until this is called again is one burst.
    fn on_occasion(&mut self) {}
    /// What the window of `path` must not exceed from now on, although it may be larger; asked before data leaves. A smaller
    /// window is left alone. `None` where bursts are limited without touching windows.
    fn window_limit(&self, path: &PathFacts) -> Option<u64> {
        let _ = path;
        None
    }
    /// How many bytes may leave on `path` at this moment, whatever its window.
    fn allowance(&mut self, path: &PathFacts, now: Instant) -> SendAllowance;
    /// Bytes left on `path`.
    fn on_sent(&mut self, path: PathId, bytes: u64, now: Instant) {
        let _ = (path, bytes, now);
    }
}

/// When is a path suspected, dead or back (RFC 9260 §8.2, RFC 7829)?
pub trait FailoverPolicy: Policy {
    /// The error counter of `path` went up (it is already counted in [`PathFacts::errors`]).
    fn on_error(&mut self, path: &PathFacts) -> Reachability;
    /// Whether that error counts against the peer, too, which is given up after Association.Max.Retrans of them
    /// (RFC 9260 §8.1). `paths` are all there are, as they were with it.
    fn counts_against_peer(&self, path: &PathFacts, paths: &[PathFacts]) -> bool {
        let _ = (path, paths);
        true
    }
    /// A HEARTBEAT ACK came, or a chunk sent only once on `path` was acknowledged.
    fn on_sign_of_life(&mut self, path: &PathFacts) -> Reachability;
    /// How long SACKs over any path may acknowledge nothing of `path`, which has data in flight, before it becomes
    /// potentially failed without having lost anything; `None` if only its timer counts. The core asks while
    /// there is another usable path, and sends a heartbeat at once.
    fn patience(&self, path: &PathFacts) -> Option<Duration> {
        let _ = path;
        None
    }
    /// HB.interval of `path` (RFC 9260 §8.3), to which the core adds the RTO and the jitter; `None` for no
    /// heartbeats.
    fn heartbeat_every(&self, path: &PathFacts) -> Option<Duration>;
}
