//! What does a SACK change? Round trips, windows, losses, and room for the application.
//!
//! The sender's scoreboard turns the SACK into one `PathAck` for each path; everything after looks at these
//! only, so the cost follows what the SACK changed.

use core::mem;

use anabranch_policy::catalog::RecoveryChoice;
use anabranch_policy::{AckSample, LossCause, LossEvent, PathAck};
use anabranch_types::{Instant, PathId, Tsn, UnwrappedTsn};
use anabranch_wire::{GapBlock, NrSack, Sack, SackError, ValidSack};

use super::publish;
use crate::Association;
use crate::association::{liveness, packet_size};
use crate::path::{ProportionalRate, Recovery};
use crate::violation::Violation;

pub(crate) fn on_sack(
    association: &mut Association,
    now: Instant,
    path: PathId,
    sack: &Sack<'_>,
) -> Result<(), Violation> {
    overhear(association, now, path, sack.cumulative, sack.gap_blocks());
    let scratch = mem::take(&mut association.sack_scratch);
    let (known, next) = (association.sender.cumulative(), association.sender.next_tsn());
    let sack = ValidSack::parse(sack, known, next, scratch);
    apply(association, now, path, sack)
}

/// The SACK of a receiver that tells what it will never throw away.
pub(crate) fn on_nr_sack(
    association: &mut Association,
    now: Instant,
    path: PathId,
    sack: &NrSack<'_>,
) -> Result<(), Violation> {
    let blocks = sack.gap_blocks().chain(sack.non_renegable_blocks());
    overhear(association, now, path, sack.cumulative, blocks);
    let scratch = mem::take(&mut association.sack_scratch);
    let (known, next) = (association.sender.cumulative(), association.sender.next_tsn());
    let sack = ValidSack::parse_nr(sack, known, next, scratch);
    apply(association, now, path, sack)
}

fn apply(
    association: &mut Association,
    now: Instant,
    path: PathId,
    sack: Result<ValidSack, SackError>,
) -> Result<(), Violation> {
    if !association.state.is_connected() {
        return Ok(());
    }
    let sack = match sack {
        Ok(sack) => sack,
        // RFC 9260 §6.2.1 D i: "an out-of-order SACK: drop it".
        Err(SackError::Stale) => return Ok(()),
        Err(SackError::AcksUnsent) => {
            return Err(Violation::Protocol("SACK acknowledges what was never sent"));
        }
    };
    let scheduler = &mut *association.policies.stream_scheduler;
    let outcome = association.sender.on_sack(&sack, scheduler, now);
    association.counters.sacks_received += 1;
    association.counters.chunks_reneged += u64::from(outcome.reneged);
    process_ack(
        association,
        now,
        path,
        outcome.cumulative_advanced,
        sack.packet_count,
    );
    association.sack_scratch = [sack.blocks, sack.kept];
    Ok(())
}

/// The cumulative TSN of a SHUTDOWN acknowledges like a SACK that says nothing of gaps (RFC 9260 §9.2).
///
/// pion and its descendants write what they know of their own TSNs there. A number that cannot be ours says nothing,
/// then; SACKs tell the rest.
pub(crate) fn on_cumulative(association: &mut Association, now: Instant, path: PathId, cumulative: Tsn) {
    let sender = &mut association.sender;
    let cumulative = sender.cumulative().nearest(cumulative);
    if cumulative >= sender.cumulative() && cumulative < sender.next_tsn() {
        let scheduler = &mut *association.policies.stream_scheduler;
        let outcome = sender.on_cumulative(cumulative, scheduler);
        process_ack(association, now, path, outcome.cumulative_advanced, None);
    }
}

/// Everything that follows from what the sender's scoreboard found.
fn process_ack(
    association: &mut Association,
    now: Instant,
    arrived_on: PathId,
    cumulative_advanced: bool,
    packet_count: Option<u8>,
) {
    measure(association, arrived_on, now);
    for index in 0..association.sender.path_acks().len() {
        let PathAck {
            path,
            newly_acked,
            rtt_sample,
            ..
        } = association.sender.path_acks()[index];
        if newly_acked > 0 {
            liveness::acknowledged(association, path, rtt_sample, now);
        }
    }
    let sample = AckSample {
        cumulative: association.sender.cumulative(),
        cumulative_advanced,
        arrived_on,
        packet_count,
        paths: association.sender.path_acks(),
    };
    let facts = association.paths.facts();
    association.policies.congestion.on_ack(&sample, facts, now);
    association.policies.loss.on_ack(&sample, facts, now);
    association.policies.path_scheduler.on_ack(&sample, facts, now);
    find_losses(association, now);
    liveness::suspect_the_silent(association, arrived_on, now);
    let acknowledged = cumulative_advanced || has_news(association.sender.path_acks());
    crate::output::probe_answered(association, acknowledged, now);
    publish(association, now);
    reduce_rates(association);
    association.tell_writable();
}

fn has_news(path_acks: &[PathAck]) -> bool {
    path_acks.iter().any(|ack| ack.newly_acked > 0)
}

/// Even a SACK that was overtaken, and acknowledges nothing any more, took the time that its path takes.
fn overhear(
    association: &mut Association,
    now: Instant,
    path: PathId,
    cumulative: Tsn,
    blocks: impl Iterator<Item = GapBlock> + Clone,
) {
    let cumulative = association.sender.cumulative().nearest(cumulative);
    let reports = |tsn: UnwrappedTsn| {
        let reaches = |block: GapBlock| {
            let (first, last) = (u64::from(block.start), u64::from(block.end));
            cumulative + first <= tsn && tsn <= cumulative + last
        };
        tsn <= cumulative || blocks.clone().any(reaches)
    };
    let facts = association.paths.fact(path);
    if let Some(sent_at) = association.policies.rtt_samples.on_sack(facts, &reports, now) {
        association.paths.rtt_sample(path, sent_at, now);
    }
}

/// A round trip, and what arrived.
fn measure(association: &mut Association, arrived_on: PathId, now: Instant) {
    let Association {
        sender,
        paths,
        policies,
        ..
    } = association;
    for ack in sender.path_acks() {
        let samples = &mut policies.rtt_samples;
        if let Some(sent_at) = samples.on_ack(ack, paths.fact(ack.path), arrived_on, now) {
            paths.rtt_sample(ack.path, sent_at, now);
        }
        if ack.newly_acked > 0 {
            paths.chunks_arrived(ack.path, ack.newly_acked_chunks);
            let path = paths.path_mut(ack.path);
            path.acked_at = Some(now);
            if mem::take(&mut path.one_at_a_time) {
                path.t3.stop();
            }
            path.tail_probe.settle();
        }
    }
}

/// Asks the loss policy for its threshold on each path: after a SACK, and when the policy wanted to be asked again.
pub(crate) fn find_losses(association: &mut Association, now: Instant) {
    let Association { sender, policies, .. } = association;
    sender.look_for_losses(|path| policies.loss.loss_threshold(path, now));
    for path in association.paths.ids() {
        find_losses_on(association, path, now);
        leave_recovery(association, path);
    }
}

/// Chunks below the loss policy's threshold go to the retransmission queue. The first of them in a window of data
/// begins a fast recovery and cuts the window; the others of the same window do not (RFC 9260 §7.2.4).
fn find_losses_on(association: &mut Association, path: PathId, now: Instant) {
    let threshold = association.policies.loss.loss_threshold(path, now);
    association.paths.path_mut(path).loss_check_at = threshold.again_at;
    let lost = association.sender.lose(path, threshold);
    if lost.chunks == 0 {
        return;
    }
    association.paths.chunks_lost(path, lost.chunks);
    if lost.again > 0 {
        packet_size::doubt(association, path, now);
    }
    let machinery = association.paths.path_mut(path);
    machinery.counters.fast_retransmits += u64::from(lost.chunks);
    if machinery.recovery.is_some() {
        return;
    }
    machinery.retransmission_credit = true;
    if let Some(highest) = lost.highest {
        begin_recovery(association, path, (highest, lost.bytes), now);
    }
}

/// The window of `path` is cut, once for all that is outstanding now: `lost` are the highest TSN and the bytes that
/// left it.
pub(crate) fn begin_recovery(
    association: &mut Association,
    path: PathId,
    lost: (UnwrappedTsn, u64),
    now: Instant,
) {
    let (highest, bytes) = lost;
    let outstanding = association.sender.highest_outstanding(path);
    let exit = outstanding.map_or(highest, |outstanding| outstanding.max(highest));
    let rate = match association.config.policies.recovery {
        RecoveryChoice::Window(_) => None,
        // The facts are still those before the loss.
        RecoveryChoice::Proportional(_) => {
            Some(ProportionalRate::begin(association.paths.fact(path).in_flight))
        }
    };
    association.paths.path_mut(path).recovery = Some(Recovery { exit, rate });
    association.paths.fact_mut(path).in_recovery = true;
    let event = LossEvent {
        path,
        cause: LossCause::FastRetransmit,
        bytes,
    };
    association.tell_loss(&event, now);
}

/// Fast recovery of a path ends when everything that was outstanding at its start is acknowledged: by the
/// cumulative TSN, or, since other paths may hold that back, because nothing up to the exit point is outstanding
/// on this path or was lost there and waits to be sent again (per-path recovery of CMT).
fn leave_recovery(association: &mut Association, path: PathId) {
    let Some(Recovery { exit, .. }) = association.paths.path(path).recovery else {
        return;
    };
    let sender = &association.sender;
    let passed = sender.cumulative() >= exit
        || (sender
            .earliest_outstanding(path)
            .is_none_or(|(tsn, _)| tsn > exit)
            && sender.first_lost(path).is_none_or(|tsn| tsn > exit));
    if passed {
        association.paths.path_mut(path).recovery = None;
        association.paths.path_mut(path).retransmission_credit = false;
        association.paths.fact_mut(path).in_recovery = false;
    }
}

/// What recovering paths may send until the next SACK.
fn reduce_rates(association: &mut Association) {
    let Association { sender, paths, .. } = association;
    for ack in sender.path_acks() {
        let (facts, path) = paths.both_mut(ack.path);
        let recovery = path.recovery.as_mut();
        if let Some(rate) = recovery.and_then(|recovery| recovery.rate.as_mut()) {
            rate.on_ack(ack, facts);
        }
    }
}
