//! File transfer protocol. How are files and folders transferred from one end to the other? Over one association; see
//! docs/transfer-protocol.md.

mod beneath;
mod control;
mod digest;
mod entry;
mod error;
mod file_name;
mod liveness;
mod octets;
mod pace;
mod part;
mod piece;
mod plan;
mod reader;
mod receiver;
mod sender;
mod staging;
mod store;
mod storing;
mod tree_path;
mod word;
mod writer;

pub(crate) use digest::{Digest, Hasher};
pub(crate) use entry::Kind;
pub(crate) use error::{ReceiveFailure, told_end};
pub(crate) use file_name::is_invisible;
pub(crate) use pace::Pace;
pub(crate) use piece::LONGEST_MESSAGE;
pub(crate) use plan::{Plan, Planned};
pub(crate) use receiver::{
    Offer, Queued, Receiving, Request, conclude_receiving, hear_offer, receive, wait_for_turn,
};
pub(crate) use sender::{Note, Sending, acknowledged, address_seen, conclude_sending, send};
pub(crate) use staging::remove_old;
pub(crate) use store::{Folder, StoredTransfer};
pub(crate) use storing::Reply;
pub(crate) use word::{GuardedWord, Word};
