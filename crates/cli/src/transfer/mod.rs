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
pub(crate) use error::ReceiveFailure;
pub(crate) use file_name::{FileName, is_invisible};
pub(crate) use piece::LONGEST_MESSAGE;
pub(crate) use receiver::{
    Queued, Receiving, Request, conclude_receiving, hear_offer, receive_file, wait_for_turn,
};
pub(crate) use sender::{Sending, acknowledged, address_seen, conclude_sending, send_file};
pub(crate) use source::Source;
pub(crate) use store::{Folder, StoredFile};
