//! Which cores can meet in virtual time? Ours, and two that others wrote, all behind the same few verbs.

mod dcsctp;
mod ours;
mod sctp_proto;

use anabranch_types::{Instant, StreamId};
use bytes::Bytes;

pub use self::dcsctp::Dcsctp;
pub use self::ours::Ours;
pub use self::sctp_proto::SctpProto;

/// Largest SCTP packet of both sides, in bytes.
pub(crate) const LARGEST_PACKET: u16 = 1_400;

/// The longest message that any core is told to take, in bytes.
pub const LONGEST_MESSAGE: usize = 1 << 20;

/// A message, as it is handed to a core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Letter {
    /// The stream it goes on.
    pub stream: StreamId,
    /// Whether it may overtake earlier ones of its stream.
    pub unordered: bool,
    /// Never empty.
    pub payload: Bytes,
}

/// How an association ended, as one side saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Both finished.
    Finished,
    /// This side or the other ended it at once.
    Aborted,
    /// In a way that must not happen in a conversation of friends.
    Failed(String),
}

/// One side of one association, without sockets and clocks.
pub trait Core {
    /// Begins an association with the peer.
    fn connect(&mut self, now: Instant);
    /// An SCTP packet arrived.
    fn on_packet(&mut self, now: Instant, packet: &[u8]);
    /// The moment that [`Core::deadline`] named has come.
    fn on_deadline(&mut self, now: Instant);
    /// The next SCTP packet to send.
    fn poll_packet(&mut self, now: Instant) -> Option<Vec<u8>>;
    /// When it wants [`Core::on_deadline`].
    fn deadline(&self) -> Option<Instant>;
    /// Hands a message over; `false` if there is no room for it now.
    fn send(&mut self, letter: &Letter) -> bool;
    /// The next message that arrived whole, and its stream.
    fn read(&mut self) -> Option<(StreamId, Bytes)>;
    /// Whether messages can be sent.
    fn is_connected(&self) -> bool;
    /// Whether everything handed over was acknowledged, as far as it tells.
    fn is_flushed(&mut self) -> bool;
    /// Finishes gracefully.
    fn shutdown(&mut self);
    /// Ends it at once.
    fn abort(&mut self);
    /// How it ended, once it has.
    fn ending(&self) -> Option<Ending>;
}
