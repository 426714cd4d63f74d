//! Frames of a stream that wait to be transmitted, and what was transmitted but not sent yet. When may the stream transmit more?
//!
//! Small data frames are joined, and credit is added to credit that waits: the peer decides how many messages there would be.

use std::collections::VecDeque;

use super::joined::Joined;
use crate::frame::Frame;

/// What a stream may have unsent in the association, in bytes, as `TCP_NOTSENT_LOWAT` limits a socket: credit and resets wait behind it.
pub(super) const MAX_UNSENT: u64 = 128 << 10;

/// What a message costs beside its bytes.
const OVERHEAD: u64 = 128;

/// Frames that wait, in the order in which they are transmitted.
#[derive(Debug, Default)]
pub(super) struct Queue {
    frames: VecDeque<Frame>,
    /// Data behind all others.
    joined: Joined,
}

impl Queue {
    pub(super) fn push(&mut self, frame: Frame) {
        match frame {
            Frame::Data(data) => {
                let is_first = self.is_empty();
                let complete = self.joined.push(data, is_first);
                self.frames.extend(complete.map(Frame::Data));
            }
            Frame::Credit(bytes) => self.push_credit(bytes),
            other => {
                self.frames.extend(self.joined.take().map(Frame::Data));
                self.frames.push_back(other);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        let joined = || self.joined.take().map(Frame::Data);
        self.frames.pop_front().or_else(joined)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.joined.is_empty()
    }

    /// Number of messages that wait.
    #[cfg(test)]
    pub(super) fn messages(&self) -> usize {
        self.frames.len() + usize::from(!self.joined.is_empty())
    }

    /// Credit need not wait for data of the other direction.
    fn push_credit(&mut self, more: u32) {
        let waiting = self.frames.iter_mut().find_map(|frame| match frame {
            Frame::Credit(bytes) => Some(bytes),
            _ => None,
        });
        if let Some(bytes) = waiting {
            // Both are parts of one window, which is far smaller.
            *bytes = bytes.saturating_add(more);
            return;
        }
        let is_first = |frame: &&Frame| matches!(frame, Frame::Open(..) | Frame::Opened);
        let place = self.frames.iter().take_while(is_first).count();
        self.frames.insert(place, Frame::Credit(more));
    }
}

/// Messages that were transmitted, of which the association has not sent all.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    /// Lengths of the last messages, the oldest first.
    messages: VecDeque<u32>,
    /// Their sum.
    bytes: u64,
}

impl Unsent {
    pub(super) fn transmitted(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.messages.push_back(bytes);
        self.bytes += u64::from(bytes);
    }

    /// `left` bytes are unsent. Whether that is too much to transmit more, with what each message costs.
    pub(super) fn is_too_much(&mut self, left: u64) -> bool {
        while let Some(oldest) = self.messages.front().map(|bytes| u64::from(*bytes))
            && self.bytes - oldest >= left
        {
            self.bytes -= oldest;
            self.messages.pop_front();
        }
        left + self.messages.len() as u64 * OVERHEAD > MAX_UNSENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Reason;

    #[test]
    fn small_frames_are_joined_in_order() {
        let mut queue = Queue::default();
        let mut bytes = (0..).map(|number: u32| number as u8);
        let mut all = Vec::new();
        for length in [1, 1, 2_000, 3, 900].into_iter().chain([1; 100_000]) {
            let piece: Vec<u8> = bytes.by_ref().take(length).collect();
            all.extend_from_slice(&piece);
            queue.push(Frame::Data(piece.into()));
        }
        queue.push(Frame::Finished);
        assert!(queue.messages() < 20, "{}", queue.messages());
        let mut popped = Vec::new();
        while let Some(Frame::Data(data)) = queue.pop() {
            popped.extend_from_slice(&data);
        }
        assert!(popped == all && queue.is_empty());
    }

    #[test]
    fn credit_is_added_and_passes_data() {
        let mut queue = Queue::default();
        queue.push(Frame::Opened);
        queue.push(Frame::Data("data".into()));
        for bytes in [1, 2, 3] {
            queue.push(Frame::Credit(bytes));
        }
        queue.push(Frame::Reset(Reason::Reset));
        let order: Vec<Frame> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(
            order,
            [
                Frame::Opened,
                Frame::Credit(6),
                Frame::Data("data".into()),
                Frame::Reset(Reason::Reset)
            ]
        );
    }

    #[test]
    fn unsent_messages_count_with_what_they_cost() {
        let mut unsent = Unsent::default();
        for _ in 0..2 {
            unsent.transmitted(64 << 10);
        }
        assert!(unsent.is_too_much(128 << 10));
        assert!(!unsent.is_too_much(127 << 10));
        assert!(!unsent.is_too_much(0));
        assert!(unsent.messages.is_empty());
        // A thousand messages of one byte are as much as 128 KiB.
        for _ in 0..1_023 {
            unsent.transmitted(1);
        }
        assert!(unsent.is_too_much(1_023));
        assert!(!unsent.is_too_much(500));
    }
}
