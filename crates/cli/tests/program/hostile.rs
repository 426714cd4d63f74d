//! Hostile peer tests. What does a receiver do with a peer that does not follow the transfer protocol? Ends the association,
//! keeps nothing, and serves the next sender.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch::{Association, AssociationConfig, CloseReason, Endpoint, Message, StreamId};

use tokio::time::timeout;

use crate::harness::Receiver;

/// A peer that can send any message.
pub(crate) struct Peer {
    pub(crate) association: Association,
    _endpoint: Endpoint,
}

impl Peer {
    pub(crate) async fn connect(receiver: &Receiver) -> Self {
        Self::connect_with(receiver, AssociationConfig::default()).await
    }

    async fn connect_with(receiver: &Receiver, config: AssociationConfig) -> Self {
        let builder = Endpoint::builder().insecure().association_config(config);
        let endpoint = builder.local("127.0.0.3:0").bind().await.unwrap();
        let remote: SocketAddr = receiver.to.parse().unwrap();
        let association = endpoint.connect(remote).await.unwrap();
        Self {
            association,
            _endpoint: endpoint,
        }
    }

    pub(crate) async fn control(&self, text: &str) {
        // The receiver may have ended the association already.
        let _ = self
            .association
            .send(Message::new(StreamId(0), text.to_owned()))
            .await;
    }

    async fn data(&self, offset: u64, bytes: &[u8]) {
        let payload = [&0_u64.to_be_bytes(), &offset.to_be_bytes(), bytes].concat();
        self.message(1, payload).await;
    }

    pub(crate) async fn message(&self, stream: u16, payload: Vec<u8>) {
        let message = Message::new(StreamId(stream), payload).unordered();
        let _ = self.association.send(message).await;
    }

    async fn offer(&self, size: u64) {
        self.control(&format!(
            r#"{{"type":"offer","version":2,"name":"victim","entries":1,"size":{size}}}"#
        ))
        .await;
        assert_eq!(self.answer().await, r#"{"type":"accept","version":2}"#);
        self.control(&format!(
            r#"{{"type":"entry","path":"victim","kind":"file","size":{size}}}"#
        ))
        .await;
        assert_eq!(self.answer().await, r#"{"type":"want","file":0,"from":0}"#);
    }

    /// The `end` message of a file of this size, with a wrong digest.
    async fn end(&self, size: u64) {
        let digest = "0".repeat(64);
        self.control(&format!(
            r#"{{"type":"end","file":0,"size":{size},"sha256":"{digest}"}}"#
        ))
        .await;
    }

    pub(crate) async fn answer(&self) -> String {
        self.answer_or_end().await.unwrap()
    }

    /// The next answer, or the reason of the end.
    pub(crate) async fn answer_or_end(&self) -> Result<String, String> {
        match self.association.recv().await {
            Ok(Some(message)) => Ok(String::from_utf8(message.payload.to_vec()).unwrap()),
            _ => Err(self.reason_of_the_end().await),
        }
    }

    pub(crate) async fn reason_of_the_end(&self) -> String {
        match self.association.closed().await {
            CloseReason::AbortedByPeer { causes, .. } => causes,
            other => panic!("ended otherwise: {other}"),
        }
    }
}

/// A runtime in a thread of its own, because the tests block their thread to read lines of the receiver.
pub(crate) fn with_receiver(test: impl AsyncFnOnce(&mut Receiver)) {
    with_patient_receiver("10s", test);
}

fn with_patient_receiver(patience: &str, test: impl AsyncFnOnce(&mut Receiver)) {
    with_receiver_of(&["--timeout", patience], test);
}

pub(crate) fn with_receiver_of(options: &[&str], test: impl AsyncFnOnce(&mut Receiver)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    // The peers of these tests need no keys: what is tested is behind them.
    let options = [&["--insecure"], options].concat();
    let mut receiver = Receiver::start("127.0.0.1", &options);
    runtime.block_on(test(&mut receiver));
}

#[test]
fn peer_without_offer_is_dropped() {
    with_patient_receiver("1s", async |receiver| {
        let mut config = AssociationConfig::default();
        config.policies.set("failover.heartbeat", "0s").unwrap();
        let peer = Peer::connect_with(receiver, config).await;
        let reason = timeout(Duration::from_secs(60), peer.reason_of_the_end()).await;
        assert!(reason.unwrap().contains("nothing was heard"));
    });
}

#[test]
fn unaccepted_peer_gets_a_small_buffer() {
    with_receiver(async |receiver| {
        let peer = Peer::connect(receiver).await;
        assert_eq!(peer.association.statistics().peer_window, 64 << 10);
        peer.offer(10).await;
        assert_eq!(peer.association.statistics().peer_window, 8 << 20);
    });
}

#[test]
fn unsafe_file_names_are_rejected() {
    with_receiver(async |receiver| {
        for name in [
            "../out",
            "/tmp/out",
            "a/../../out",
            "..",
            "",
            "a\\\\b",
            "a\\u0000b",
            "\\u001b[2J",
            ".bashrc",
            "nul",
        ] {
            let peer = Peer::connect(receiver).await;
            peer.control(&format!(
                r#"{{"type":"offer","version":2,"name":"{name}","entries":1,"size":1}}"#
            ))
            .await;
            let answer = peer.answer().await;
            assert!(
                answer.starts_with(r#"{"type":"rejected""#) && answer.contains("the file name"),
                "{name}: {answer}"
            );
            peer.association.abort("");
            receiver.running.event("error");
        }
        assert!(receiver.names().is_empty());
        assert!(!receiver.folder.path().join("../out").exists());
    });
}

/// A sender of a pipe announces the size in `end`, which may arrive before pieces of the file.
#[test]
fn early_end_does_not_exceed_the_size_limit() {
    with_receiver_of(&["--max-size", "1kB"], async |receiver| {
        let peer = Peer::connect(receiver).await;
        peer.control(r#"{"type":"offer","version":2,"name":"victim","entries":1}"#)
            .await;
        assert_eq!(peer.answer().await, r#"{"type":"accept","version":2}"#);
        peer.control(r#"{"type":"entry","path":"victim","kind":"file"}"#)
            .await;
        assert_eq!(peer.answer().await, r#"{"type":"want","file":0,"from":0}"#);
        peer.end(2_000).await;
        let answer = peer.answer().await;
        assert!(answer.contains("at most 1000 bytes"), "{answer}");
        peer.association.abort("");
        receiver.running.event("error");
        assert!(receiver.names().is_empty());
    });
}

#[test]
fn other_version_is_rejected_with_ours() {
    with_receiver(async |receiver| {
        let peer = Peer::connect(receiver).await;
        peer.control(r#"{"type":"offer","version":1,"name":"a","size":1,"other":true}"#)
            .await;
        let answer = peer.answer().await;
        assert!(answer.contains("we speak version 2"), "{answer}");
    });
}

#[test]
fn invalid_messages_abort_the_association() {
    with_receiver(async |receiver| {
        for nonsense in [
            "hello",
            r#"{"type":"accept","version":1}"#,
            &"[".repeat(4_000),
            &"x".repeat(50_000),
        ] {
            let peer = Peer::connect(receiver).await;
            peer.control(nonsense).await;
            let reason = peer.reason_of_the_end().await;
            assert!(
                reason.contains("does not follow the transfer protocol"),
                "{reason}"
            );
        }
        let peer = Peer::connect(receiver).await;
        peer.control(&"x".repeat(300_000)).await;
        let reason = peer.reason_of_the_end().await;
        assert!(reason.contains("message exceeds"), "{reason}");
        let peer = Peer::connect(receiver).await;
        peer.data(0, b"data before the offer").await;
        assert!(peer.reason_of_the_end().await.contains("out of turn"));
        assert!(receiver.names().is_empty());
    });
}

#[test]
fn pieces_beyond_the_offer_are_refused() {
    let piece = [7; 10];
    let cases: [(&[u64], &str); 4] = [
        (&[95], "beyond the end"),
        (&[u64::MAX - 3], "beyond the end"),
        (&[0, 0], "came twice"),
        (&[20, 15], "came twice"),
    ];
    with_receiver(async |receiver| {
        for (offsets, expected) in cases {
            let peer = Peer::connect(receiver).await;
            peer.offer(100).await;
            for offset in offsets {
                peer.data(*offset, &piece).await;
            }
            let reason = peer.reason_of_the_end().await;
            assert!(reason.contains(expected), "{offsets:?}: {reason}");
        }
        assert!(receiver.names().is_empty());
    });
}

#[test]
fn wrong_digest_or_size_leaves_no_file() {
    with_receiver(async |receiver| {
        let peer = Peer::connect(receiver).await;
        peer.offer(10).await;
        peer.data(0, &[7; 10]).await;
        peer.end(10).await;
        let answer = peer.answer().await;
        assert!(answer.contains("another SHA-256"), "{answer}");
        peer.association.abort("");
        receiver.running.event("error");

        let peer = Peer::connect(receiver).await;
        peer.offer(10).await;
        peer.end(11).await;
        assert!(peer.reason_of_the_end().await.contains("size differs"));
        receiver.running.event("error");
        assert!(receiver.names().is_empty());
    });
}

#[test]
fn early_end_leaves_no_file() {
    with_receiver(async |receiver| {
        let peer = Peer::connect(receiver).await;
        peer.offer(10).await;
        peer.data(0, &[7; 5]).await;
        peer.association.shutdown().await.unwrap_or(());
        let error = receiver.running.event("error");
        assert!(
            error["message"].as_str().unwrap().contains("nothing was stored"),
            "{error}"
        );
        assert!(receiver.names().is_empty());
    });
}
