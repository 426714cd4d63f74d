//! SCTP cores in virtual time behind one trait: ours, dcsctp and sctp-proto.

mod dcsctp;
mod ours;
mod sctp_proto;

use anabranch_types::{Instant, StreamId};
use bytes::Bytes;

pub use self::dcsctp::Dcsctp;
pub use self::ours::Ours;
pub use self::sctp_proto::SctpProto;

/// Maximum SCTP packet of both sides in bytes.
pub(crate) const MAX_PACKET: u16 = 1_400;

/// Maximum message size of all cores in bytes.
pub const MAX_MESSAGE: usize = 1 << 20;

/// A message to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestMessage {
    /// Its stream.
    pub stream: StreamId,
    /// Whether it is sent unordered.
    pub unordered: bool,
    /// How often its chunks are retransmitted at most, if the core supports that (RFC 7496 §3.1); `None` for a reliable message.
    pub retransmissions: Option<u16>,
    /// Never empty.
    pub payload: Bytes,
}

/// How an association ended, as one side reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Graceful shutdown.
    Finished,
    /// Aborted by either side.
    Aborted,
    /// Failed unexpectedly.
    Failed(String),
}

/// One side of one association, sans I/O.
pub trait Core {
    /// Initiates an association with the peer.
    fn connect(&mut self, now: Instant);
    /// Handles a received SCTP packet.
    fn on_packet(&mut self, now: Instant, packet: &[u8]);
    /// Handles the deadline that [`Core::deadline`] returned.
    fn on_deadline(&mut self, now: Instant);
    /// Returns the next SCTP packet to send.
    fn poll_packet(&mut self, now: Instant) -> Option<Vec<u8>>;
    /// When to call [`Core::on_deadline`].
    fn deadline(&self) -> Option<Instant>;
    /// Queues a message; `false` if there is no room.
    fn send(&mut self, message: &TestMessage) -> bool;
    /// Returns the next complete message and its stream.
    fn read(&mut self) -> Option<(StreamId, Bytes)>;
    /// Whether the handshake is complete and the association has not ended.
    fn is_connected(&self) -> bool;
    /// Whether messages can be queued.
    fn accepts_messages(&self) -> bool {
        self.is_connected()
    }
    /// Whether all queued messages are acknowledged, as far as the core reports it.
    fn is_flushed(&mut self) -> bool;
    /// Shuts down gracefully.
    fn shutdown(&mut self);
    /// Aborts the association.
    fn abort(&mut self);
    /// How it ended, once it has.
    fn ending(&self) -> Option<Ending>;
}
