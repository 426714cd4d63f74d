//! Readiness without futures: a hook is called, and nothing waits.

use std::sync::mpsc;

use anabranch::{Message, Readiness, StreamId, TryRecvError, TrySendError};

use crate::common::{in_time, pair, text};

#[tokio::test]
async fn hook_tells_of_messages_and_of_the_end() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let (ready, changes) = mpsc::channel();
        assert!(bob.on_readiness(move |readiness| ready.send(readiness).unwrap_or_default()));
        assert!(!bob.on_readiness(|_| {}), "there is one already");
        assert!(!bob.is_readable());
        assert_eq!(bob.try_recv_part(), Err(TryRecvError::Empty));
        alice.send(text("hello")).await.unwrap();
        alice.flushed().await.unwrap();
        assert!(bob.is_readable());
        assert_eq!(bob.try_recv_part().unwrap().unwrap().payload, "hello");
        assert!(!bob.is_readable());
        alice.shutdown().await.unwrap();
        bob.closed().await;
        assert!(bob.is_readable());
        assert_eq!(bob.try_recv_part(), Ok(None));
        let told: Vec<Readiness> = changes.try_iter().collect();
        assert!(told.contains(&Readiness::Receive));
        assert!(told.contains(&Readiness::Both));
    })
    .await;
}

#[tokio::test]
async fn hook_tells_when_a_full_buffer_has_room() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let (ready, mut changes) = tokio::sync::mpsc::unbounded_channel();
        alice.on_readiness(move |readiness| ready.send(readiness).unwrap_or_default());
        let message = || Message::new(StreamId(0), vec![7; 64 << 10]);
        while alice.try_send(message()) != Err(TrySendError::Full) {}
        let reader = tokio::spawn(async move { while let Ok(Some(_)) = bob.recv().await {} });
        while changes.recv().await != Some(Readiness::Send) {}
        alice.try_send(message()).unwrap();
        alice.shutdown().await.unwrap();
        reader.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn ports_and_streams_of_both_ends_match() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let ((ours, theirs), (outbound, inbound)) = (alice.sctp_ports(), alice.streams());
        assert_eq!(bob.sctp_ports(), (theirs, ours));
        assert_eq!(bob.streams(), (inbound, outbound));
        assert!(theirs > 0 && outbound > 0);
    })
    .await;
}
