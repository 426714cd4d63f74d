//! Readiness without futures: a hook is called, and nothing waits.

use std::sync::mpsc;

use anabranch::{AssociationConfig, ConnectError, Message, Readiness, StreamId, TryRecvError, TrySendError};

use crate::common::{client, in_time, next, pair, server, text};

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

#[tokio::test]
async fn message_sent_before_the_handshake_ends_arrives() {
    in_time(async {
        let (client, server) = (client(&["127.0.0.1:0"]).await, server(&["127.0.0.1:0"]).await);
        let alice = client
            .begin(&server.local_addrs(), &AssociationConfig::default())
            .unwrap();
        alice.try_send(text("early")).unwrap();
        let bob = server.accept().await.unwrap();
        assert_eq!(next(&bob).await.payload, "early");
        alice.established().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn endpoint_accepts_from_when_it_is_told_until_it_is_told_otherwise() {
    in_time(async {
        let (alice, bob) = (client(&["127.0.0.1:0"]).await, client(&["127.0.0.1:0"]).await);
        let addresses = bob.local_addrs();
        let refused = |result| matches!(result, Err(ConnectError::Failed(_) | ConnectError::Refused));
        assert!(refused(alice.connect(&addresses[..]).await));
        bob.accept_with(Some(AssociationConfig::default()));
        let (ours, theirs) = tokio::join!(alice.connect(&addresses[..]), bob.accept());
        assert!(ours.is_ok() && theirs.is_some());
        bob.accept_with(None);
        assert!(refused(alice.connect(&addresses[..]).await));
    })
    .await;
}
