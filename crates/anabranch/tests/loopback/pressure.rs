//! Bounded memory when one side is slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anabranch::{
    Association, AssociationConfig, BufferError, BufferSize, Endpoint, SendError, StreamId, TrySendError,
};

use crate::common::{at, in_time, join, next, number_of, numbered, pair};

const BUFFER: u64 = 256 << 10;

/// Between the buffers: messages already passed to the receiving application's side.
const IN_BETWEEN: u64 = 128 << 10;

fn small_buffers() -> AssociationConfig {
    AssociationConfig {
        send_buffer: BufferSize::Fixed(BUFFER),
        receive_buffer: BufferSize::Fixed(BUFFER),
        max_message: 64 << 10,
        ..AssociationConfig::default()
    }
}

#[tokio::test]
async fn a_receiver_that_does_not_read_blocks_the_sender() {
    in_time(async {
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
async fn try_send_reports_a_full_buffer() {
    in_time(async {
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
async fn many_waiting_senders_all_send() {
    in_time(async {
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

/// The longest message is 64 KiB, so that buffers can be small.
async fn small_pair() -> (Association, Association, [Endpoint; 2]) {
    let builder = || at(&["127.0.0.1:0"]).association_config(small_buffers());
    let endpoints = [
        builder().bind().await.unwrap(),
        builder().listen().bind().await.unwrap(),
    ];
    let (alice, bob) = join(&endpoints[0], &endpoints[1]).await;
    (alice, bob, endpoints)
}

#[tokio::test]
async fn a_writer_continues_when_the_send_buffer_grows() {
    in_time(async {
        let (alice, bob, _endpoints) = small_pair().await;
        let mut taken = 0;
        // Bob does not read: both buffers fill.
        let full = loop {
            match alice.try_send(numbered(taken, 1_000)) {
                Ok(_) => taken += 1,
                Err(TrySendError::Full) if alice.statistics().peer_window < 3_000 => break taken,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let writer = tokio::spawn({
            let alice = alice.clone();
            async move {
                for number in full..full + 200 {
                    alice.send(numbered(number, 1_000)).await.unwrap();
                }
            }
        });
        tokio::task::yield_now().await;
        assert!(!writer.is_finished(), "the buffer is full");
        assert_eq!(alice.set_send_buffer(2 * BUFFER), Ok(()));
        writer.await.unwrap();
        for number in 0..full + 200 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
        assert_eq!(
            alice.set_send_buffer(0_u64),
            Err(BufferError::TooSmall { min: 1_500 })
        );
    })
    .await;
}

#[tokio::test]
async fn writer_is_woken_before_half_the_buffer_is_free() {
    in_time(async {
        let (alice, bob, _endpoints) = small_pair().await;
        alice.set_send_buffer(8 * BUFFER).unwrap();
        let mut taken = 0;
        // Nothing is acknowledged while this task does not pause.
        while alice.try_send(numbered(taken, 1_000)).is_ok() {
            taken += 1;
        }
        // Bob does not read: what his buffer takes is less than half of Alice's, and all that becomes free.
        for number in taken..taken + 100 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        for number in 0..taken + 100 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
    })
    .await;
}

#[tokio::test]
async fn writers_are_woken_after_the_buffer_shrinks() {
    in_time(async {
        let (alice, bob, _endpoints) = small_pair().await;
        let writer = tokio::spawn({
            let alice = alice.clone();
            async move {
                for number in 0..2_000 {
                    alice.send(numbered(number, 1_000)).await.unwrap();
                }
            }
        });
        for number in 0..2_000 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
            if number == 500 {
                alice.set_send_buffer(10_000_u64).unwrap();
            }
        }
        writer.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_larger_receive_buffer_admits_more() {
    in_time(async {
        let (alice, bob, _endpoints) = small_pair().await;
        assert_eq!(
            bob.set_receive_buffer(1_000_u64),
            Err(BufferError::TooSmall { min: 64 << 10 })
        );
        alice.set_send_buffer(8 * BUFFER).unwrap();
        for number in 0..2_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        while alice.statistics().peer_window > 3_000 {
            tokio::task::yield_now().await;
        }
        assert!(bob.statistics().receive_buffer_used <= BUFFER);
        bob.set_receive_buffer(4 * BUFFER).unwrap();
        while bob.statistics().receive_buffer_used < 3 * BUFFER {
            tokio::task::yield_now().await;
        }
        for number in 0..2_000 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
    })
    .await;
}

#[tokio::test]
async fn low_water_keeps_a_little_queued_on_each_stream() {
    in_time(async {
        let (alice, bob, _endpoints) = small_pair().await;
        let feeders: Vec<_> = (0..3)
            .map(|number| {
                let stream = alice.stream(StreamId(number));
                tokio::spawn(async move {
                    for _ in 0..500 {
                        stream.low_water(4_000).await.unwrap();
                        stream.send(vec![7; 1_000]).await.unwrap();
                        assert!(stream.queued() <= 5_000);
                    }
                })
            })
            .collect();
        for _ in 0..1_500 {
            next(&bob).await;
        }
        for feeder in feeders {
            feeder.await.unwrap();
        }
        alice.flushed().await.unwrap();
        let queue = alice.send_queue();
        assert_eq!((queue.limit, queue.used, queue.unsent), (BUFFER, 0, 0));
        assert!(queue.streams.is_empty(), "{queue:?}");
        let nowhere = alice.stream(StreamId(u16::MAX));
        assert!(matches!(
            nowhere.low_water(0).await,
            Err(SendError::InvalidStream { .. })
        ));
    })
    .await;
}

#[tokio::test]
async fn low_water_fails_when_the_association_ends() {
    in_time(async {
        let (alice, _bob, _endpoints) = small_pair().await;
        let stream = alice.stream(StreamId(0));
        // More than Bob, who does not read, and the network hold.
        alice.set_send_buffer(4 * BUFFER).unwrap();
        for number in 0..1_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        let waiter = tokio::spawn(async move { stream.low_water(0).await });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        alice.abort("enough");
        assert!(matches!(waiter.await.unwrap(), Err(SendError::Closed(_))));
        assert_eq!(alice.set_send_buffer(BUFFER), Err(BufferError::NotConnected));
        assert_eq!(alice.set_receive_buffer(BUFFER), Err(BufferError::NotConnected));
    })
    .await;
}
