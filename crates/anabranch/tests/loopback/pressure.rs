//! Does memory stay bounded when one side is slow?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anabranch::{AssociationConfig, TrySendError};

use crate::common::{at, join, next, number_of, numbered, pair, story};

const BUFFER: u64 = 256 << 10;

/// What lies between the buffers: messages already handed to the receiving application's side.
const IN_BETWEEN: u64 = 128 << 10;

fn small_buffers() -> AssociationConfig {
    AssociationConfig {
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        max_message: 64 << 10,
        ..AssociationConfig::default()
    }
}

#[tokio::test]
async fn a_receiver_that_does_not_read_holds_the_sender_back() {
    story(async {
        let server = at(&["127.0.0.1:0"])
            .association_config(small_buffers())
            .listen()
            .bind()
            .await
            .unwrap();
        let client = at(&["127.0.0.1:0"])
            .association_config(small_buffers())
            .bind()
            .await
            .unwrap();
        let (alice, bob) = join(&client, &server).await;
        let sent = Arc::new(AtomicU64::new(0));
        let (counter, watched) = (Arc::clone(&sent), alice.clone());
        let total = 4_000;
        let sender = tokio::spawn(async move {
            for number in 0..total {
                alice.send(numbered(number, 1_000)).await.unwrap();
                counter.fetch_add(1_000, Ordering::Relaxed);
            }
            alice.shutdown().await.unwrap();
        });
        let is_stuck = || {
            let now = watched.statistics();
            now.peer_window < 3_000 && now.send_buffer_used + 1_000 > BUFFER
        };
        while !is_stuck() {
            tokio::task::yield_now().await;
        }
        let taken = sent.load(Ordering::Relaxed);
        assert!(taken <= 2 * BUFFER + IN_BETWEEN, "{taken} bytes were taken");
        assert!(bob.statistics().receive_buffer_used <= BUFFER);
        for number in 0..total {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
        assert_eq!(bob.recv().await, Ok(None));
        sender.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_full_buffer_is_told_to_who_does_not_want_to_wait() {
    story(async {
        let (alice, bob, _endpoints) = pair().await;
        let mut taken = 0;
        // Nothing is acknowledged while this task does not pause: the buffer of 4 MiB must fill.
        while alice.try_send(numbered(taken, 10_000)).is_ok() {
            taken += 1;
        }
        assert_eq!(alice.try_send(numbered(taken, 10_000)), Err(TrySendError::Full));
        assert!((200..=420).contains(&taken), "{taken} messages were taken");
        for number in 0..taken {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
        alice.flushed().await.unwrap();
        assert_eq!(alice.statistics().send_buffer_used, 0);
        alice.try_send(numbered(taken, 10_000)).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_senders_wait_for_room_and_all_get_it() {
    story(async {
        let (alice, bob, _endpoints) = pair().await;
        let senders: Vec<_> = (0..8)
            .map(|_| {
                let alice = alice.clone();
                tokio::spawn(async move {
                    for number in 0..1_000 {
                        alice.send(numbered(number, 2_000)).await.unwrap();
                    }
                })
            })
            .collect();
        let mut received = 0;
        while received < 8_000 {
            next(&bob).await;
            received += 1;
        }
        for sender in senders {
            sender.await.unwrap();
        }
    })
    .await;
}
