//! Control messages. What do sender and receiver say to each other besides data? A few short messages on stream 0, in order.
//!
//! The whole protocol is in docs/transfer-protocol.md.

use anabranch::{Association, Bytes, Message, ReceivedMessage, SendError, StreamId};
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::error::Violation;

/// The version of the protocol that this program speaks.
pub(crate) const VERSION: u32 = 1;

/// The stream of control messages; everything else is data.
pub(crate) const CONTROL: StreamId = StreamId(0);

/// The longest control message, in bytes: a name of 255 bytes fits however it is escaped.
const LONGEST: usize = 4_096;

/// The longest reason that is told to a peer, in characters.
const LONGEST_REASON: usize = 400;

/// A control message, in JSON. Unknown fields are ignored: a later version may add some.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Control {
    /// The sender has a file. Every version of the protocol begins with these fields.
    Offer {
        /// See [`VERSION`].
        version: u32,
        /// Not trusted; see [`super::FileName`].
        name: String,
        /// In bytes; absent if the sender does not know it, because it reads from a pipe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// The receiver takes it: data may come.
    Accept {
        /// The version that is spoken from here on.
        version: u32,
    },
    /// The receiver does not take it, or could not store it.
    Rejected {
        /// For people.
        reason: String,
    },
    /// The sender has sent everything.
    End {
        /// In bytes.
        size: u64,
        /// Of the whole file.
        sha256: Digest,
    },
    /// The receiver has the file on its disk, with this digest.
    Stored {
        /// The name it has there.
        name: String,
        /// Computed from what arrived.
        sha256: Digest,
    },
    /// The sender is there and has nothing to say: its disk or pipe is slow, or it waits for the verdict.
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
    /// It is too long, or no control message.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Violation> {
        if bytes.len() > LONGEST {
            return Err(Violation::LongControl);
        }
        serde_json::from_slice(bytes).map_err(|_| Violation::UnknownControl)
    }
}

/// What arrived, by its stream.
#[derive(Debug)]
pub(crate) enum Heard {
    Control(Control),
    /// Still to be parsed: only receivers expect data.
    Data(Bytes),
}

impl Heard {
    pub(crate) fn parse(message: ReceivedMessage) -> Result<Self, Violation> {
        match message.stream {
            CONTROL => Control::parse(&message.payload).map(Self::Control),
            _ => Ok(Self::Data(message.payload)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_messages_are_what_the_document_says() {
        let offer = Control::Offer {
            version: 1,
            name: "a.iso".into(),
            size: Some(7),
        };
        assert_eq!(
            &offer.message().payload[..],
            br#"{"type":"offer","version":1,"name":"a.iso","size":7}"#
        );
        assert_eq!(&Control::Alive.message().payload[..], br#"{"type":"alive"}"#);
        assert_eq!(
            Control::parse(br#"{"type":"offer","version":1,"name":"a","x":{}}"#),
            Ok(Control::Offer {
                version: 1,
                name: "a".into(),
                size: None
            })
        );
    }

    #[test]
    fn what_is_said_can_be_read() {
        let sha256 = super::super::digest::Hasher::default().finish();
        let longest = "\u{1}".repeat(255);
        let all = [
            Control::Offer {
                version: 1,
                name: longest.clone(),
                size: None,
            },
            Control::Accept { version: 1 },
            Control::rejected("\u{1}".repeat(10_000)),
            Control::End {
                size: u64::MAX,
                sha256,
            },
            Control::Stored {
                name: longest,
                sha256,
            },
            Control::Alive,
        ];
        for control in all {
            assert_eq!(Control::parse(&control.message().payload), Ok(control));
        }
    }

    #[test]
    fn what_is_no_control_message_is_a_violation() {
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
        assert_eq!(Control::parse(&[b' '; 4_097]), Err(Violation::LongControl));
    }
}
