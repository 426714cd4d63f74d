//! How do addresses come and go while the association lives (RFC 5061)? [`asking`] tells the peer of ours,
//! [`answering`] takes note of the peer's; which paths follow is decided in [`crate::association::paths`].
//!
//! All of it is authenticated ([`crate::auth`]): who could change addresses at will could take over an association.

mod answering;
mod asking;
mod error;
mod responses;

use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_types::{AsconfNumber, Instant, PathId, Tsn};
use anabranch_wire::{NoRoom, PacketBuilder};

use crate::Association;
use crate::association::State;

pub(crate) use answering::{introduce, on_asconf, prefer};
pub(crate) use asking::{advance, ask_again, on_asconf_ack, on_timeout, peer_knows_no_asconf};
pub use error::AddressError;

use answering::Answering;
use asking::Asking;

/// What one association remembers of changes of addresses.
#[derive(Debug)]
pub(crate) struct AddressConfiguration {
    asking: Asking,
    answering: Answering,
    /// The paths are no longer those of the handshake.
    pub(crate) changed: bool,
    /// Some of the paths may have become superfluous.
    pub(crate) unsettled: bool,
    /// Addresses of ours whose deletion the peer has not confirmed.
    leaving: Vec<SocketAddr>,
}

/// A packet of this kind is due, on this path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// The answers that are due.
    Answers(PathId),
    /// The question.
    Question(PathId),
}

impl AddressConfiguration {
    /// "The Sequence Number MUST be initialized at the start of the association to the same value as the Initial
    /// Transmission Sequence Number" (RFC 5061 §5.1 A2).
    pub(crate) const fn new(ours: Tsn) -> Self {
        Self {
            asking: Asking::new(AsconfNumber(ours.0)),
            answering: Answering::new(),
            changed: false,
            unsettled: false,
            leaving: Vec::new(),
        }
    }

    /// The handshake told where the peer's numbers begin.
    pub(crate) const fn expect(&mut self, theirs: Tsn) {
        self.answering.expect(AsconfNumber(theirs.0));
    }

    /// When the question is repeated: T4 (RFC 5061 §5.1 A4).
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.asking.deadline()
    }

    /// One path is no more.
    pub(crate) fn forget_path(&mut self, gone: PathId) {
        self.asking.forget_path(gone);
        self.answering.forget_path(gone);
    }

    /// Whether an ABORT that came to `local` is to be ignored, because the peer may have forgotten that address
    /// already (RFC 5061 §5.3.1).
    pub(crate) fn is_leaving(&self, local: SocketAddr) -> bool {
        self.leaving.contains(&local)
    }
}

/// What is due to be sent about addresses; states other than these have nothing to do with them (RFC 5061 §5.1.1 C4).
pub(crate) fn due(association: &Association) -> Option<Due> {
    if !may_talk(association) {
        return None;
    }
    let answers = association.addresses.answering.due_on();
    let answers = answers.filter(|path| association.paths.contains(*path));
    answers
        .map(Due::Answers)
        .or_else(|| asking::due_on(association).map(Due::Question))
}

/// Writes what is due; a packet of its own, for everything behind an AUTH chunk is covered by its code.
pub(crate) fn write(association: &mut Association, due: Due, packet: &mut PacketBuilder<'_>, now: Instant) {
    let Some(authentication) = &association.authentication else {
        return;
    };
    let pushed: Result<(), NoRoom> = match due {
        Due::Answers(_) => authentication.push(packet, &association.addresses.answering.take_due()),
        Due::Question(path) => {
            let rto = association.paths.fact(path).rto;
            let question = association.addresses.asking.take_due(path, now + rto);
            authentication.push(packet, question.as_slice())
        }
    };
    debug_assert!(pushed.is_ok(), "questions and answers are kept short");
}

fn may_talk(association: &Association) -> bool {
    matches!(
        association.state,
        State::Established | State::ShutdownPending | State::ShutdownReceived | State::ShutdownSent(..)
    )
}

#[cfg(test)]
mod tests;
