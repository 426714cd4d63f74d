//! Below which number were there at least three misses?

/// The three highest numbers at which misses fell, highest first.
///
/// A miss at `n` is a miss indication for everything outstanding below `n`. So what lies below the third
/// highest miss has at least three of them, and neither a counter for each chunk nor a walk is needed.
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

    /// Everything below has three misses.
    pub(super) const fn third(&self) -> Option<N> {
        self.highest[2]
    }
}
