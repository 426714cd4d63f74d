//! FORWARD TSN, received (RFC 3758 §3.6). What becomes of messages of which chunks will never arrive?
//!
//! Fragments of incomplete messages are dropped, and complete messages that wait for abandoned ones are delivered.

use anabranch_types::Tsn;
use anabranch_wire::{ForwardTsn, IForwardTsn};

use super::Receiver;
use super::arrivals::Arrivals;
use crate::violation::Violation;

/// A received FORWARD TSN or I-FORWARD-TSN.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Skips<'a> {
    Data(ForwardTsn<'a>),
    IData(IForwardTsn<'a>),
}

impl Skips<'_> {
    const fn cumulative(&self) -> Tsn {
        match self {
            Self::Data(chunk) => chunk.cumulative,
            Self::IData(chunk) => chunk.cumulative,
        }
    }
}

impl Receiver {
    //= rfc3758 3.1-2, 3.6-1, 3.6-2, 3.6-3, 3.6-4, 3.6-5, 3.6-6, 3.6-8, 3.6-9
    /// Handles a FORWARD TSN. [`Receiver::packet_done`] follows after the last chunk of the packet, as after DATA.
    ///
    /// # Errors
    /// It is not the one for the type of chunks in which data arrives.
    pub(crate) fn on_forward_tsn(&mut self, skips: &Skips<'_>) -> Result<(), Violation> {
        let Some(cumulative) = self.tracker.skip_to(skips.cumulative()) else {
            self.reassembly.check_skips(skips)?;
            // The peer may have missed the last SACK.
            self.schedule.on_duplicate();
            return Ok(());
        };
        let Self {
            reassembly,
            window,
            delivery,
            ..
        } = self;
        reassembly.skip(cumulative, skips, window, delivery)?;
        // What was readable above the cumulative TSN is only not reported as non-renegable.
        if let Some(arrivals) = &mut self.arrivals {
            **arrivals = Arrivals::above(self.tracker.cumulative());
        }
        self.schedule.on_new(cumulative, true);
        self.window.set_unread(!self.delivery.is_empty());
        self.begin_partial_if_stuck();
        Ok(())
    }
}
