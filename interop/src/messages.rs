//! Test messages: numbered payloads, and an inbox that checks them. Did everything arrive once, intact and in order?

use anabranch_types::StreamId;
use bytes::Bytes;

use crate::core::TestMessage;

/// Length of the number at the start of a message, in bytes.
const NUMBER: usize = 4;

/// The messages that one side sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Number of messages.
    pub count: u32,
    /// Lengths in bytes, used in turn; at least 4 each.
    pub lengths: &'static [usize],
    /// Number of streams, used in turn.
    pub streams: u16,
    /// Whether messages on odd streams are unordered.
    pub odd_unordered: bool,
    /// How often chunks are retransmitted on the streams 2, 3, 6, 7 and so on; `None` if all messages are reliable.
    pub retransmissions: Option<u16>,
}

impl Workload {
    /// No messages.
    pub const NONE: Self = Self::ordered(0, &[NUMBER], 1);

    /// Ordered messages.
    #[must_use]
    pub const fn ordered(count: u32, lengths: &'static [usize], streams: u16) -> Self {
        Self {
            count,
            lengths,
            streams,
            odd_unordered: false,
            retransmissions: None,
        }
    }

    /// The same, with unordered messages on every second stream.
    #[must_use]
    pub const fn half_unordered(self) -> Self {
        Self {
            odd_unordered: true,
            ..self
        }
    }

    /// The same, with a limit of retransmissions (RFC 7496 §3.1) on half of the streams.
    #[must_use]
    pub const fn half_unreliable(self, retransmissions: u16) -> Self {
        Self {
            retransmissions: Some(retransmissions),
            ..self
        }
    }

    /// The limit of retransmissions on a stream.
    const fn limit_on(&self, stream: u16) -> Option<u16> {
        if stream % 4 >= 2 {
            self.retransmissions
        } else {
            None
        }
    }

    /// Number of messages that are reliable.
    #[must_use]
    pub fn reliable(&self) -> u32 {
        let stream_of = |number| (number % u32::from(self.streams)) as u16;
        let is_reliable = |number: &u32| self.limit_on(stream_of(*number)).is_none();
        (0..self.count).filter(is_reliable).count() as u32
    }

    /// Message number `number`.
    #[must_use]
    pub fn message(&self, number: u32) -> TestMessage {
        let stream = StreamId((number % u32::from(self.streams)) as u16);
        let length = self.lengths[number as usize % self.lengths.len()];
        TestMessage {
            stream,
            unordered: self.odd_unordered && stream.0 % 2 == 1,
            retransmissions: self.limit_on(stream.0),
            payload: payload(number, length),
        }
    }
}

/// Payload of a message: its number, then bytes that count up from it.
#[must_use]
pub fn payload(number: u32, length: usize) -> Bytes {
    let mut payload: Vec<u8> = (0..length).map(|at| (number as usize + at) as u8).collect();
    let head = length.min(NUMBER);
    payload[..head].copy_from_slice(&number.to_be_bytes()[..head]);
    payload.into()
}

/// Checks received messages against the peer's workload.
#[derive(Clone, Debug)]
pub struct Inbox {
    workload: Workload,
    seen: Vec<bool>,
    /// Next expected message number of each stream.
    next: Vec<u32>,
    arrived: u32,
    /// Reliable messages that have not arrived.
    missing: u32,
}

impl Inbox {
    /// Creates an inbox for a peer that sends `workload`.
    #[must_use]
    pub fn new(workload: Workload) -> Self {
        Self {
            workload,
            seen: vec![false; workload.count as usize],
            next: (0..u32::from(workload.streams)).collect(),
            arrived: 0,
            missing: workload.reliable(),
        }
    }

    /// Number of received messages.
    #[must_use]
    pub const fn arrived(&self) -> u32 {
        self.arrived
    }

    /// Whether all reliable messages were received.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Checks a received message.
    ///
    /// # Errors
    ///
    /// The message is not in the workload, was altered, came twice, or overtook an earlier one of its stream.
    pub fn take(&mut self, stream: StreamId, payload: &Bytes) -> Result<(), String> {
        let Some(head) = payload.first_chunk::<NUMBER>() else {
            return Err(format!("{} bytes on {stream:?}", payload.len()));
        };
        let number = u32::from_be_bytes(*head);
        let Some(seen) = self.seen.get_mut(number as usize) else {
            return Err(format!("message {number} was never sent"));
        };
        if std::mem::replace(seen, true) {
            return Err(format!("message {number} came twice"));
        }
        let message = self.workload.message(number);
        if (message.stream, &message.payload) != (stream, payload) {
            let length = payload.len();
            return Err(format!(
                "message {number} came with {length} bytes on {stream:?}, changed"
            ));
        }
        let next = &mut self.next[usize::from(stream.0)];
        let is_next = match message.retransmissions {
            None => *next == number,
            Some(_) => *next <= number,
        };
        if !message.unordered && !is_next {
            return Err(format!("message {number} came before {next} of {stream:?}"));
        }
        *next = number + u32::from(self.workload.streams);
        self.arrived += 1;
        self.missing -= u32::from(message.retransmissions.is_none());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: Workload = Workload::ordered(10, &[4, 100], 2).half_unordered();

    fn inbox_after(numbers: &[u32]) -> Result<Inbox, String> {
        let mut inbox = Inbox::new(WORKLOAD);
        for number in numbers {
            let message = WORKLOAD.message(*number);
            inbox.take(message.stream, &message.payload)?;
        }
        Ok(inbox)
    }

    #[test]
    fn sent_messages_are_accepted_once_and_in_order() {
        let all: Vec<u32> = (0..10).collect();
        assert!(inbox_after(&all).is_ok_and(|inbox| inbox.is_complete()));
        assert!(inbox_after(&[3, 1, 0, 2]).is_ok_and(|inbox| !inbox.is_complete()));
        assert!(inbox_after(&[2]).is_err(), "0 is missing on an ordered stream");
        assert!(inbox_after(&[0, 0]).is_err());
    }

    #[test]
    fn unexpected_message_is_refused() {
        let mut inbox = Inbox::new(WORKLOAD);
        let message = WORKLOAD.message(1);
        assert!(
            inbox.clone().take(StreamId(0), &message.payload).is_err(),
            "another stream"
        );
        assert!(
            inbox
                .clone()
                .take(message.stream, &message.payload.slice(..99))
                .is_err()
        );
        assert!(inbox.clone().take(StreamId(0), &payload(10, 4)).is_err());
        assert!(inbox.take(message.stream, &message.payload).is_ok());
    }
}
