//! Choice of what is shown: a transfer, a span of time, or the keys. What does an action change?

use std::time::Duration;

use super::key::Action;

/// Spans of time that rates are drawn of.
const SPANS: [Span; 3] = [
    Span {
        name: "1 minute",
        length: Duration::from_secs(60),
    },
    Span {
        name: "10 minutes",
        length: Duration::from_secs(600),
    },
    Span {
        name: "all",
        length: Duration::MAX,
    },
];

/// A span of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) name: &'static str,
    pub(super) length: Duration,
}

/// What the user has chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Choice {
    /// The chosen transfer; without one, the newest is shown.
    pub(super) transfer: Option<u64>,
    span: usize,
    pub(super) shows_keys: bool,
    /// Whether the user wants the verb to end.
    pub(super) is_ending: bool,
}

impl Choice {
    pub(super) const fn span(&self) -> Span {
        SPANS[self.span % SPANS.len()]
    }

    /// Takes an action into account, while `shown` is the transfer that is shown, and `numbers` are those of all.
    pub(super) fn on_action(&mut self, action: Action, numbers: &[u64], shown: Option<u64>) {
        match action {
            Action::End => self.is_ending = true,
            Action::Suspend => {}
            Action::Keys => self.shows_keys = !self.shows_keys,
            Action::Back if self.shows_keys => self.shows_keys = false,
            Action::Back => self.transfer = None,
            Action::Span => self.span = (self.span + 1) % SPANS.len(),
            Action::Next => self.transfer = neighbour(numbers, shown, 1),
            Action::Previous => self.transfer = neighbour(numbers, shown, numbers.len().saturating_sub(1)),
        }
    }
}

/// The number `steps` after `shown`; after the last one comes the first.
fn neighbour(numbers: &[u64], shown: Option<u64>, steps: usize) -> Option<u64> {
    let at = numbers.iter().position(|number| Some(*number) == shown)?;
    numbers.get((at + steps) % numbers.len()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(actions: &[Action], numbers: &[u64]) -> Choice {
        let mut choice = Choice::default();
        for action in actions {
            let shown = choice.transfer.or_else(|| numbers.last().copied());
            choice.on_action(*action, numbers, shown);
        }
        choice
    }

    #[test]
    fn next_and_previous_go_round_all_transfers() {
        use Action::{Back, Next, Previous};
        let numbers = [1, 4, 6];
        assert_eq!(after(&[Previous], &numbers).transfer, Some(4));
        assert_eq!(after(&[Previous, Previous, Previous], &numbers).transfer, Some(6));
        assert_eq!(after(&[Next], &numbers).transfer, Some(1));
        assert_eq!(after(&[Next, Back], &numbers).transfer, None);
        assert_eq!(after(&[Next, Previous], &[]).transfer, None);
    }

    #[test]
    fn back_leaves_the_keys_before_the_transfer() {
        use Action::{Back, Keys, Next};
        let choice = after(&[Next, Keys, Back], &[1, 2]);
        assert_eq!((choice.shows_keys, choice.transfer), (false, Some(1)));
        assert!(after(&[Keys], &[]).shows_keys);
    }

    #[test]
    fn spans_follow_each_other() {
        let names = [0, 1, 2, 3].map(|times| after(&vec![Action::Span; times], &[]).span().name);
        assert_eq!(names, ["1 minute", "10 minutes", "all", "1 minute"]);
    }
}
