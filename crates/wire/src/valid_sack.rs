//! Validated SACKs and NR-SACKs: sorted, disjoint blocks of TSNs that were really sent.

use alloc::vec::Vec;

use anabranch_types::{IntervalSet, Tsn, UnwrappedTsn};
use thiserror::Error;

use crate::{GapBlock, NrSack, Sack};

/// A validated SACK: it acknowledges nothing that was not sent, and its cumulative TSN does not go back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValidSack {
    /// Cumulative TSN Ack, at least the ack point it was validated against.
    pub cumulative: UnwrappedTsn,
    /// Advertised receiver window (a_rwnd) in bytes, from which what is in flight is not subtracted yet.
    pub a_rwnd: u32,
    /// How many packets it acknowledges; see [`Sack::packet_count`].
    pub packet_count: Option<u8>,
    /// TSNs received above the cumulative TSN: [`UnwrappedTsn`] numbers, all after `cumulative` and before the next TSN to be
    /// sent.
    pub blocks: IntervalSet,
    /// The non-renegable part of `blocks`; empty in a plain SACK.
    pub kept: IntervalSet,
    /// How many duplicates the receiver reports.
    pub duplicates: u32,
}

/// Why a well-formed SACK is not valid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum SackError {
    /// Its cumulative TSN lies before one already acknowledged: an old SACK that was overtaken. RFC 9260
    /// §6.2.1 D i: drop it.
    #[error("older than what is already acknowledged")]
    Stale,
    /// It acknowledges a TSN that was never sent, by its cumulative TSN or by a block.
    #[error("acknowledges what was never sent")]
    AcksUnsent,
}

impl ValidSack {
    /// Checks `sack` against what is acknowledged up to now and against `next_tsn`, the first TSN not yet
    /// sent.
    ///
    /// Blocks may come in any order, overlap or touch; blocks that are empty, reversed or begin at the
    /// cumulative TSN itself say nothing and are left out. Costs one step per block if they come in ascending
    /// order, as honest receivers send them, and a sort otherwise. `reuse` gives its allocations to the result.
    ///
    /// # Errors
    /// [`SackError::Stale`] or [`SackError::AcksUnsent`]; the SACK as a whole is then without effect.
    pub fn parse(
        sack: &Sack<'_>,
        cumulative_ack_point: UnwrappedTsn,
        next_tsn: UnwrappedTsn,
        reuse: [IntervalSet; 2],
    ) -> Result<Self, SackError> {
        let cumulative = credible(sack.cumulative, cumulative_ack_point, next_tsn)?;
        let [for_blocks, mut kept] = reuse;
        let blocks = set(sack.gap_blocks(), cumulative, next_tsn, for_blocks)?;
        kept.clear();
        Ok(Self {
            cumulative,
            a_rwnd: sack.a_rwnd,
            packet_count: sack.packet_count(),
            blocks,
            kept,
            duplicates: sack.duplicates().len() as u32,
        })
    }

    /// Like [`Self::parse`], for an NR-SACK: the blocks of both lists have arrived.
    ///
    /// # Errors
    /// As [`ValidSack::parse`].
    pub fn parse_nr(
        sack: &NrSack<'_>,
        cumulative_ack_point: UnwrappedTsn,
        next_tsn: UnwrappedTsn,
        reuse: [IntervalSet; 2],
    ) -> Result<Self, SackError> {
        let cumulative = credible(sack.cumulative, cumulative_ack_point, next_tsn)?;
        let (renegable, non_renegable) = (sack.gap_blocks(), sack.non_renegable_blocks());
        let [mut blocks, for_kept] = reuse;
        let kept = set(non_renegable.clone(), cumulative, next_tsn, for_kept)?;
        if renegable.len() == 0 {
            blocks.assign_ascending(kept.iter());
        } else {
            blocks = set(renegable.chain(non_renegable), cumulative, next_tsn, blocks)?;
        }
        Ok(Self {
            cumulative,
            a_rwnd: sack.a_rwnd,
            packet_count: sack.packet_count(),
            blocks,
            kept,
            duplicates: sack.duplicates().len() as u32,
        })
    }
}

/// The cumulative TSN, if it lies between what is acknowledged and what was sent.
fn credible(
    cumulative: Tsn,
    cumulative_ack_point: UnwrappedTsn,
    next_tsn: UnwrappedTsn,
) -> Result<UnwrappedTsn, SackError> {
    let cumulative = cumulative_ack_point.nearest(cumulative);
    // RFC 9260 §6.2.1 D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK
    // chunk."
    if cumulative < cumulative_ack_point {
        return Err(SackError::Stale);
    }
    if cumulative >= next_tsn {
        return Err(SackError::AcksUnsent);
    }
    Ok(cumulative)
}

/// The blocks as one set of unwrapped TSNs, if all of them were sent.
fn set(
    blocks: impl Iterator<Item = GapBlock> + Clone,
    cumulative: UnwrappedTsn,
    next_tsn: UnwrappedTsn,
    mut set: IntervalSet,
) -> Result<IntervalSet, SackError> {
    let Some(highest) = highest_if_tidy(blocks.clone()) else {
        let honest = meaningful(blocks, cumulative, next_tsn)?;
        return Ok(absolute(honest, cumulative, set));
    };
    if cumulative + u64::from(highest) >= next_tsn {
        return Err(SackError::AcksUnsent);
    }
    let first = cumulative.0;
    set.assign_ascending(
        blocks.map(|block| first + u64::from(block.start)..first + u64::from(block.end) + 1),
    );
    Ok(set)
}

/// The highest offset of blocks in the form that honest receivers give them: not empty, ascending, with gaps between them. 0 if
/// there are none, `None` if they have another form.
fn highest_if_tidy(blocks: impl Iterator<Item = GapBlock>) -> Option<u32> {
    // The least offset at which the next one may begin.
    let mut floor = 1;
    let mut is_tidy = true;
    for block in blocks {
        is_tidy &= u32::from(block.start) >= floor && block.start <= block.end;
        floor = u32::from(block.end) + 2;
    }
    is_tidy.then(|| floor.saturating_sub(2))
}

/// The blocks that say anything, if all of them were sent.
fn meaningful(
    blocks: impl Iterator<Item = GapBlock> + Clone,
    cumulative: UnwrappedTsn,
    next_tsn: UnwrappedTsn,
) -> Result<impl Iterator<Item = GapBlock> + Clone, SackError> {
    let honest = blocks.filter(|block| 0 < block.start && block.start <= block.end);
    let is_unsent = |block: GapBlock| cumulative + u64::from(block.end) >= next_tsn;
    if honest.clone().any(is_unsent) {
        return Err(SackError::AcksUnsent);
    }
    Ok(honest)
}

/// The blocks as one set of unwrapped TSNs.
fn absolute(
    blocks: impl Iterator<Item = GapBlock> + Clone,
    cumulative: UnwrappedTsn,
    mut set: IntervalSet,
) -> IntervalSet {
    set.clear();
    let mut insert = |block: GapBlock| {
        let first = cumulative + u64::from(block.start);
        let last = cumulative + u64::from(block.end);
        set.insert(first.0..last.next().0);
    };
    if blocks.clone().is_sorted_by_key(|block| block.start) {
        blocks.for_each(insert);
    } else {
        // Inserting thousands of blocks in descending order would shift the whole set for each of them.
        let mut sorted: Vec<GapBlock> = blocks.collect();
        sorted.sort_unstable_by_key(|block| block.start);
        sorted.into_iter().for_each(&mut insert);
    }
    set
}

#[cfg(test)]
mod tests;
