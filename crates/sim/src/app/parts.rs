//! An application that sends a message in parts, with a pause after each.

use core::time::Duration;

use anabranch_proto::{MessagePart, Reliability, SendError};
use anabranch_types::{Instant, MessageId};

use super::workload::MessageWriter;
use super::{Draft, pattern};

/// Sends one message in parts. A part that finds the buffer full is sent as soon as it is accepted. If the message was abandoned, or lost
/// with a restart of the peer, the rest is not sent.
#[derive(Clone, Debug)]
pub struct InParts {
    message: (Draft, Reliability),
    part: usize,
    pause: Duration,
    /// Id and number of the message, from its first part on.
    begun: Option<(MessageId, u32)>,
    /// Bytes sent so far.
    sent: usize,
    /// When the next part is sent; `None` if it waits for room in the buffer.
    next: Option<Instant>,
    is_over: bool,
}

impl InParts {
    /// The message in parts of `part` bytes each, the first at once and the others after a pause. The last one may be shorter.
    ///
    /// # Panics
    ///
    /// If `part` is zero.
    #[must_use]
    pub fn new(message: Draft, reliability: Reliability, part: usize, pause: Duration) -> Self {
        assert!(part > 0, "a part has at least one byte");
        Self {
            message: (message, reliability),
            part,
            pause,
            begun: None,
            sent: 0,
            next: Some(Instant::ZERO),
            is_over: false,
        }
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        if self.is_over { None } else { self.next }
    }

    pub(super) fn act(&mut self, now: Instant, writer: &mut MessageWriter<'_>) {
        while !self.is_over && self.next.is_none_or(|next| next <= now) {
            let until = (self.sent + self.part).min(self.message.0.bytes);
            match self.send_until(until, now, writer) {
                Ok(begun) => {
                    self.begun = Some(begun);
                    self.sent = until;
                    self.is_over = until == self.message.0.bytes;
                    self.next = Some(now + self.pause);
                }
                Err(SendError::BufferFull) => {
                    self.next = None;
                    return;
                }
                // The buffer was made smaller.
                Err(SendError::TooLarge { max }) if (1..self.part).contains(&max) => self.part = max,
                Err(_) => self.is_over = true,
            }
        }
    }

    /// Sends the bytes up to `until`. Returns id and number of the message.
    fn send_until(
        &self,
        until: usize,
        now: Instant,
        writer: &mut MessageWriter<'_>,
    ) -> Result<(MessageId, u32), SendError> {
        let Some((id, number)) = self.begun else {
            return writer.outbox.begin(writer.association, self.message, until, now);
        };
        let payload = pattern(number, until).slice(self.sent..);
        let part = if until < self.message.0.bytes {
            MessagePart::Middle(id, payload)
        } else {
            MessagePart::End(id, payload)
        };
        writer.association.send(part)?;
        Ok((id, number))
    }
}
