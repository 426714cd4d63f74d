//! Sendable bytes of each path: limited by cwnd, the burst limit and the share of the buffers.

use anabranch_policy::buffer_size::in_longest_round;
use anabranch_policy::{BufferFacts, BurstPolicy, PathFacts};
use anabranch_types::{Instant, PathId};

use super::Transfer;
use crate::path::Path;

/// The smallest limit of fragments that is obeyed: chunks are multiples of 4 bytes.
const LEAST_FRAGMENT: usize = 4;

/// The smallest window, in packets, that new data of redundant streams may share with lost chunks.
const LEAST_URGENT_PACKETS: u64 = 4;

/// The kind of data to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Data sent for the first time.
    New,
    /// Retransmissions: they are in the buffers already, so buffer shares do not limit them.
    Again,
}

impl Transfer {
    /// Computes [`anabranch_policy::PathFacts::sendable`] of all paths.
    pub(super) fn refresh_sendable(&mut self, purpose: Purpose, now: Instant) {
        let buffer = self.limits(purpose);
        for id in self.paths.ids() {
            self.refresh_path(id, purpose, buffer.as_ref(), now);
        }
    }

    /// Computes [`anabranch_policy::PathFacts::sendable`] of path `id` for new data.
    pub(super) fn refresh_sendable_of(&mut self, id: PathId, now: Instant) {
        let buffer = self.limits(Purpose::New);
        self.refresh_path(id, Purpose::New, buffer.as_ref(), now);
    }

    /// The buffers, if they limit data of this kind.
    fn limits(&self, purpose: Purpose) -> Option<BufferFacts> {
        let is_limited = purpose == Purpose::New && !self.policies.buffer.is_unlimited();
        is_limited.then(|| self.buffer_facts())
    }

    #[inline]
    fn refresh_path(&mut self, id: PathId, purpose: Purpose, buffer: Option<&BufferFacts>, now: Instant) {
        let share = match purpose {
            // The stream scheduler may map streams to other paths, so that this one has nothing to send.
            Purpose::New if !self.has_new_for(id) => 0,
            _ => buffer.map_or(u64::MAX, |buffer| self.share_of(id, buffer)),
        };
        if share > 0 && self.policies.limit_window(self.paths.fact(id)) {
            self.publish_windows();
        }
        let waiting = self.sender.waiting_bytes();
        let (facts, path) = self.paths.both_mut(id);
        let wanted = Wanted { share, waiting };
        allot(facts, path, wanted, &mut *self.policies.burst, now);
    }

    /// Length at which messages are fragmented for path `id`, with the chunk header.
    pub(super) fn fragment_at(&self, id: PathId) -> usize {
        let longest = self.config.max_fragment.map_or(usize::MAX, usize::from);
        let chunk = longest
            .max(LEAST_FRAGMENT)
            .saturating_add(self.sender.header_len());
        self.paths.cut_length(id).min(chunk)
    }

    /// Whether any stream has new data for path `id`.
    pub(super) fn has_new_for(&self, id: PathId) -> bool {
        let scheduler = &*self.policies.stream_scheduler;
        let fragment_at = || self.fragment_at(id);
        self.sender.has_new_for(id, fragment_at, scheduler)
    }

    /// Whether a redundant stream has new data that path `id` may take before lost chunks. A window that a timeout has closed is for those
    /// alone.
    pub(super) fn has_urgent_for(&self, id: PathId) -> bool {
        let facts = self.paths.fact(id);
        if facts.cwnd < LEAST_URGENT_PACKETS * u64::from(facts.max_data_chunk) {
            return false;
        }
        let scheduler = &*self.policies.stream_scheduler;
        self.sender.has_urgent_for(id, self.fragment_at(id), scheduler)
    }

    /// Notifies a congestion control that measures rates of the paths that could take more now. Data, buffers or the peer's
    /// window lack it, or the scheduler waits, so what is in flight says little about the path.
    pub(super) fn tell_limits(&mut self, now: Instant) {
        for (facts, path) in self.paths.iter() {
            let is_paced = path.sending.release_at.is_some_and(|at| at > now);
            let is_full = facts.in_flight + facts.duplicated_bytes >= facts.cwnd;
            if facts.is_usable() && !is_paced && !is_full {
                self.policies.congestion.on_application_limited(facts);
            }
        }
    }

    /// Sizes the send buffer for the windows of the paths, unless its size is fixed.
    pub(super) fn size_send_buffer(&mut self) {
        if let Some(range) = self.config.send_buffer.range() {
            self.sender.size_for(range, in_longest_round(self.paths.facts()));
        }
    }

    /// The shared buffers as policies see them.
    pub(super) fn buffer_facts(&self) -> BufferFacts {
        BufferFacts {
            send_capacity: self.sender.capacity(),
            send_used: self.sender.send_used(),
            peer_window: self.sender.peer_window(),
            in_flight: self.sender.total_in_flight(),
            queued: self.sender.total_queued(),
            usable_paths: self.paths.usable_count(),
            send_split: self.policies.buffer.splits_send_buffer(),
            receive_split: self.policies.buffer.splits_receive_buffer(),
        }
    }

    fn share_of(&self, id: PathId, buffer: &BufferFacts) -> u64 {
        let facts = self.paths.fact(id);
        self.policies.buffer.allowance(facts, self.paths.facts(), buffer)
    }
}

/// Limits of a path beside its window.
struct Wanted {
    /// Maximum by the share of the buffers.
    share: u64,
    /// Bytes queued for all paths.
    waiting: u64,
}

//= rfc9260 6.1-11, 6.1-12, 6.1-13, 6.1-18, 7.2.1-4
/// Computes the sendable bytes of one path.
fn allot(facts: &mut PathFacts, path: &mut Path, wanted: Wanted, burst: &mut dyn BurstPolicy, now: Instant) {
    facts.sendable = 0;
    facts.pacing_limited = false;
    let sending = &*path.sending;
    if wanted.share == 0 || !facts.is_usable() || sending.blocked_until.is_some() {
        return;
    }
    let recovery = sending.recovery.as_ref();
    let rate = recovery.and_then(|recovery| recovery.rate());
    let window = rate.map_or(facts.cwnd, |rate| rate.limit(facts.cwnd));
    let filled = facts.in_flight + facts.duplicated_bytes;
    // A window that is not full takes a whole packet: RFC 9260 §6.1 B lets the flight size grow to cwnd + (PMDCS − 1). Otherwise
    // the last part of the window could never be used.
    //
    // After a timeout only one packet may be in flight until it is acknowledged, however little of the window it fills (RFC 9260
    // §7.2.1).
    if filled >= window || path.waits_for_answer() {
        return;
    }
    let open = (window - filled).max(u64::from(facts.max_data_chunk));
    let burst = burst.allowance(facts, now);
    let mut release_at = burst.again_at.filter(|_| burst.bytes == 0);
    let mut limited = u64::MAX;
    let mut is_at_limit = false;
    if let Some(preferred) = &path.preferred {
        is_at_limit = facts.pacing_rate.is_some() && facts.pacing_rate == preferred.effective().limit;
        match preferred.allowance(now) {
            Some(Ok(bytes)) => limited = bytes.max(u64::from(facts.max_data_chunk)),
            Some(Err(at)) => (limited, release_at) = (0, release_at.max(Some(at))),
            None => {}
        }
    }
    path.sending.make_mut().release_at = release_at;
    // Whether queued data would fill the window. If not, the path is limited by the application and not by pacing. One that carries
    // the limit of its preference does not use its window either.
    let would_fill = filled + wanted.waiting + u64::from(facts.max_data_chunk) > window;
    facts.pacing_limited = release_at.is_some() && would_fill && !is_at_limit;
    facts.sendable = open.min(wanted.share).min(burst.bytes).min(limited);
}
