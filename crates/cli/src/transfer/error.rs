//! Transfer errors. What can go wrong in a transfer? Each error is one line for the user that says how to fix it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anabranch::{CloseReason, RecvError, SendError};
use thiserror::Error;

use super::control::VERSION;
use super::file_name::BadName;
use super::tree_path::BadPath;
use crate::output::bytes_text;

/// How the reason of an ABORT begins if another attempt would end in the same way.
const FINAL: &str = "final: ";

/// How a peer broke the transfer protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum Violation {
    #[error("a control message is too long")]
    LongControl,
    #[error("a control message is not understood")]
    UnknownControl,
    #[error("a control message came out of turn")]
    OutOfTurn,
    #[error("a piece has no bytes or too many")]
    PieceLength,
    #[error("a piece lies beyond the end of the file")]
    PieceBeyondEnd,
    #[error("a part of the file came twice")]
    Duplicate,
    #[error("the file comes in too many separate parts")]
    Scattered,
    #[error("the size differs from the one offered")]
    OtherSize,
    #[error("a link has no valid target")]
    Target,
}

/// Why something cannot be sent.
#[derive(Debug, Error)]
pub(crate) enum PlanError {
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("{0:?}: {1}; give another name with --name")]
    Name(String, BadName),
    #[error("{}: {error}", path.display())]
    Path { path: PathBuf, error: BadPath },
    #[error("the name of {} is not valid UTF-8; rename it, or give a name with --name", .0.display())]
    NotUtf8(PathBuf),
    #[error("two of the paths are called {0}; send them one after the other")]
    Twice(String),
    #[error("a pipe can only be sent alone")]
    Pipe,
}

/// Why files were not sent, or are not known to be stored.
#[derive(Debug, Error)]
pub(crate) enum SendFailure {
    #[error("the receiver rejected it: {0}")]
    Rejected(String),
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("the receiver does not follow the transfer protocol: {0}; is it anabranch of the same version?")]
    Violation(#[from] Violation),
    #[error("the receiver has stored something else: its SHA-256 differs")]
    OtherDigest,
    #[error("the receiver has another word, or somebody is in between; ask for its word again")]
    OtherWord,
    #[error("the receiver wants no word; leave out --word")]
    NoWord,
    #[error("{0}")]
    Lost(#[from] Lost),
}

impl SendFailure {
    /// Whether another attempt may succeed.
    pub(crate) const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(lost) if !lost.is_final())
    }
}

/// Why files were not received.
#[derive(Debug, Error)]
pub(crate) enum ReceiveFailure {
    #[error(
        "the sender speaks version {0} of the transfer protocol, we speak version {VERSION}; update the older side"
    )]
    Version(u32),
    #[error("{0}; the sender can choose another with --name")]
    Name(#[from] BadName),
    #[error("the sender has another word, or somebody is in between")]
    OtherWord,
    #[error("the sender has not proven that it knows the word")]
    NoWord,
    #[error("the sender has a word, and this receiver was started without --word")]
    WordUnasked,
    #[error("too many wrong words were tried, or too many senders prove theirs at the moment")]
    WordSpent,
    #[error("{0} other senders from this address wait already")]
    Crowded(usize),
    #[error("nothing of it arrived for {} s, and others waited; nothing was stored", .0.as_secs_f64())]
    Idle(Duration),
    #[error("the sender has begun again; nothing was stored")]
    Superseded,
    #[error("{0}")]
    Store(StoreError),
    #[error("the sender does not follow the transfer protocol: {0}")]
    Violation(#[from] Violation),
    #[error("{0}; nothing was stored")]
    Lost(#[from] Lost),
}

/// Why a file could not be read.
#[derive(Debug, Error)]
pub(crate) enum SourceError {
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{} became shorter while it was read; send it again", .0.display())]
    Shrunk(PathBuf),
    #[error("the thread that reads the file ended early")]
    Vanished,
}

impl SourceError {
    pub(super) fn of(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        Self::Read { path, error }
    }
}

/// Why a file could not be stored.
#[derive(Debug, Error)]
pub(crate) enum StoreError {
    #[error("the disk of {} is full; free some space or choose another folder", .0.display())]
    Full(PathBuf),
    #[error("{} has {} free, and what is sent takes {}; free some space or choose another folder", folder.display(), bytes_text(*free), bytes_text(*size))]
    NoSpace { folder: PathBuf, size: u64, free: u64 },
    #[error("{0} exists already; run with --force to replace files")]
    Exists(String),
    #[error("it has {size} bytes, and --max-size allows {limit}")]
    TooLarge { size: u64, limit: u64 },
    #[error("{0}: {1}; the sender has to rename it")]
    Path(String, BadPath),
    #[error("{0} has a twin: this folder takes two of its names for the same one")]
    Twin(String),
    #[error("{0} is not what was stored before; the next attempt is a new transfer")]
    Changed(String),
    #[error("another receiver stores this transfer at the moment")]
    InUse,
    #[error("there are too many files and folders; send them in several transfers")]
    TooMany,
    #[error("standard output takes one file only")]
    OneFile,
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    #[error("cannot write to {}: {error}", folder.display())]
    Write { folder: PathBuf, error: io::Error },
    #[error("what arrived has another SHA-256 than what was sent; the sender has to send it again")]
    Corrupt,
    #[error("the thread that writes the file ended early")]
    Abandoned,
    #[error("{0}")]
    Violation(#[from] Violation),
}

impl SendFailure {
    /// Reason sent to the peer; reveals nothing about local files.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Source(_) => "the sender cannot read the file".into(),
            other => other.to_string(),
        }
    }
}

impl ReceiveFailure {
    /// Reason sent to the peer; reveals nothing about local folders.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Violation(_) | Self::Superseded => format!("{FINAL}{self}"),
            Self::Name(name) => format!("{name}; give another with --name"),
            Self::OtherWord => "the word is another one; ask for it again".into(),
            Self::NoWord => "this receiver wants a word; give it with --word".into(),
            Self::WordUnasked => "this receiver has no word; leave out --word".into(),
            Self::WordSpent => "too many wrong words were tried, or too many senders prove theirs at the moment; try again, or start the receiver again".into(),
            Self::Store(StoreError::Full(_)) => "the disk of the receiver is full".into(),
            Self::Store(StoreError::NoSpace { free, .. }) => {
                format!("the disk of the receiver has {} free", bytes_text(*free))
            }
            Self::Store(StoreError::Exists(name)) => {
                format!(
                    "{name} exists already there; send it under another --name, or let the receiver run with --force"
                )
            }
            Self::Store(StoreError::Corrupt) => {
                "what arrived has another SHA-256 than what was sent; send it again".into()
            }
            Self::Store(StoreError::Write { error, .. }) => {
                format!("the receiver cannot write the file: {}", error.kind())
            }
            Self::Store(StoreError::Abandoned) => "the receiver cannot write the file".into(),
            Self::Store(StoreError::TooLarge { limit, .. }) => {
                format!("the receiver takes at most {limit} bytes")
            }
            Self::Store(StoreError::Output(_)) => "the receiver cannot write it on".into(),
            Self::Store(StoreError::Path(path, error)) => format!("{path}: {error}; rename it"),
            Self::Store(StoreError::Twin(path)) => {
                format!("{path} has a twin: the receiver takes two of its names for the same one")
            }
            other => other.to_string(),
        }
    }
}

impl ReceiveFailure {
    /// Whether the association is aborted without a verdict.
    pub(super) const fn ends_at_once(&self) -> bool {
        matches!(
            self,
            Self::Violation(_) | Self::Lost(_) | Self::Idle(_) | Self::Superseded
        )
    }
}

impl From<StoreError> for ReceiveFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Violation(violation) => Self::Violation(violation),
            other => Self::Store(other),
        }
    }
}

impl StoreError {
    /// Whether what has arrived may be of use for another attempt.
    pub(super) const fn can_resume(&self) -> bool {
        match self {
            Self::Full(_) | Self::Exists(_) | Self::Write { .. } | Self::InUse | Self::Abandoned => true,
            Self::NoSpace { .. }
            | Self::TooLarge { .. }
            | Self::Path(..)
            | Self::Twin(_)
            | Self::Changed(_)
            | Self::OneFile
            | Self::TooMany
            | Self::Output(_)
            | Self::Corrupt
            | Self::Violation(_) => false,
        }
    }

    pub(crate) fn write(folder: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(folder.to_owned()),
            _ => Self::Write {
                folder: folder.to_owned(),
                error,
            },
        }
    }
}

/// How the connection to a peer was lost.
#[derive(Debug, Error)]
pub(crate) enum Lost {
    #[error("nothing was heard from the peer for {} s; is its program still running, are the paths up?", .0.as_secs_f64())]
    Silent(Duration),
    #[error("the peer gave up: {0}")]
    Aborted(String),
    #[error("the peer gave up for good: {0}")]
    Refused(String),
    #[error("the peer ended the association before the transfer was complete")]
    Ended,
    #[error("the association broke: {0}")]
    Broken(CloseReason),
}

impl Lost {
    /// Whether another attempt would end in the same way.
    const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Refused(_) | Self::Broken(CloseReason::PeerViolation(_))
        )
    }
}

/// Why an association ended, in the words of the peer's application if it gave any; it says there whether a sender may try again.
pub(crate) fn told_end(reason: &CloseReason) -> String {
    match reason {
        CloseReason::AbortedByPeer {
            reason: Some(text), ..
        } => text.strip_prefix(FINAL).unwrap_or(text).to_owned(),
        other => other.to_string(),
    }
}

impl From<CloseReason> for Lost {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::AbortedByPeer { causes, reason } => {
                let told = reason.unwrap_or(causes);
                match told.strip_prefix(FINAL) {
                    Some(reason) => Self::Refused(reason.to_owned()),
                    None => Self::Aborted(told),
                }
            }
            CloseReason::Finished => Self::Ended,
            other => Self::Broken(other),
        }
    }
}

impl From<RecvError> for Lost {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Closed(reason) => reason.into(),
            // It is too long to be delivered whole, and every message of the transfer protocol is short.
            _ => Self::Broken(CloseReason::PeerViolation("message exceeds the limit".to_owned())),
        }
    }
}

impl From<SendError> for Lost {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Closed(reason) => reason.into(),
            _ => Self::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aborted(causes: &str, reason: Option<&str>) -> CloseReason {
        CloseReason::AbortedByPeer {
            causes: causes.to_owned(),
            reason: reason.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn final_reason_of_a_peer_is_told_without_its_mark() {
        let lost = |end: CloseReason| Lost::from(end).to_string();
        let refused = aborted("user abort \"final: zu gro\\xc3\\x9f\"", Some("final: zu groß"));
        assert_eq!(told_end(&refused), "zu groß");
        assert_eq!(lost(refused), "the peer gave up for good: zu groß");
        let gone = aborted("user abort \"interrupted\"", Some("interrupted"));
        assert_eq!(lost(gone), "the peer gave up: interrupted");
        // Only an application refuses further attempts.
        let broken = aborted("protocol violation \"final: \"", None);
        assert_eq!(lost(broken), "the peer gave up: protocol violation \"final: \"");
    }
}
