//! Streams of an association with credit: open, accept, send, receive, end. What happens to them is decided here, without an association.
//!
//! | file | question |
//! |---|---|
//! | `frame.rs` | what do both ends tell each other? |
//! | `inbound.rs` | which messages wait for the reader, and how much may the peer send? |
//! | `outbound.rs` | may a message be sent now? |
//! | `set.rs` | which streams are there, and which ids are free? |
//! | `sender.rs`, `receiver.rs` | the handles |
//! | `limits.rs` | how many streams, how much memory? |

pub(crate) mod frame;
mod inbound;
mod limits;
mod outbound;
mod receiver;
mod sender;
mod set;

pub(crate) use inbound::{CreditExceeded, PeerEnd};
pub use limits::{StreamLimits, StreamStatistics};
pub(crate) use outbound::Refusal;
pub use receiver::StreamReceiver;
pub use sender::{SendOptions, StreamSender};
pub(crate) use set::{Key, Lost, StreamSet};
