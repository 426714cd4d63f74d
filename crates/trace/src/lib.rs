//! What happened on the wire? Captures of SCTP and TCP, read from pcap and pcapng files, put in order and drawn.
//!
//! | module | question |
//! |---|---|
//! | [`capture`] | which frames are in a file? |
//! | [`segment`] | what does a frame carry? |
//! | [`conversation`] | which segments belong together, and what does each acknowledge? |
//! | [`flow`] | what does a conversation look like? |
//! | [`gaps`] | how much is acknowledged selectively? |
//! | [`idle`] | when was nothing sent? |
//! | [`log`] | what happened in an association, event by event? |

pub mod capture;
pub mod conversation;
pub mod flow;
pub mod gaps;
pub mod idle;
pub mod log;
pub mod segment;

pub use capture::{Capture, CaptureError, Frame, frames};
pub use conversation::{Conversation, Direction, Row, conversations};
pub use segment::Segment;
