//! Messages that are sent in parts.

use std::io::ErrorKind;

use anabranch::{
    Association, AssociationConfig, BufferSize, CloseReason, Endpoint, Extent, Message, MessagePart,
    RecvError, SendError, StreamId, TrySendError,
};
use tokio::io::AsyncWriteExt as _;

use crate::common::{at, in_time, join, pair, text};

const STREAM: StreamId = StreamId(3);

/// Both buffers hold 20,000 bytes.
async fn small_pair() -> (Association, Association, [Endpoint; 2]) {
    let config = AssociationConfig {
        send_buffer: BufferSize::Fixed(20_000),
        receive_buffer: BufferSize::Fixed(20_000),
        ..AssociationConfig::default()
    };
    let builder = || at(&["127.0.0.1:0"]).association_config(config.clone());
    let endpoints = [
        builder().bind().await.unwrap(),
        builder().listen().bind().await.unwrap(),
    ];
    let (alice, bob) = join(&endpoints[0], &endpoints[1]).await;
    (alice, bob, endpoints)
}

/// Bytes of a message, in which no two places look alike.
fn bytes(length: usize) -> Vec<u8> {
    (0..length as u32 / 4).flat_map(u32::to_be_bytes).collect()
}

/// The next message, joined from its parts.
async fn joined(association: &Association) -> Vec<u8> {
    let mut payload = Vec::new();
    loop {
        let part = association.recv_part().await.unwrap().expect("a part");
        payload.extend_from_slice(&part.payload);
        match part.extent {
            Extent::Whole | Extent::End => return payload,
            Extent::Aborted => panic!("the rest does not arrive"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn message_of_a_slow_writer_is_longer_than_both_buffers() {
    in_time(async {
        let (alice, bob, _endpoints) = small_pair().await;
        let sent = bytes(400_000);
        let expected = sent.clone();
        let writer = tokio::spawn(async move {
            let mut message = alice.stream(STREAM).message_writer();
            for chunk in sent.chunks(30_000) {
                message.write_all(chunk).await.unwrap();
                message.flush().await.unwrap();
                // As if the rest did not exist yet.
                while alice.statistics().send_buffer_used > 0 {
                    tokio::task::yield_now().await;
                }
            }
            message.shutdown().await.unwrap();
            assert!(message.id().is_some());
            let late = message.write_all(b"more").await.unwrap_err();
            assert_eq!(late.kind(), ErrorKind::BrokenPipe);
            alice.stream(STREAM).send("next").await.unwrap();
            alice.shutdown().await.unwrap();
        });
        assert!(joined(&bob).await == expected);
        assert_eq!(joined(&bob).await, b"next");
        assert_eq!(bob.recv().await, Ok(None));
        writer.await.unwrap();
    })
    .await;
}

/// Messages of other streams, which wait for the end of the message, fill the buffer; the writer is woken nevertheless.
#[tokio::test]
async fn part_is_sent_although_the_buffer_is_full() {
    in_time(async {
        let (alice, bob, _endpoints) = small_pair().await;
        let first = Message::new(STREAM, bytes(8_000));
        let id = alice.send_part(MessagePart::Beginning(first)).await.unwrap();
        let mut filled = 0;
        while alice.try_send(Message::new(StreamId(0), bytes(4_000))).is_ok() {
            filled += 1;
        }
        let end = MessagePart::End(id, bytes(20_000).into());
        assert_eq!(alice.try_send_part(end.clone()), Err(TrySendError::Full));
        let sent = tokio::spawn(async move { alice.send_part(end).await.map(|_| alice) });
        assert_eq!(joined(&bob).await.len(), 28_000);
        for _ in 0..filled {
            assert_eq!(joined(&bob).await.len(), 4_000);
        }
        sent.await.unwrap().unwrap().shutdown().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn short_message_of_a_writer_arrives_whole() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let mut message = alice.stream(STREAM).message_writer();
        message.write_all(b"one ").await.unwrap();
        message.write_all(b"message").await.unwrap();
        message.shutdown().await.unwrap();
        let received = bob.recv().await.unwrap().unwrap();
        assert_eq!(
            (received.stream, &received.payload[..]),
            (STREAM, &b"one message"[..])
        );

        let nothing = alice
            .stream(STREAM)
            .message_writer()
            .shutdown()
            .await
            .unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::InvalidInput);
    })
    .await;
}

#[tokio::test]
async fn errors_of_parts_name_their_cause() {
    in_time(async {
        let (alice, _bob, _endpoints) = pair().await;
        let id = alice
            .send_part(MessagePart::Beginning(text("begin")))
            .await
            .unwrap();
        assert_eq!(alice.send(text("other")).await, Err(SendError::Unfinished));
        alice.send_part(MessagePart::End(id, "end".into())).await.unwrap();
        let late = MessagePart::Middle(id, "more".into());
        assert_eq!(alice.send_part(late).await, Err(SendError::NoSuchMessage));
        alice.send(text("other")).await.unwrap();
    })
    .await;
}

/// Nobody can finish the message any more, and its beginning is not a message.
#[tokio::test]
async fn association_dropped_in_the_middle_of_a_message_is_aborted() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let mut message = alice.stream(STREAM).message_writer();
        message.write_all(&bytes(1_000)).await.unwrap();
        message.flush().await.unwrap();
        drop(message);
        drop(alice);
        let end = bob.recv().await;
        assert!(
            matches!(end, Err(RecvError::Closed(CloseReason::AbortedByPeer { .. }))),
            "{end:?}"
        );
    })
    .await;
}
