//! Acknowledgement processing (RFC 9260 §6.2.1). What does a SACK change? RTT estimates, congestion windows, losses, buffer space.
//!
//! The sender's scoreboard turns the SACK into one [`PathAck`] for each path. All later steps read only these, so the cost follows
//! what the SACK changed and not the number of outstanding chunks.
//!
//! The order matters. RTT samples and error counters are updated before the policies run, which read both in the facts. Losses are
//! looked for after the congestion control has seen the acknowledgement: RFC 9260 §7.2.4 applies the growth of §7.2.1 and §7.2.2
//! before a reduction. Timers come last, because they depend on what is still outstanding (§6.3.2).

use core::mem;

use anabranch_policy::{AckSample, PathAck};
use anabranch_types::{Instant, IntervalSet, PathId, Tsn, UnwrappedTsn};
use anabranch_wire::{GapBlock, NrSack, Sack, SackError, ValidSack};

use super::{Effects, Transfer, follow_bottlenecks};
use crate::violation::Violation;

impl Transfer {
    //= rfc9260 6-5
    /// Processes a SACK that arrived over `path`.
    ///
    /// # Errors
    /// The SACK acknowledges a TSN that was never sent.
    #[inline]
    pub(crate) fn on_sack(
        &mut self,
        now: Instant,
        path: PathId,
        sack: &Sack<'_>,
    ) -> Result<Effects, Violation> {
        self.sample_sack(now, path, sack.cumulative, sack.gap_blocks());
        let scratch = self.take_sack_scratch();
        let (known, next) = (self.sender.cumulative(), self.sender.next_tsn());
        let sack = ValidSack::parse(sack, known, next, scratch);
        self.apply_sack(now, path, sack)
    }

    /// Processes an NR-SACK that arrived over `path`. Its non-renegable blocks list TSNs that the receiver will not discard.
    ///
    /// # Errors
    /// The NR-SACK acknowledges a TSN that was never sent.
    pub(crate) fn on_nr_sack(
        &mut self,
        now: Instant,
        path: PathId,
        sack: &NrSack<'_>,
    ) -> Result<Effects, Violation> {
        let blocks = sack.gap_blocks().chain(sack.non_renegable_blocks());
        self.sample_sack(now, path, sack.cumulative, blocks);
        let scratch = self.take_sack_scratch();
        let (known, next) = (self.sender.cumulative(), self.sender.next_tsn());
        let sack = ValidSack::parse_nr(sack, known, next, scratch);
        self.apply_sack(now, path, sack)
    }

    //= rfc9260 12.4-5
    fn apply_sack(
        &mut self,
        now: Instant,
        path: PathId,
        sack: Result<ValidSack, SackError>,
    ) -> Result<Effects, Violation> {
        let sack = match sack {
            Ok(sack) => sack,
            // A later SACK arrived first. Gap ack blocks and a_rwnd of this one are out of date (RFC 9260 §6.2.1 D i).
            Err(SackError::Stale) => return Ok(Effects::default()),
            // It may be a late one with TSNs of before they restarted (RFC 6525 §5.2.4).
            Err(SackError::AcksUnsent) if self.sender.is_renumbered() => return Ok(Effects::default()),
            Err(SackError::AcksUnsent) => {
                return Err(Violation::Protocol("SACK acknowledges what was never sent"));
            }
        };
        let truncated = self.may_be_truncated(path, &sack, now);
        let scheduler = &mut *self.policies.stream_scheduler;
        let outcome = self.sender.on_sack(&sack, scheduler, now);
        let counters = self.counters.make_mut();
        counters.received += 1;
        counters.chunks_reneged += u64::from(outcome.reneged);
        // Unless agreed, the flags mean nothing (RFC 9260 §3.3.4).
        let packet_count = sack.packet_count.filter(|_| self.packet_counts);
        let is_news = outcome.cumulative_advanced || has_news(self.sender.path_acks());
        // One that was overtaken reports less than the last one.
        let repeats_the_last = !is_news && outcome.reneged == 0 && !outcome.retains_unreported;
        if let Some(truncated) = truncated.filter(|_| repeats_the_last) {
            self.note_unreported(path, truncated, packet_count.unwrap_or(1), now);
        }
        let effects = self.process_ack(now, path, outcome.cumulative_advanced, packet_count);
        if let Some(scratch) = &mut self.sack_scratch {
            **scratch = [sack.blocks, sack.kept];
        }
        Ok(effects)
    }

    /// Takes the sets of the last SACK for their memory.
    fn take_sack_scratch(&mut self) -> [IntervalSet; 2] {
        mem::take(self.sack_scratch.get_or_insert_default())
    }

    //= rfc9260 3.3.8-2
    /// Processes the cumulative TSN of a SHUTDOWN, which acknowledges like a SACK without gap ack blocks (RFC 9260 §9.2).
    ///
    /// A TSN outside of those sent is ignored rather than a violation: pion and its descendants write one of their own TSNs into
    /// this field, and their SACKs acknowledge the data all the same.
    pub(crate) fn on_cumulative(&mut self, now: Instant, path: PathId, cumulative: Tsn) -> Effects {
        let sender = &mut self.sender;
        let cumulative = sender.cumulative().nearest(cumulative);
        if cumulative < sender.cumulative() || cumulative >= sender.next_tsn() {
            return Effects::default();
        }
        let scheduler = &mut *self.policies.stream_scheduler;
        let outcome = sender.on_cumulative(cumulative, scheduler);
        self.process_ack(now, path, outcome.cumulative_advanced, None)
    }

    //= rfc9260 7.2.4-7
    /// Carries out all that follows from the path acks of the scoreboard, in the order that the overview of this file explains.
    fn process_ack(
        &mut self,
        now: Instant,
        arrived_on: PathId,
        cumulative_advanced: bool,
        packet_count: Option<u8>,
    ) -> Effects {
        self.measure(arrived_on, now);
        let mut effects = self.note_signs_of_life(now);
        let sample = AckSample {
            cumulative: self.sender.cumulative(),
            cumulative_advanced,
            arrived_on,
            packet_count,
            paths: self.sender.path_acks(),
        };
        let detection = &mut *self.policies.shared_bottleneck;
        if detection.detects() && detection.on_ack(&sample, self.paths.facts(), now) {
            follow_bottlenecks(&mut self.paths, &mut self.policies);
        }
        let facts = self.paths.facts();
        self.policies.congestion.on_ack(&sample, facts, now);
        self.policies.loss.on_ack(&sample, facts, now);
        self.policies.path_scheduler.on_ack(&sample, facts, now);
        effects.append(self.find_losses(now));
        effects.append(self.suspect_the_silent(arrived_on, now));
        let acknowledged = cumulative_advanced || has_news(self.sender.path_acks());
        if acknowledged {
            self.note_progress();
        }
        self.forward_after_sack(now);
        self.window_probe_answered(acknowledged, now);
        self.publish(now);
        self.size_send_buffer();
        self.reduce_rates();
        effects.is_acknowledged = true;
        effects
    }

    /// Newly acknowledged data clears the error counters of its path and of the peer (RFC 9260 §8.1, §8.2).
    fn note_signs_of_life(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        for index in 0..self.sender.path_acks().len() {
            let PathAck {
                path,
                newly_acked,
                rtt_sample,
                ..
            } = self.sender.path_acks()[index];
            if newly_acked > 0 {
                effects.append(self.acknowledged(path, rtt_sample, now));
            }
        }
        effects
    }

    /// Takes an RTT sample of the path that the SACK arrived over, if the policy waits for one. This comes before the SACK is
    /// checked for being out of date: an old SACK has also taken the time of its path.
    fn sample_sack(
        &mut self,
        now: Instant,
        path: PathId,
        cumulative: Tsn,
        blocks: impl Iterator<Item = GapBlock> + Clone,
    ) {
        let cumulative = self.sender.cumulative().nearest(cumulative);
        let reports = |tsn: UnwrappedTsn| {
            let reaches = |block: GapBlock| {
                let (first, last) = (u64::from(block.start), u64::from(block.end));
                cumulative + first <= tsn && tsn <= cumulative + last
            };
            tsn <= cumulative || blocks.clone().any(reaches)
        };
        let facts = self.paths.fact(path);
        if let Some(sent_at) = self.policies.rtt_samples.on_sack(facts, &reports, now) {
            self.paths.rtt_sample(path, sent_at, now);
        }
    }

    /// Takes an RTT sample for each path with acknowledged chunks (RFC 9260 §6.3.1), and notes when and how much was delivered there.
    fn measure(&mut self, arrived_on: PathId, now: Instant) {
        let Self {
            sender,
            paths,
            policies,
            ..
        } = self;
        for ack in sender.path_acks() {
            let samples = &mut policies.rtt_samples;
            if let Some(sent_at) = samples.on_ack(ack, paths.fact(ack.path), arrived_on, now) {
                paths.rtt_sample(ack.path, sent_at, now);
            }
            if ack.newly_acked > 0 {
                paths.chunks_arrived(ack.path, ack.newly_acked_chunks);
                let path = paths.path_mut(ack.path);
                path.acked_at = Some(now);
                path.carried_packets(now);
                // After a timeout one packet may be in flight until it is acknowledged (RFC 9260 §7.2.1, §7.2.3), and this one is.
                // T3 is stopped so that it starts again for the next chunks without the back-off of this packet (§6.3.2).
                if let Some(sending) = path.sending.active_mut() {
                    if mem::take(&mut sending.one_at_a_time) {
                        sending.t3.stop();
                    }
                    sending.tail_probe.settle();
                }
            }
        }
    }

    /// Updates how much paths in fast recovery may send until the next SACK: in proportion to what was delivered (RFC 9937).
    fn reduce_rates(&mut self) {
        let Self { sender, paths, .. } = self;
        for ack in sender.path_acks() {
            let (facts, path) = paths.both_mut(ack.path);
            let recovery = path
                .sending
                .active_mut()
                .and_then(|sending| sending.recovery.as_mut());
            if let Some(rate) = recovery.and_then(|recovery| recovery.rate_mut()) {
                rate.on_ack(ack, facts);
            }
        }
    }
}

fn has_news(path_acks: &[PathAck]) -> bool {
    path_acks.iter().any(|ack| ack.newly_acked > 0)
}
