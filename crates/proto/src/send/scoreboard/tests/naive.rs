//! Naive model of the scoreboard, which examines every chunk for every answer.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use anabranch_policy::{Eligible, Late, LossCause, PathAck, SentOnce};
use anabranch_types::{Instant, PathId, SendNumber, UnwrappedTsn};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChunkState {
    Flying,
    Lost(LossCause),
    Acked,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) tsn: UnwrappedTsn,
    bytes: u64,
    pub(super) path: PathId,
    pub(super) state: ChunkState,
    pub(super) transmissions: u16,
    send_number: SendNumber,
    sent_at: Instant,
    /// When it joined the retransmissions of its path; `None` if it was not retransmitted.
    again: Option<u64>,
    timed_out: bool,
    reneged: bool,
    pub(super) kept: bool,
    moved: bool,
    first_path: PathId,
    paths: BTreeSet<PathId>,
    misses: u32,
}

#[derive(Debug)]
pub(super) struct Naive {
    pub(super) entries: Vec<Entry>,
    pub(super) next: UnwrappedTsn,
    transmissions: BTreeMap<PathId, u64>,
    /// The path that is removed, if any.
    pub(super) gone: Option<PathId>,
    clock: u64,
    /// The chunk of each path whose arrival in order is measured, and when it was first sent.
    followed: BTreeMap<PathId, (UnwrappedTsn, Instant)>,
}

impl Naive {
    pub(super) fn new(first: UnwrappedTsn) -> Self {
        Self {
            entries: Vec::new(),
            next: first,
            transmissions: BTreeMap::new(),
            gone: None,
            clock: 0,
            followed: BTreeMap::new(),
        }
    }

    pub(super) fn cumulative(&self) -> UnwrappedTsn {
        self.entries
            .first()
            .map_or(self.next, |entry| entry.tsn)
            .previous()
    }

    fn stamp(&mut self, path: PathId) -> SendNumber {
        let count = self.transmissions.entry(path).or_default();
        *count += 1;
        SendNumber(*count)
    }

    pub(super) fn send(&mut self, bytes: u64, path: PathId, now: Instant) {
        let send_number = self.stamp(path);
        self.followed.entry(path).or_insert((self.next, now));
        self.entries.push(Entry {
            tsn: self.next,
            bytes,
            path,
            state: ChunkState::Flying,
            transmissions: 1,
            send_number,
            sent_at: now,
            again: None,
            timed_out: false,
            reneged: false,
            kept: false,
            moved: false,
            first_path: path,
            paths: BTreeSet::from([path]),
            misses: 0,
        });
        self.next = self.next.next();
    }

    pub(super) fn send_again(&mut self, tsn: UnwrappedTsn, path: PathId, now: Instant, moves: bool) {
        self.clock += 1;
        let (clock, send_number) = (self.clock, self.stamp(path));
        let entry = self.entries.iter_mut().find(|entry| entry.tsn == tsn).unwrap();
        entry.moved |= moves && entry.path != path;
        entry.path = path;
        entry.paths.insert(path);
        entry.state = ChunkState::Flying;
        entry.transmissions += 1;
        entry.send_number = send_number;
        entry.sent_at = now;
        entry.again = Some(clock);
        entry.misses = 0;
    }

    pub(super) fn lose_all(&mut self, path: PathId) {
        for entry in self
            .entries
            .iter_mut()
            .filter(|entry| entry.path == path && entry.state == ChunkState::Flying)
        {
            entry.state = ChunkState::Lost(LossCause::Timeout);
            entry.timed_out = true;
        }
    }

    pub(super) fn flying(&self, path: PathId) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| entry.path == path && entry.state == ChunkState::Flying)
    }

    pub(super) fn in_flight(&self, path: PathId) -> u64 {
        self.flying(path).map(|entry| entry.bytes).sum()
    }

    pub(super) fn queued(&self, path: PathId) -> u64 {
        self.entries
            .iter()
            .filter(|entry| entry.path == path && !entry.kept)
            .map(|entry| entry.bytes)
            .sum()
    }

    pub(super) fn lost(&self) -> BTreeSet<UnwrappedTsn> {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.state, ChunkState::Lost(_)))
            .map(|entry| entry.tsn)
            .collect()
    }

    fn head_of_first(&self, path: PathId) -> Option<&Entry> {
        self.flying(path).find(|entry| entry.again.is_none())
    }

    fn head_of_again(&self, path: PathId) -> Option<&Entry> {
        self.flying(path)
            .filter(|entry| entry.again.is_some())
            .min_by_key(|entry| entry.again)
    }

    pub(super) fn earliest(&self, path: PathId) -> Option<(UnwrappedTsn, Instant)> {
        let heads = [self.head_of_first(path), self.head_of_again(path)]
            .into_iter()
            .flatten();
        heads.map(|entry| (entry.tsn, entry.sent_at)).min()
    }

    pub(super) fn oldest(&self) -> Option<(UnwrappedTsn, PathId, Instant, bool)> {
        let first = self
            .entries
            .first()
            .filter(|entry| entry.state == ChunkState::Flying)?;
        Some((first.tsn, first.path, first.sent_at, first.moved))
    }

    /// The changes by a SACK for each path, and how many chunks were reneged. Without `blocks` it says nothing about
    /// gaps, and what was reported before stays reported; so does what is not `heard`.
    pub(super) fn sack(
        &mut self,
        cumulative: UnwrappedTsn,
        blocks: Option<&BTreeSet<UnwrappedTsn>>,
        heard: impl Fn(UnwrappedTsn) -> bool,
        now: Instant,
    ) -> (Vec<PathAck>, u32) {
        let mut path_acks: BTreeMap<PathId, PathAck> = BTreeMap::new();
        let mut heads = BTreeSet::new();
        let paths: BTreeSet<PathId> = self.entries.iter().map(|entry| entry.path).collect();
        for &path in &paths {
            path_acks.insert(path, PathAck::new(path, self.in_flight(path)));
            heads.extend(self.head_of_first(path).map(|entry| entry.tsn));
            heads.extend(self.head_of_again(path).map(|entry| entry.tsn));
        }
        let mut reneged = 0;
        for entry in &mut self.entries {
            let by_cumulative = entry.tsn <= cumulative;
            let had = entry.state == ChunkState::Acked;
            let blocks = blocks.filter(|_| heard(entry.tsn) && !entry.kept);
            let has = by_cumulative || blocks.map_or(had, |blocks| blocks.contains(&entry.tsn));
            if has && !had {
                let headed = entry.state == ChunkState::Flying && heads.contains(&entry.tsn);
                entry.state = ChunkState::Acked;
                count(
                    path_acks.get_mut(&entry.path).unwrap(),
                    entry,
                    by_cumulative,
                    headed,
                );
            }
            if had && !has {
                reneged += 1;
                entry.reneged = true;
                if self.gone == Some(entry.path) {
                    entry.state = ChunkState::Lost(LossCause::Timeout);
                    continue;
                }
                self.clock += 1;
                entry.state = ChunkState::Flying;
                entry.sent_at = now;
                entry.send_number = SendNumber(self.transmissions[&entry.path]);
                entry.again = Some(self.clock);
                entry.misses = 0;
            }
        }
        self.entries.retain(|entry| entry.tsn > cumulative);
        for (path, since) in self.arrived_in_order() {
            if let Some(ack) = path_acks.get_mut(&path) {
                ack.in_order_since = Some(since);
            }
        }
        let path_acks = path_acks
            .into_values()
            .filter(|ack| ack.newly_acked_chunks > 0 && self.gone != Some(ack.path))
            .collect();
        (path_acks, reneged)
    }

    pub(super) fn forget_measurement(&mut self, path: PathId) {
        self.followed.remove(&path);
    }

    fn arrived_in_order(&mut self) -> Vec<(PathId, Instant)> {
        let entries = &self.entries;
        let missing = |path, tsn| {
            let mut before = entries
                .iter()
                .filter(|entry| entry.first_path == path && entry.tsn <= tsn);
            before.any(|entry| entry.state != ChunkState::Acked)
        };
        let done: Vec<_> = self
            .followed
            .iter()
            .map(|(&path, &since)| (path, since))
            .collect();
        let done = done.into_iter().filter(|(path, (tsn, _))| !missing(*path, *tsn));
        let done: Vec<_> = done.map(|(path, (_, since))| (path, since)).collect();
        self.followed
            .retain(|path, _| !done.iter().any(|(done, _)| done == path));
        done
    }

    /// The peer reports these as non-renegable.
    pub(super) fn keep(&mut self, kept: &BTreeSet<UnwrappedTsn>) {
        for entry in &mut self.entries {
            entry.kept |= entry.state == ChunkState::Acked && kept.contains(&entry.tsn);
        }
    }

    /// Declares the chunks lost that were overtaken and are late.
    pub(super) fn lose_late(&mut self, path: PathId, late: Option<Late>) {
        let Some(late) = late else { return };
        let entries = self.entries.iter_mut();
        for entry in entries.filter(|entry| entry.path == path && entry.state == ChunkState::Flying) {
            if entry.send_number < late.before && entry.sent_at <= late.until {
                entry.state = ChunkState::Lost(LossCause::FastRetransmit);
            }
        }
    }

    /// Counts misses chunk by chunk (RFC 9260 §7.2.4 with HTNA, SFR and DAC): three are a loss.
    pub(super) fn count_misses(&mut self, path_acks: &[PathAck], packets: u8, eligible: Eligible) {
        for entry in self
            .entries
            .iter_mut()
            .filter(|entry| entry.state == ChunkState::Flying)
        {
            let Some(ack) = path_acks.iter().find(|ack| ack.path == entry.path) else {
                entry.judge(eligible);
                continue;
            };
            if entry.again.is_some() {
                entry.misses += u32::from(ack.latest_send_number > Some(entry.send_number));
            } else if ack.highest_newly_acked > Some(entry.tsn) {
                let all_later = ack.lowest_newly_acked > Some(entry.tsn);
                let weight = if path_acks.len() == 1 && all_later {
                    packets.max(1)
                } else {
                    1
                };
                entry.misses += u32::from(weight);
            }
            entry.judge(eligible);
        }
    }
}

impl Entry {
    fn judge(&mut self, eligible: Eligible) {
        let is_exempt = match eligible {
            Eligible::Any => false,
            Eligible::OnOnePath => self.paths.len() > 1,
            Eligible::SentBefore(moment) => self.sent_at >= moment,
            Eligible::MovedBefore(moment) => !self.moved || self.sent_at >= moment,
        };
        if self.misses >= 3 && !(self.again.is_some() && is_exempt) {
            self.state = ChunkState::Lost(LossCause::FastRetransmit);
        }
    }
}

fn count(ack: &mut PathAck, entry: &Entry, by_cumulative: bool, headed: bool) {
    if entry.again.is_some() {
        ack.retransmitted_pseudo_cumulative_advanced |= headed;
    } else {
        ack.pseudo_cumulative_advanced |= headed;
    }
    if entry.reneged {
        return;
    }
    ack.newly_acked += entry.bytes;
    ack.newly_acked_chunks += 1;
    ack.cumulative_advanced |= by_cumulative;
    if !entry.timed_out {
        ack.highest_newly_acked = ack.highest_newly_acked.max(Some(entry.tsn));
        ack.lowest_newly_acked = ack.lowest_newly_acked.or(Some(entry.tsn));
    }
    ack.latest_send_number = ack.latest_send_number.max(Some(entry.send_number));
    ack.latest_sent_at = ack.latest_sent_at.max(Some(entry.sent_at));
    if entry.transmissions == 1 {
        ack.rtt_sample = ack.rtt_sample.max(Some(SentOnce {
            sent_at: entry.sent_at,
            tsn: entry.tsn,
        }));
        ack.sent_once_chunks += 1;
        let earliest = ack.earliest_sent_once.unwrap_or(entry.sent_at);
        ack.earliest_sent_once = Some(earliest.min(entry.sent_at));
    }
}
