//! How does a message become acknowledged chunks? To be written.
/// Why a message was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {}
