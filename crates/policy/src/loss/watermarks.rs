//! Watermarks. Below which number are there at least three miss indications?

/// The three highest numbers with a miss indication, highest first.
///
/// A miss indication at `n` counts for everything outstanding below `n`. So what lies below the third
/// highest has at least three of them, and neither a counter for each chunk nor a walk is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Watermarks<N> {
    highest: [Option<N>; 3],
}

impl<N> Default for Watermarks<N> {
    fn default() -> Self {
        Self {
            highest: [None, None, None],
        }
    }
}

impl<N: Copy + Ord> Watermarks<N> {
    pub(super) fn note_miss(&mut self, at: N) {
        let mut sinking = Some(at);
        for mark in &mut self.highest {
            if sinking > *mark {
                core::mem::swap(mark, &mut sinking);
            }
        }
    }

    /// Everything below has three miss indications.
    pub(super) const fn third(&self) -> Option<N> {
        self.highest[2]
    }
}
