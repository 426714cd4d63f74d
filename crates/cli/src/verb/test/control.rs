//! Control messages of a test. What do client and server tell each other? JSON on stream 0; docs/test.md specifies the protocol.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch::{Association, Message, ReceivedMessage, RecvError, SendError, StreamId};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::figures::Figures;
use super::task::Task;
use crate::failure::Failure;
use crate::network;
use crate::transfer::told_end;

/// Version of the protocol of this program.
pub(super) const VERSION: u32 = 1;

/// Stream of the control messages; all others carry data.
pub(super) const CONTROL: StreamId = StreamId(0);

/// Maximum length of a control message in bytes. The results of the largest test fit, and it is delivered whole.
const LONGEST: usize = super::task::LONGEST as usize;

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
    /// What is wrong with the message.
    fn parse(message: &ReceivedMessage) -> Result<Self, String> {
        if message.stream != CONTROL || message.payload.len() > LONGEST {
            return Err("data instead of a control message".to_owned());
        }
        serde_json::from_slice(&message.payload).map_err(|_| "a control message is not understood".to_owned())
    }
}

/// What an end of a test is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Client,
    Server,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// The other end of a test, by the control association.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer<'p> {
    pub(super) control: &'p Association,
    pub(super) role: Role,
    /// How long it may be silent, or leave a message unread.
    pub(super) patience: Duration,
}

impl Peer<'_> {
    /// The same peer with another patience.
    pub(super) fn within(&self, patience: Duration) -> Self {
        Self { patience, ..*self }
    }

    /// # Errors
    ///
    /// The association has ended, or its send buffer remains full.
    pub(super) async fn send(&self, message: &Control) -> Result<(), Failure> {
        let text = serde_json::to_vec(message).expect("invariant: control messages have string keys only");
        let sent = timeout(self.patience, self.control.send(Message::new(CONTROL, text))).await;
        let sent = sent.map_err(|_| self.failed("reads nothing any more"))?;
        sent.map(drop).map_err(|error| match error {
            SendError::Closed(reason) => self.lost(&told_end(&reason)),
            other => self.lost(&other),
        })
    }

    /// The next control message. Cancel safe.
    ///
    /// # Errors
    ///
    /// The association has ended, or the message is not one.
    pub(super) async fn next(&self) -> Result<Control, Failure> {
        let message = self.control.recv().await.map_err(|error| match error {
            RecvError::Closed(reason) => self.lost(&told_end(&reason)),
            other => self.lost(&other),
        })?;
        let message = message.ok_or_else(|| self.lost(&"it is over"))?;
        Control::parse(&message)
            .map_err(|error| self.failed(&format!("does not follow the protocol of tests: {error}")))
    }

    /// The next control message, if it comes in time.
    ///
    /// # Errors
    ///
    /// As of [`Self::next`].
    pub(super) async fn hear(&self) -> Result<Control, Failure> {
        let heard = timeout(self.patience, self.next()).await;
        heard.map_err(|_| self.silent())?
    }

    /// Waits until the peer ends the association, but not longer than `patience`.
    pub(super) async fn end(&self, patience: Duration) {
        let _ = timeout(patience, network::ended(self.control)).await;
    }

    /// Sends a last message, and waits until the peer ends the association.
    pub(super) async fn tell(&self, message: &Control) {
        if self.send(message).await.is_ok() {
            self.end(self.patience).await;
        }
    }

    /// Nothing was heard for too long.
    pub(super) fn silent(&self) -> Failure {
        let seconds = self.patience.as_secs_f64();
        Failure::Work(format!(
            "nothing was heard from the {} for {seconds} s",
            self.role
        ))
    }

    /// Another message was expected.
    pub(super) fn unexpected(&self, heard: &Control) -> Failure {
        match heard {
            Control::Rejected { reason } => self.failed(&format!("ended the test: {reason}")),
            _ => self.failed("does not follow the protocol of tests; is it anabranch of the same version?"),
        }
    }

    fn failed(&self, what: &str) -> Failure {
        Failure::Work(format!("the {} {what}", self.role))
    }

    fn lost(&self, reason: &dyn fmt::Display) -> Failure {
        let hint = match self.role {
            Role::Client => "",
            Role::Server => "; does `anabranch test --server` run there?",
        };
        self.failed(&format!("ended the test: {reason}{hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::{PathFigures, Sum};
    use super::super::task::tests::example;
    use super::super::task::{MAX_ASSOCIATIONS, MAX_STREAMS};
    use super::*;
    use crate::output::Delays;

    /// As `MAX_PATHS` in `crates/proto/src/path/pairing.rs`.
    const MAX_PATHS: usize = 16;

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
        let address = "192.0.2.1:9899".parse().unwrap();
        let mut kinds = Vec::new();
        let mut next = Some(test);
        while let Some(message) = next.take() {
            // In the order of the document; without a wildcard, so that none is forgotten.
            next = match &message {
                Control::Test { .. } => Some(Control::Accept {
                    version: VERSION,
                    test: "t".to_owned(),
                    same_clock: true,
                }),
                Control::Accept { .. } => Some(Control::rejected("r")),
                Control::Rejected { .. } => Some(Control::Data {
                    test: "t".to_owned(),
                    number: 0,
                }),
                Control::Data { .. } => Some(Control::Ready),
                Control::Ready => Some(Control::Clock {
                    sent: 1,
                    received: None,
                }),
                Control::Clock { .. } => Some(Control::Start {
                    offset: -1,
                    error: None,
                }),
                Control::Start { .. } => Some(Control::Done { messages: 1 }),
                Control::Done { .. } => Some(Control::Stop {
                    messages: 1,
                    figures: figures.clone(),
                }),
                Control::Stop { .. } => Some(Control::Result {
                    figures: figures.clone(),
                }),
                Control::Result { .. } => Some(Control::Check { version: 2 }),
                Control::Check { .. } => Some(Control::Checked { address }),
                Control::Checked { .. } => None,
            };
            let text = serde_json::to_value(&message).unwrap();
            let kind = text["type"].as_str().unwrap().to_owned();
            assert_eq!(serde_json::from_value::<Control>(text).unwrap(), message);
            kinds.push(kind);
        }
        let rows = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        let rows = rows.map(|(kind, _)| kind).skip_while(|kind| *kind != "test");
        assert_eq!(rows.collect::<Vec<_>>(), kinds);
    }

    #[test]
    fn results_of_the_largest_test_fit_a_control_message() {
        let longest = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535".parse().unwrap();
        let path = |index: usize| PathFigures {
            association: u16::try_from(index / MAX_PATHS + 1).unwrap(),
            local: longest,
            remote: longest,
            sent: u64::MAX,
            retransmitted: u64::MAX,
            received: u64::MAX,
            rtt_ms: Some(59_999.999),
        };
        let sum = Sum {
            seconds: 1.0 / 3.0,
            streams: vec![(u64::MAX, u64::MAX); MAX_STREAMS as usize],
        };
        let delays = Delays {
            count: u64::MAX,
            max_ms: 1e9 / 7.0,
            ..Delays::default()
        };
        let figures = Figures {
            sent: Some(sum.clone()),
            received: Some(sum),
            delays: Some(delays),
            abandoned: u64::MAX,
            processor_percent: 1e4 / 3.0,
            paths: (0..usize::from(MAX_ASSOCIATIONS) * MAX_PATHS).map(path).collect(),
        };
        let messages = u64::MAX;
        let text = serde_json::to_vec(&Control::Stop { messages, figures }).unwrap();
        assert!(text.len() <= LONGEST, "{}", text.len());
    }

    #[tokio::test]
    async fn peer_that_reads_nothing_is_given_up() {
        let config = anabranch::AssociationConfig {
            send_buffer: anabranch::BufferSize::Fixed(4_096),
            receive_buffer: anabranch::BufferSize::Fixed(4_096),
            ..anabranch::AssociationConfig::default()
        };
        let endpoint = |address: &str| {
            let builder = anabranch::Endpoint::builder().insecure().local(address);
            builder.association_config(config.clone())
        };
        let server = endpoint("127.0.0.1:0").listen().bind().await.unwrap();
        let client = endpoint("127.0.0.1:0").bind().await.unwrap();
        let control = client.connect(server.local_addrs()[0]).await.unwrap();
        let peer = Peer {
            control: &control,
            role: Role::Server,
            patience: Duration::from_millis(100),
        };
        let message = Control::rejected("r".repeat(LONGEST_REASON));
        let failure = loop {
            if let Err(failure) = peer.send(&message).await {
                break failure;
            }
        };
        assert_eq!(failure.to_string(), "the server reads nothing any more");
    }
}
