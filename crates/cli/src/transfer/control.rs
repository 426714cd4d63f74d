//! Control messages. What do sender and receiver exchange besides data? A few short, ordered messages on stream 0.
//!
//! docs/transfer-protocol.md specifies the protocol.

use std::net::SocketAddr;

use anabranch::{Association, Bytes, Message, ReceivedMessage, SendError, StreamId};
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::entry::Entry;
use super::error::Violation;
use super::piece::HOLES;
use super::word::{Blinded, Proof};

/// Protocol version of this program.
pub(crate) const VERSION: u32 = 2;

/// Stream of the control messages; all other streams carry data.
pub(crate) const CONTROL: StreamId = StreamId(0);

/// Maximum length of a control message in bytes. A path and a target of 4,095 bytes fit with any escaping.
const LONGEST: usize = 64 << 10;

/// Maximum length of a reason sent to the peer, in characters.
const LONGEST_REASON: usize = 400;

/// A control message, encoded as JSON. Unknown fields are ignored, because later versions may add fields.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Control {
    /// The sender offers files and folders. Every version of the protocol starts with a version and a name.
    Offer {
        /// See [`VERSION`].
        version: u32,
        /// What is sent, for users. Untrusted.
        name: String,
        /// Number of entries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entries: Option<u64>,
        /// Bytes of all files; absent if the sender reads from a pipe and does not know it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
        /// Bytes that the files take on a disk, if that is less.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        space: Option<u64>,
        /// Identifies the transfer, if it can be resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// The sender knows a word, and begins the exchange that proves it, before the offer.
    Prove {
        /// See [`VERSION`].
        version: u32,
        spake: Blinded,
    },
    /// The receiver's answer to [`Control::Prove`].
    Proven { spake: Blinded, proof: Proof },
    /// The sender's answer to [`Control::Proven`].
    Proof { proof: Proof },
    /// The next entry; entries are numbered from zero.
    Entry(Entry),
    /// There are no more entries.
    Done,
    /// The receiver wants a file from this offset on.
    Want {
        /// Number of the entry.
        file: u64,
        from: u64,
    },
    /// The receiver has the entry.
    Have {
        /// Number of the entry.
        file: u64,
    },
    /// The receiver leaves the entry out.
    Skipped {
        /// Number of the entry.
        file: u64,
        /// Human-readable reason.
        reason: String,
    },
    /// The sender offers no file and requests the address under which the receiver sees it.
    Check {
        /// See [`VERSION`].
        version: u32,
    },
    /// The receiver's answer to [`Control::Check`].
    Checked {
        /// The source address of the sender's packets.
        address: SocketAddr,
    },
    /// The receiver accepts the offer; the sender may send data.
    Accept {
        /// Protocol version used from now on.
        version: u32,
    },
    /// The receiver is busy with others; the sender waits and sends [`Control::Alive`].
    Waiting {
        /// Number of other senders that wait before this one.
        ahead: u64,
    },
    /// The receiver rejects the transfer or could not store it.
    Rejected {
        /// Human-readable reason.
        reason: String,
    },
    /// The sender has sent a whole file.
    End {
        /// Number of the entry.
        file: u64,
        /// Size in bytes.
        size: u64,
        /// SHA-256 digest of the whole file.
        sha256: Digest,
    },
    /// The receiver has stored everything on disk and verified all digests.
    Stored {
        /// Number of files.
        files: u64,
        /// Bytes of all files.
        size: u64,
        /// Digest of the file, if it is the only entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<Digest>,
    },
    /// Keep-alive: the sender has nothing to send, because its disk or pipe is slow or it waits for the verdict.
    Alive,
}

impl Control {
    pub(crate) fn rejected(reason: impl ToString) -> Self {
        Self::Rejected {
            reason: reason.to_string().chars().take(LONGEST_REASON).collect(),
        }
    }

    pub(crate) fn message(&self) -> Message {
        let text = serde_json::to_vec(self).expect("invariant: control messages have string keys only");
        Message::new(CONTROL, text)
    }

    pub(crate) async fn send(&self, association: &Association) -> Result<(), SendError> {
        association.send(self.message()).await.map(|_| ())
    }

    /// # Errors
    ///
    /// Fails if the message is too long or is not a valid control message.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Violation> {
        if bytes.len() > LONGEST {
            return Err(Violation::LongControl);
        }
        serde_json::from_slice(bytes).map_err(|_| Violation::UnknownControl)
    }
}

/// A received message, classified by its stream.
#[derive(Debug)]
pub(crate) enum Heard {
    Control(Control),
    /// Unparsed data; only receivers expect data.
    Data(Bytes),
    /// Unparsed hole of a sparse file.
    Hole(Bytes),
}

impl Heard {
    pub(crate) fn parse(message: ReceivedMessage) -> Result<Self, Violation> {
        match message.stream {
            CONTROL => Control::parse(&message.payload).map(Self::Control),
            HOLES => Ok(Self::Hole(message.payload)),
            _ => Ok(Self::Data(message.payload)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Kind, Time};
    use super::super::octets::Octets;
    use super::*;

    fn entry(path: &str, target: Option<String>) -> Entry {
        Entry {
            path: path.into(),
            kind: Kind::File,
            size: Some(9),
            target,
            mode: Some(0o644),
            modified: Some(Time(1_700_000_000, 5)),
        }
    }

    #[test]
    fn control_messages_match_the_document() {
        let offer = Control::Offer {
            version: 2,
            name: "a.iso".into(),
            entries: Some(1),
            size: Some(7),
            space: None,
            id: None,
        };
        assert_eq!(
            &offer.message().payload[..],
            br#"{"type":"offer","version":2,"name":"a.iso","entries":1,"size":7}"#
        );
        let entry = Control::Entry(entry("a/b", None));
        assert_eq!(
            &entry.message().payload[..],
            br#"{"type":"entry","path":"a/b","kind":"file","size":9,"mode":420,"modified":[1700000000,5]}"#
        );
        assert_eq!(&Control::Alive.message().payload[..], br#"{"type":"alive"}"#);
        assert_eq!(
            Control::parse(br#"{"type":"offer","version":1,"name":"a","x":{}}"#),
            Ok(Control::Offer {
                version: 1,
                name: "a".into(),
                entries: None,
                size: None,
                space: None,
                id: None,
            })
        );
    }

    #[test]
    fn control_messages_are_read_as_written() {
        let sha256 = super::super::digest::Hasher::default().finish();
        let longest = "\u{1}".repeat(4_095);
        let (spake, proof) = (Octets([7; 33]), Octets([0xF0; 32]));
        let all = [
            Control::Offer {
                version: 2,
                name: longest.clone(),
                entries: Some(u64::MAX),
                size: None,
                space: Some(1),
                id: Some("0".repeat(64)),
            },
            Control::Entry(entry(&longest, Some(longest.clone()))),
            Control::Done,
            Control::Want {
                file: u64::MAX,
                from: u64::MAX,
            },
            Control::Have { file: 0 },
            Control::Skipped {
                file: 0,
                reason: "r".into(),
            },
            Control::Prove { version: 2, spake },
            Control::Proven { spake, proof },
            Control::Proof { proof },
            Control::Check { version: 1 },
            Control::Checked {
                address: ([192, 0, 2, 1], 9899).into(),
            },
            Control::Accept { version: 1 },
            Control::Waiting { ahead: u64::MAX },
            Control::rejected("\u{1}".repeat(10_000)),
            Control::End {
                file: 3,
                size: u64::MAX,
                sha256,
            },
            Control::Stored {
                files: 1,
                size: 7,
                sha256: Some(sha256),
            },
            Control::Alive,
        ];
        for control in all {
            assert_eq!(Control::parse(&control.message().payload), Ok(control));
        }
    }

    #[test]
    fn invalid_control_messages_are_violations() {
        let deep = "[".repeat(4_000);
        let bad: [&[u8]; 8] = [
            b"",
            b"{}",
            b"\xff\xfe",
            br#"{"type":"offer","version":-1,"name":"a"}"#,
            br#"{"type":"offer","version":1}"#,
            br#"{"type":"end","size":1e3,"sha256":"00"}"#,
            br#"{"type":"hello"}"#,
            deep.as_bytes(),
        ];
        for bytes in bad {
            assert_eq!(
                Control::parse(bytes),
                Err(Violation::UnknownControl),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
        assert_eq!(Control::parse(&[b' '; 65_537]), Err(Violation::LongControl));
    }
}
