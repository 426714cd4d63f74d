//! Writing of a packet's data: retransmissions, new chunks, duplicates and probes, as planned.
//!
//! A chunk is registered with the scoreboard as it is written, so the scoreboard always matches what was sent.

use core::mem;

use anabranch_policy::SentPacket;
use anabranch_types::{Instant, PathId, UnwrappedTsn};
use anabranch_wire::{CommonHeader, PacketBuilder};

use super::plan::DataPlan;
use super::{Effects, Transfer};
use crate::send::Ahead;
use crate::user_data::UserData;

/// Start and limit of new data.
struct NewData {
    path: PathId,
    /// Bytes of chunks to skip.
    skip: u64,
    sendable: u64,
    /// Whether only redundant streams are meant.
    urgent: bool,
}

impl Transfer {
    /// Writes the planned data of a packet, and updates the timers of its path.
    pub(crate) fn write_data(
        &mut self,
        path: PathId,
        data: DataPlan,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) -> Effects {
        self.write_planned(path, data, packet, now);
        let effects = self.search_mtu(now);
        self.commit_data(path, now);
        effects
    }

    /// Writes the planned data of a packet.
    pub(super) fn write_planned(
        &mut self,
        path: PathId,
        data: DataPlan,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) {
        let before = packet.len();
        self.decay_window_if_idle(path, now);
        self.sender.begin_packet();
        self.sender.set_went_first(data == DataPlan::Urgent);
        match data {
            DataPlan::Retransmit { tsn, credit: true } => self.write_on_credit(tsn, path, packet, now),
            DataPlan::Retransmit { tsn, credit: false } => {
                let sendable = self.paths.fact(path).sendable;
                let sendable = self.write_lost(tsn, (path, sendable), packet, now);
                self.write_new(
                    NewData {
                        path,
                        skip: 0,
                        sendable,
                        urgent: false,
                    },
                    packet,
                    now,
                );
            }
            DataPlan::New { skip } => self.write_unblocked(path, skip, packet, now),
            DataPlan::Urgent => {
                let sendable = self.paths.fact(path).sendable;
                let urgent = NewData {
                    path,
                    skip: 0,
                    sendable,
                    urgent: true,
                };
                self.write_new(urgent, packet, now);
            }
            DataPlan::Reschedule => self.write_unblocked(path, 0, packet, now),
            DataPlan::TailProbe { new } => self.write_tail_probe(path, new, packet, now),
            DataPlan::Duplicates => self.write_duplicates(path, packet, now),
        }
        self.policies.stream_scheduler.on_packet_end();
        self.tell_burst(path, packet.len() - before, now);
    }

    /// Tells the burst policy of a packet with `chunks` bytes of data. Packets without data are not paced (RFC 9002 §7.7), and SACKs beside
    /// data do not count. Those for a fast peer would use up the tokens that the small window of this end makes. Its data would
    /// then never be sent.
    fn tell_burst(&mut self, path: PathId, chunks: usize, now: Instant) {
        if chunks > 0 {
            let bytes = (CommonHeader::LEN + chunks) as u64 + u64::from(self.paths.reserved());
            self.policies.burst.on_sent(path, bytes, now);
        }
    }

    //= rfc9260 7.2.4-4, 7.2.4-5
    /// Writes the first packet of a fast retransmit, which ignores cwnd and carries the earliest lost chunks that fit (RFC 9260
    /// §7.2.4 step 3).
    fn write_on_credit(
        &mut self,
        tsn: UnwrappedTsn,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) {
        let sendable = packet.room() as u64;
        // The policy sees the credit, too, so that it selects this path.
        self.paths.fact_mut(path).sendable = sendable;
        self.write_lost(tsn, (path, sendable), packet, now);
        self.paths.fact_mut(path).sendable = 0;
    }

    //= rfc9260 6.10-4
    /// Writes lost chunks from `tsn` on while they fit and the policy selects this path. Returns the bytes left for other data; 0
    /// while further lost chunks wait for this path.
    fn write_lost(
        &mut self,
        tsn: UnwrappedTsn,
        (path, mut sendable): (PathId, u64),
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) -> u64 {
        let mut next = Some(tsn);
        while let Some(tsn) = next.filter(|_| sendable > 0) {
            let Some(sent) = self.write_lost_chunk(tsn, path, packet, now) else {
                return 0;
            };
            sendable = sendable.saturating_sub(sent);
            next = self.next_lost_for(tsn, path);
        }
        if next.is_some() { 0 } else { sendable }
    }

    /// Writes rescheduled chunks of other paths that block the buffers, then new data.
    fn write_unblocked(&mut self, path: PathId, skip: u64, packet: &mut PacketBuilder<'_>, now: Instant) {
        let sendable = self.paths.fact(path).sendable;
        let sendable = sendable.saturating_sub(self.write_rescheduled(path, packet, now));
        let new = NewData {
            path,
            skip,
            sendable,
            urgent: false,
        };
        self.write_new(new, packet, now);
    }

    /// Writes a tail loss probe. If it does not fit beside control chunks, it stays due.
    fn write_tail_probe(&mut self, path: PathId, new: bool, packet: &mut PacketBuilder<'_>, now: Instant) {
        let (before, stands_alone) = (packet.len(), packet.is_empty());
        if new {
            let sendable = self.paths.fact(path).sendable;
            self.write_new(
                NewData {
                    path,
                    skip: 0,
                    sendable,
                    urgent: false,
                },
                packet,
                now,
            );
        } else {
            self.write_tail(path, packet, now);
        }
        if packet.len() > before || stands_alone {
            let machinery = self.paths.path_mut(path);
            machinery.sending.make_mut().tail_probe.leave();
            machinery.counters.rare().tail_probes += 1;
        }
    }

    /// The next lost chunk after `tsn`, if the policy selects the same path for it.
    fn next_lost_for(&mut self, tsn: UnwrappedTsn, path: PathId) -> Option<UnwrappedTsn> {
        let chunk = self.sender.lost_after(tsn)?;
        let wanted = self.policies.retransmission.path_for(&chunk, self.paths.facts());
        (wanted == Some(path)).then_some(chunk.tsn)
    }

    fn write_lost_chunk(
        &mut self,
        tsn: UnwrappedTsn,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
    ) -> Option<u64> {
        let lost = self.sender.lost_chunk(tsn)?;
        if lost.bytes > packet.room() as u64 || !self.sender.admits_again(tsn) {
            return None;
        }
        let chunk = self.sender.send_again(tsn, path, now);
        let payload = chunk.payload().len() as u64;
        push_data(packet, &chunk);
        let machinery = self.paths.path_mut(path);
        machinery.sending.make_mut().retransmission_credit = false;
        machinery.counters.rare().payload_retransmitted += payload;
        self.paths.fact_mut(path).sent_chunks += 1;
        if lost.lost_on != path && self.paths.contains(lost.lost_on) {
            self.follow_path(lost.lost_on, now);
        }
        Some(lost.bytes)
    }

    /// Retransmits the highest chunk in flight on `path`, if it fits beside control chunks.
    fn write_tail(&mut self, path: PathId, packet: &mut PacketBuilder<'_>, now: Instant) {
        let fits = |bytes: u64| bytes <= packet.room() as u64;
        if !self.sender.tail_bytes(path).is_some_and(fits) {
            return;
        }
        let Some(chunk) = self.sender.probe_tail(path, now) else {
            return;
        };
        let payload = chunk.payload().len() as u64;
        push_data(packet, &chunk);
        self.paths.path_mut(path).counters.rare().payload_retransmitted += payload;
        self.paths.fact_mut(path).sent_chunks += 1;
    }

    fn write_new(&mut self, new: NewData, packet: &mut PacketBuilder<'_>, now: Instant) {
        let NewData {
            path,
            skip,
            mut sendable,
            urgent,
        } = new;
        let fragment_at = self.fragment_at(path);
        let ahead = Ahead {
            path,
            skip,
            fragment_at,
        };
        let scheduler = &mut *self.policies.stream_scheduler;
        let sender = &mut self.sender;
        let (mut payload, mut chunks) = (0, 0);
        let is_window_probe = sender.window_is_shut();
        let mut probe = self.policies.rtt_samples.wants_probe(self.paths.fact(path), now);
        while sendable > 0 {
            let chunk = if urgent {
                sender.send_urgent(path, packet.room(), fragment_at, scheduler, now)
            } else if skip == 0 && !sender.has_passed_over() {
                sender.send_new(path, packet.room(), fragment_at, scheduler, now)
            } else {
                sender.send_ahead(ahead, packet.room(), scheduler, now)
            };
            let Some(mut chunk) = chunk else { break };
            payload += chunk.payload().len() as u64;
            chunks += 1;
            sendable = sendable.saturating_sub(chunk.padded_len());
            if probe {
                chunk = chunk.urging();
            }
            push_data(packet, &chunk);
            if mem::take(&mut probe) {
                sender.last_was_probe();
                let facts = self.paths.fact(path);
                self.policies.rtt_samples.on_probe_sent(facts, now);
            }
        }
        if payload > 0 {
            if is_window_probe {
                self.window_probe.leave();
            }
            self.policies.path_scheduler.on_sent(path, payload, now);
        }
        self.paths.path_mut(path).counters.payload_sent += payload;
        self.paths.fact_mut(path).sent_chunks += chunks;
    }

    //= rfc9260 6.1-9, 7.1-1, 7.2.1-10, 7.2.2-3
    //= rfc7829 3.2-18
    /// Reduces the window of a path that has been idle (RFC 9260 §7.2.1).
    fn decay_window_if_idle(&mut self, path: PathId, now: Instant) {
        let facts = self.paths.fact(path);
        let Some(last) = self.paths.path(path).data_sent_at else {
            return;
        };
        let idle = now - last;
        if facts.in_flight == 0 && idle > facts.rto() {
            self.policies.congestion.on_idle(facts, idle);
            self.publish_windows();
        }
    }

    /// Updates facts and timers of the path after data was written.
    pub(super) fn commit_data(&mut self, path: PathId, now: Instant) {
        // Set before the timers are updated: the time of a tail loss probe counts from this transmission.
        self.paths.path_mut(path).data_sent_at = Some(now);
        let before = self.paths.fact(path).in_flight;
        self.follow_path(path, now);
        let sent = self.paths.fact(path).in_flight.saturating_sub(before);
        if self.policies.measures_rates {
            self.tell_sent(path, before, sent, now);
        }
        let recovery = self.paths.path_mut(path).sending.make_mut().recovery.as_mut();
        if let Some(rate) = recovery.and_then(|recovery| recovery.rate_mut()) {
            rate.on_sent(sent);
        }
    }
}

impl Transfer {
    /// Notifies a congestion control that measures rates of a packet with `bytes` of chunks.
    fn tell_sent(&mut self, path: PathId, in_flight_before: u64, bytes: u64, now: Instant) {
        let sent = SentPacket {
            bytes,
            in_flight_before,
            last: self.sender.last_send_number(path),
        };
        let facts = self.paths.fact(path);
        self.policies.congestion.on_sent(&sent, facts, now);
        // After a pause, the window and the rate may be others.
        if in_flight_before == 0 {
            self.publish_windows();
        }
    }
}

pub(super) fn push_data(packet: &mut PacketBuilder<'_>, chunk: &UserData<'_>) {
    let pushed = packet.push(chunk);
    debug_assert!(pushed.is_ok(), "the sender was told the room");
}
