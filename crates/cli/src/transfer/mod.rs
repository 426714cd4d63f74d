//! File transfer protocol. How is a file transferred from one end to the other? Over one association; see
//! docs/transfer-protocol.md.

mod control;
mod digest;
mod error;
mod file_name;
mod liveness;
mod piece;
mod receiver;
mod sender;
mod source;
mod store;
mod writer;

pub(crate) use digest::Digest;
pub(crate) use file_name::{FileName, is_invisible};
pub(crate) use receiver::{Receiving, conclude_receiving, receive_file};
pub(crate) use sender::{Sending, acknowledged, conclude_sending, send_file};
pub(crate) use source::Source;
pub(crate) use store::Folder;
