//! Packet output. A packet is planned and written, then further packets of equal length for the same path.
//!
//! [`plan`] decides; [`packet`] writes the packet and commits each chunk. [`Transfer`](crate::transfer::Transfer) selects the data.

mod authenticated;
mod packet;
mod plan;

pub(crate) use authenticated::authenticate;

use alloc::vec::Vec;

use anabranch_types::{ChannelId, Ecn, Instant, PathAddr, PathId};
use anabranch_wire::CommonHeader;

use crate::association::{Association, Events, Owed, shutdown};
use crate::reconfig::Reconfig;
use crate::transfer::{Batch, DataPlan, Effects, Transfer};

use plan::{Lead, Parts, TransmitPlan};

/// Maximum length of a batch in bytes: as much as one UDP datagram can carry.
const MAX_BATCH: usize = 65_000;

/// Packets to send: `size` bytes in the buffer, for one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Source (`local`) and destination (`remote`).
    pub path: PathAddr,
    /// The channel of the layer below SCTP.
    pub channel: ChannelId,
    /// The ECN bits of the IP header.
    pub ecn: Ecn,
    /// Bytes written, of all packets together.
    pub size: usize,
    /// With several packets, the size of each except the last, which may be shorter (generic segmentation offload).
    pub segment_size: Option<usize>,
    /// Whether IP may fragment the packet, because it is larger than the known path MTU (RFC 9260 §6.9). If not, the don't-fragment
    /// bit has to be set.
    pub may_fragment: bool,
}

impl Transmit {
    /// One packet of `size` bytes that is not ECN-capable and must not be fragmented.
    pub(crate) const fn one(channel: ChannelId, path: PathAddr, size: usize) -> Self {
        Self {
            path,
            channel,
            ecn: Ecn::NotCapable,
            size,
            segment_size: None,
            may_fragment: false,
        }
    }
}

impl Association {
    /// Appends the next packets, all for one path, to `buffer`, without the AUTH chunks of [`authenticate`].
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        max_segments: usize,
    ) -> Option<Transmit> {
        let has_rare_step = self.state.is_shutdown_due()
            || self.addresses.needs_advance()
            || self.reconfig.is_some()
            || self.transfer.abandons()
            || self.control.has_final_chunk()
            || self.addresses.has_repeated();
        if has_rare_step && let Some(transmit) = self.take_rare_step(now, buffer) {
            return Some(transmit);
        }
        let (plan, first) = loop {
            let header = packet::header(self, self.peer.tag);
            let may_probe = !self.control.is_waiting();
            if let Some((path, size)) = self.transfer.write_unplanned(header, buffer, may_probe, now) {
                return Some(transmit(self, path, size));
            }
            let others = (&self.addresses, self.reconfig.as_deref());
            let parts = Parts::new(&self.state, &self.control, others, &mut self.transfer);
            let Some(plan) = plan::next(parts, None, now) else {
                self.transfer.policies.path_scheduler.on_round();
                return None;
            };
            let limit = limit(self, &plan);
            let written = packet::write(self, &plan, limit, buffer, now);
            if written > 0 && plan.oversize.is_some() && self.transfer.splits_chunks() {
                let packet = buffer.split_off(buffer.len() - written);
                self.transfer.divide(plan.path, &packet);
                continue;
            }
            if written > 0 {
                break (plan, written);
            }
            if !plan.has_control && !was_rescheduled(&plan, &self.transfer) {
                return None;
            }
        };
        let size = first + more_for_the_same_path(self, &plan, first, max_segments, buffer, now);
        self.events.push_low_streams(&mut self.transfer.sender);
        Some(Transmit {
            segment_size: (size > first).then_some(first),
            may_fragment: first > usize::from(self.transfer.paths.fact(plan.path).max_packet),
            ecn: self.transfer.codepoint(plan.is_new_data()),
            ..transmit(self, plan.path, size)
        })
    }

    /// What comes before the plan of a packet and is rare: the shutdown, changes of addresses and streams, abandoned messages, and
    /// packets that no plan makes.
    #[cold]
    fn take_rare_step(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.state.is_shutdown_due() {
            let (state, control) = (&mut self.state, &mut self.control);
            shutdown::advance(state, control, &mut self.transfer, self.config.rto().max, now);
        }
        if self.addresses.needs_advance() && self.state.changes_addresses() {
            let effects = self.addresses.advance(&mut self.transfer, now);
            self.apply(effects);
        }
        if self.reconfig.is_some() || self.transfer.abandons() {
            let told = (&mut self.owed, &mut self.events);
            let effects = advance_streams(self.reconfig.as_deref_mut(), &mut self.transfer, told, now);
            self.apply(effects);
        }
        if let Some(chunk) = self.control.take_final_chunk() {
            let (path, size) = packet::final_chunk(self, chunk, buffer);
            return Some(transmit(self, path, size));
        }
        let (path, answer) = self.addresses.take_repeated()?;
        let size = packet::repeated_answer(self, &answer, buffer)?;
        Some(Transmit::one(self.channel, path, size))
    }
}

//= rfc6951 5.3-1, 5.3-2
/// Describes one packet of `size` bytes on `path`.
#[inline]
fn transmit(association: &Association, path: PathId, size: usize) -> Transmit {
    let addr = association.transfer.paths.path(path).addr;
    Transmit::one(association.channel, addr, size)
}

//= rfc9260 6.9-7
/// Maximum length of the packet.
///
/// A fragment cannot be fragmented again when the path MTU falls, so IP has to fragment its packet (RFC 9260 §6.9). A cookie cannot
/// be divided either; to an unconfirmed address it is sent only if it fits (RFC 9260 §5.4).
fn limit(association: &Association, plan: &TransmitPlan) -> usize {
    let transfer = &association.transfer;
    let usual = usize::from(transfer.paths.fact(plan.path).max_packet);
    if let Some(Lead::Init | Lead::CookieEcho) = plan.lead
        && plan.data.is_none()
        && association.addresses.is_proven(&transfer.paths, plan.path)
    {
        return usual.max(transfer.largest_packet(plan.path));
    }
    plan.oversize
        .map_or(usual, |chunk| usual.max(CommonHeader::LEN + chunk))
}

/// Whether the packets of both plans have the same ECN bits.
fn is_marked_alike(association: &Association, plan: &TransmitPlan, other: &TransmitPlan) -> bool {
    let transfer = &association.transfer;
    !transfer.marks.is_agreed
        || transfer.codepoint(plan.is_new_data()) == transfer.codepoint(other.is_new_data())
}

/// Abandons messages whose limits are reached, and performs changes of streams that waited for data.
fn advance_streams(
    reconfig: Option<&mut Reconfig>,
    transfer: &mut Transfer,
    (owed, events): (&mut Owed, &mut Events),
    now: Instant,
) -> Effects {
    let effects = if transfer.abandons() {
        transfer.abandon(now)
    } else {
        Effects::default()
    };
    if let Some(reconfig) = reconfig {
        reconfig.advance(transfer, events);
        owed.tell_readable(&transfer.receiver, events);
    }
    effects
}

/// Whether a chunk was rescheduled but did not fit: it is queued for retransmission now.
fn was_rescheduled(plan: &TransmitPlan, transfer: &Transfer) -> bool {
    plan.data == Some(DataPlan::Reschedule) && transfer.sender.next_lost().is_some()
}

/// Appends further data packets while they are for the same path and of equal length.
///
/// Many path schedulers would select the other path as soon as this one has a packet more. They are not asked: new data stays on the path
/// of the new data before it for as long as that takes little of a round trip (ADR 0196).
fn more_for_the_same_path(
    association: &mut Association,
    first_plan: &TransmitPlan,
    segment: usize,
    max_segments: usize,
    buffer: &mut Vec<u8>,
    now: Instant,
) -> usize {
    if max_segments <= 1 {
        return 0;
    }
    let most = max_segments.min(MAX_BATCH / (segment + usize::from(association.transfer.paths.reserved())));
    let mut size = 0;
    for _ in 1..most {
        if first_plan.lead.is_some() || first_plan.oversize.is_some() {
            break;
        }
        let (state, control) = (&association.state, &association.control);
        let others = (&association.addresses, association.reconfig.as_deref());
        let parts = Parts::new(state, control, others, &mut association.transfer);
        let batch = first_plan.is_next_data().then(|| Batch {
            path: first_plan.path,
            bytes: (segment + size + segment) as u64,
        });
        let Some(plan) = plan::next(parts, batch, now) else {
            break;
        };
        if plan.path != first_plan.path
            || !plan.is_plain()
            || !is_marked_alike(association, &plan, first_plan)
        {
            break;
        }
        let written = packet::write(association, &plan, segment, buffer, now);
        size += written;
        if written < segment {
            break;
        }
    }
    size
}
