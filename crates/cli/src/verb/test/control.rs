//! Control messages of a test. What do client and server tell each other? JSON on stream 0; docs/test.md specifies the protocol.

use std::net::SocketAddr;

use anabranch::{Association, Message, ReceivedMessage, StreamId};
use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::task::Task;
use crate::failure::Failure;
use crate::transfer::FINAL;

/// Version of the protocol of this program.
pub(super) const VERSION: u32 = 1;

/// Stream of the control messages; all others carry data.
pub(super) const CONTROL: StreamId = StreamId(0);

/// Maximum length of a control message in bytes. Results of 1,000 streams fit.
const LONGEST: usize = 256 << 10;

/// Maximum length of a reason in characters.
const LONGEST_REASON: usize = 400;

/// A control message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Control {
    /// The client asks for a test.
    Test {
        version: u32,
        task: Task,
        /// Random.
        salt: String,
        /// Names the client's clock, see [`super::clock`].
        clock: String,
    },
    /// The server is ready for the associations that carry data.
    Accept {
        version: u32,
        /// Secret that the associations of the test name.
        test: String,
        /// Whether both ends read the same clock.
        same_clock: bool,
    },
    /// The server refuses, or cannot go on.
    Rejected { reason: String },
    /// First message of an association that carries data.
    Data { test: String, number: u16 },
    /// The server has all associations.
    Ready,
    /// A question of the client for the server's clock, or the answer. Nanoseconds.
    Clock {
        sent: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        received: Option<u64>,
    },
    /// The measurement begins.
    Start {
        /// By how much the server's clock is ahead of the client's, in nanoseconds.
        offset: i64,
        /// By how much `offset` may be wrong; absent if both ends read the same clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<u64>,
    },
    /// The server has sent everything.
    Done { messages: u64 },
    /// The measurement is over, and what the client has measured.
    Stop {
        /// Number of messages that the client has sent, also before the measurement.
        messages: u64,
        figures: Figures,
    },
    /// What the server has measured.
    Result { figures: Figures },
    /// A question of `anabranch check`, as in the transfer protocol.
    Check { version: u32 },
    /// The answer.
    Checked { address: SocketAddr },
}

impl Control {
    pub(super) fn rejected(reason: impl ToString) -> Self {
        Self::Rejected {
            reason: reason.to_string().chars().take(LONGEST_REASON).collect(),
        }
    }

    /// # Errors
    ///
    /// The association has ended.
    pub(super) async fn send(&self, association: &Association) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).expect("invariant: control messages have string keys only");
        let sent = association.send(Message::new(CONTROL, text)).await;
        sent.map(drop).map_err(|error| lost(&error))
    }

    /// # Errors
    ///
    /// What is wrong with the message.
    fn parse(message: &ReceivedMessage) -> Result<Self, String> {
        if message.stream != CONTROL || message.payload.len() > LONGEST {
            return Err("data instead of a control message".to_owned());
        }
        serde_json::from_slice(&message.payload).map_err(|_| "a control message is not understood".to_owned())
    }

    /// The next control message. Cancel safe.
    ///
    /// # Errors
    ///
    /// The association has ended, or the message is not one.
    pub(super) async fn next(association: &Association) -> Result<Self, Failure> {
        let message = association.recv().await.map_err(|error| lost(&error))?;
        let message = message.ok_or_else(|| lost(&"it is over"))?;
        Self::parse(&message).map_err(|error| {
            Failure::Work(format!("the peer does not follow the protocol of tests: {error}"))
        })
    }
}

fn lost(error: &dyn std::fmt::Display) -> Failure {
    // A receiver of files says so to senders that would retry.
    let reason = error.to_string().replace(FINAL, "");
    Failure::Work(format!(
        "the peer ended the test: {reason}; does `anabranch test --server` run there?"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::task::tests::example;
    use super::*;

    #[test]
    fn messages_are_those_of_the_document() {
        let page = include_str!("../../../../../docs/test.md");
        let test = Control::Test {
            version: VERSION,
            task: example(),
            salt: "s".to_owned(),
            clock: "c".to_owned(),
        };
        let figures = Figures::default();
        let all = [
            test,
            Control::Accept {
                version: VERSION,
                test: "t".to_owned(),
                same_clock: true,
            },
            Control::rejected("r"),
            Control::Data {
                test: "t".to_owned(),
                number: 0,
            },
            Control::Ready,
            Control::Clock {
                sent: 1,
                received: None,
            },
            Control::Start {
                offset: -1,
                error: None,
            },
            Control::Done { messages: 1 },
            Control::Stop {
                messages: 1,
                figures: figures.clone(),
            },
            Control::Result { figures },
            Control::Check { version: 2 },
        ];
        for message in all {
            let text = serde_json::to_value(&message).unwrap();
            let kind = text["type"].as_str().unwrap();
            assert!(page.contains(&format!("| `{kind}`")), "{kind}");
            assert_eq!(serde_json::from_value::<Control>(text).unwrap(), message);
        }
    }
}
