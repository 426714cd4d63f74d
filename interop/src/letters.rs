//! What is said, and did it arrive? Numbered messages that can be recognised, and a box that checks them.

use anabranch_types::StreamId;
use bytes::Bytes;

use crate::core::Letter;

/// Bytes of a letter's number, at its beginning.
const NUMBER: usize = 4;

/// What one side has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How many messages.
    pub count: u32,
    /// Their lengths in bytes, in turn; at least 4 each.
    pub lengths: &'static [usize],
    /// They go to so many streams, in turn.
    pub streams: u16,
    /// Those on streams with an odd number are unordered.
    pub odd_unordered: bool,
}

impl Plan {
    /// Nothing.
    pub const SILENCE: Self = Self::ordered(0, &[NUMBER], 1);

    /// Ordered messages.
    #[must_use]
    pub const fn ordered(count: u32, lengths: &'static [usize], streams: u16) -> Self {
        Self {
            count,
            lengths,
            streams,
            odd_unordered: false,
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

    /// Message number `number`.
    #[must_use]
    pub fn letter(&self, number: u32) -> Letter {
        let stream = StreamId((number % u32::from(self.streams)) as u16);
        let length = self.lengths[number as usize % self.lengths.len()];
        Letter {
            stream,
            unordered: self.odd_unordered && stream.0 % 2 == 1,
            payload: payload(number, length),
        }
    }
}

/// The number, then bytes that count up from it.
#[must_use]
pub fn payload(number: u32, length: usize) -> Bytes {
    let mut payload: Vec<u8> = (0..length).map(|at| (number as usize + at) as u8).collect();
    let head = length.min(NUMBER);
    payload[..head].copy_from_slice(&number.to_be_bytes()[..head]);
    payload.into()
}

/// Checks what arrives against what was to be said.
#[derive(Clone, Debug)]
pub struct Inbox {
    plan: Plan,
    seen: Vec<bool>,
    /// The number that an ordered stream has to bring next, less its own.
    next: Vec<u32>,
    arrived: u32,
}

impl Inbox {
    /// For a peer that says `plan`.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            seen: vec![false; plan.count as usize],
            next: (0..u32::from(plan.streams)).collect(),
            arrived: 0,
        }
    }

    /// How many arrived.
    #[must_use]
    pub const fn arrived(&self) -> u32 {
        self.arrived
    }

    /// Whether all arrived.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.arrived == self.plan.count
    }

    /// A message arrived.
    ///
    /// # Errors
    ///
    /// It is none of the plan's, has changed, came twice, or overtook another one of its stream.
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
        let letter = self.plan.letter(number);
        if (letter.stream, &letter.payload) != (stream, payload) {
            let length = payload.len();
            return Err(format!(
                "message {number} came with {length} bytes on {stream:?}, changed"
            ));
        }
        let next = &mut self.next[usize::from(stream.0)];
        if !letter.unordered && *next != number {
            return Err(format!("message {number} came before {next} of {stream:?}"));
        }
        *next = number + u32::from(self.plan.streams);
        self.arrived += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan::ordered(10, &[4, 100], 2).half_unordered();

    fn inbox_after(numbers: &[u32]) -> Result<Inbox, String> {
        let mut inbox = Inbox::new(PLAN);
        for number in numbers {
            let letter = PLAN.letter(*number);
            inbox.take(letter.stream, &letter.payload)?;
        }
        Ok(inbox)
    }

    #[test]
    fn what_was_said_is_accepted_once_and_in_its_order() {
        let all: Vec<u32> = (0..10).collect();
        assert!(inbox_after(&all).is_ok_and(|inbox| inbox.is_complete()));
        assert!(inbox_after(&[3, 1, 0, 2]).is_ok_and(|inbox| !inbox.is_complete()));
        assert!(inbox_after(&[2]).is_err(), "0 is missing on an ordered stream");
        assert!(inbox_after(&[0, 0]).is_err());
    }

    #[test]
    fn what_was_not_said_is_refused() {
        let mut inbox = Inbox::new(PLAN);
        let letter = PLAN.letter(1);
        assert!(
            inbox.clone().take(StreamId(0), &letter.payload).is_err(),
            "another stream"
        );
        assert!(
            inbox
                .clone()
                .take(letter.stream, &letter.payload.slice(..99))
                .is_err()
        );
        assert!(inbox.clone().take(StreamId(0), &payload(10, 4)).is_err());
        assert!(inbox.take(letter.stream, &letter.payload).is_ok());
    }
}
