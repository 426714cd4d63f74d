//! Whose turn is it? In each stream, ordered messages pass by Stream Sequence Number (RFC 9260 §6.6).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use anabranch_types::{Serial, Ssn, StreamId};

use super::super::delivery::Delivery;
use crate::ReceivedMessage;
use crate::violation::Violation;

/// RFC 9260 §6.5: the SSN MUST grow by 1 with each ordered message, so none comes twice before it wraps. The
/// RFC does not say what to do about it; dropping an acknowledged message would hide the loss, so the
/// association ends.
pub(super) const SSN_USED_TWICE: Violation = Violation::Protocol("stream sequence number was used before");

/// Streams whose expected SSNs lie together: two bytes for each stream if all are used, 128 for a lonely one.
const PAGE: usize = 64;

/// When a message with a certain SSN passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    Now,
    Later,
    /// By serial arithmetic its turn is over.
    Past,
}

/// The next SSN of every stream, and the messages that came too early.
#[derive(Debug, Default)]
pub(super) struct StreamOrder {
    /// Expected SSNs. A page without a used stream does not exist and stands for zeros.
    pages: Vec<Option<Box<[Ssn; PAGE]>>>,
    /// By stream and SSN. Only ever asked for the expected SSN, so the order of the keys means nothing.
    waiting: BTreeMap<(u16, u16), ReceivedMessage>,
}

impl StreamOrder {
    pub(super) fn turn(&self, stream: StreamId, ssn: Ssn) -> Turn {
        let expected = self.expected(stream);
        if ssn == expected {
            Turn::Now
        } else if expected.precedes(ssn) {
            Turn::Later
        } else {
            Turn::Past
        }
    }

    /// Hands the message to the application, with all that waited for it, or keeps it until its turn comes.
    pub(super) fn deliver(
        &mut self,
        ssn: Ssn,
        message: ReceivedMessage,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        let stream = message.stream;
        match self.turn(stream, ssn) {
            Turn::Now => {
                delivery.push(message);
                self.follow_up(stream, ssn.next(), delivery);
                Ok(())
            }
            Turn::Later if self.waiting.contains_key(&(stream.0, ssn.0)) => Err(SSN_USED_TWICE),
            Turn::Later => {
                self.waiting.insert((stream.0, ssn.0), message);
                Ok(())
            }
            Turn::Past => Err(SSN_USED_TWICE),
        }
    }

    /// The messages from `ssn` on that wait already; then the first that does not is expected.
    fn follow_up(&mut self, stream: StreamId, mut ssn: Ssn, delivery: &mut Delivery) {
        if !self.waiting.is_empty() {
            while let Some(message) = self.waiting.remove(&(stream.0, ssn.0)) {
                delivery.push(message);
                ssn = ssn.next();
            }
        }
        self.expect(stream, ssn);
    }

    fn expected(&self, stream: StreamId) -> Ssn {
        match self.pages.get(stream.index() / PAGE) {
            Some(Some(page)) => page[stream.index() % PAGE],
            // RFC 9260 §6.5: SSNs "MUST start from 0".
            Some(None) | None => Ssn(0),
        }
    }

    fn expect(&mut self, stream: StreamId, ssn: Ssn) {
        let at = stream.index() / PAGE;
        if at >= self.pages.len() {
            self.pages.resize_with(at + 1, || None);
        }
        let page = self.pages[at].get_or_insert_with(|| Box::new([Ssn(0); PAGE]));
        page[stream.index() % PAGE] = ssn;
    }
}
