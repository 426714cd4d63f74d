//! Trace analysis. What happened on the wire? Reads pcap and pcapng captures of SCTP and TCP, groups and draws them.
//!
//! | module | question |
//! |---|---|
//! | [`capture`] | which frames are in a file? |
//! | [`segment`] | which SCTP packet or TCP segment is in a frame? |
//! | [`conversation`] | which segments belong to one association, and what does each acknowledge? |
//! | [`flow`] | flow graph: which segments went which way, and when? |
//! | [`gaps`] | how much does each SACK acknowledge selectively? |
//! | [`idle`] | when was a path idle? |
//! | [`log`] | event log in qlog's format: what happened in an association? |

pub mod capture;
pub mod conversation;
pub mod flow;
pub mod gaps;
pub mod idle;
pub mod log;
pub mod segment;

pub use anabranch_secure::{KeyLog, KeyLogError};
pub use capture::{Capture, CaptureError, Frame, frames};
pub use conversation::{Conversation, Direction, Row, conversations};
pub use segment::{Segment, Segments};
