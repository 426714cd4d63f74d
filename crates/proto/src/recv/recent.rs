//! Recent TSNs. Which TSNs arrived last?

/// Number of runs that are remembered. A SACK is sent for every second packet, so with several paths each arrival is in some thirty SACKs.
pub(super) const REMEMBERED: usize = 64;

/// The TSNs that arrived last. Of a run of consecutive ones it has the last, because they share one gap ack block.
#[derive(Debug)]
pub(super) struct Recent {
    tsns: [u64; REMEMBERED],
    newest: usize,
}

impl Recent {
    pub(super) const fn new() -> Self {
        Self {
            tsns: [0; REMEMBERED],
            newest: 0,
        }
    }

    pub(super) fn note(&mut self, tsn: u64) {
        if self.tsns[self.newest] + 1 != tsn {
            self.newest = (self.newest + 1) % REMEMBERED;
        }
        self.tsns[self.newest] = tsn;
    }

    /// The TSNs, the latest first; at the end there may be zeros, which are no TSNs.
    pub(super) fn latest_first(&self) -> impl Iterator<Item = u64> + '_ {
        let (older, newer) = self.tsns.split_at(self.newest + 1);
        older.iter().rev().chain(newer.iter().rev()).copied()
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn run_takes_one_place() {
        let mut recent = Recent::new();
        for tsn in [100, 101, 102, 500, 103] {
            recent.note(tsn);
        }
        let known: Vec<_> = recent.latest_first().take_while(|tsn| *tsn > 0).collect();
        assert_eq!(known, [103, 500, 102]);
    }

    #[test]
    fn oldest_runs_are_forgotten() {
        let mut recent = Recent::new();
        (1..=100).for_each(|run| recent.note(10 * run));
        let known: Vec<_> = recent.latest_first().collect();
        assert_eq!((known.len(), known[0], known[63]), (64, 1_000, 370));
    }
}
