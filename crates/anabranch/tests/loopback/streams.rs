//! Streams with a receiver and back-pressure of their own.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use anabranch::{
    Association, AssociationConfig, Bytes, CloseReason, Endpoint, Message, OpenStreamError, Reliability,
    SendOptions, StreamId, StreamLimits, StreamReceiver, StreamRecvError, StreamSendError, StreamSender,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;

use crate::common::{at, in_time, join, pair};

/// Both ends of an association with streams.
async fn with_streams(limits: StreamLimits) -> (Association, Association, [Endpoint; 2]) {
    let config = AssociationConfig {
        partial_reliability: true,
        ..AssociationConfig::default()
    };
    let builder = || {
        at(&["127.0.0.1:0"])
            .association_config(config.clone())
            .streams(limits)
    };
    let client = builder().bind().await.unwrap();
    let server = builder().listen().bind().await.unwrap();
    let (ours, theirs) = join(&client, &server).await;
    (ours, theirs, [client, server])
}

/// Sends back what arrives on each stream, as the stream's own task; on those for which `is_slow`, once
/// `begin` is closed.
fn serve_echo(association: Association, is_slow: fn(StreamId) -> bool, begin: Arc<Semaphore>) {
    tokio::spawn(async move {
        while let Ok((mut sender, mut receiver)) = association.accept_stream().await {
            let begin = Arc::clone(&begin);
            tokio::spawn(async move {
                if is_slow(receiver.id()) {
                    let _ = begin.acquire().await;
                }
                while let Ok(Some(message)) = receiver.recv().await {
                    if sender.send(message.payload).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
}

/// Receives numbered messages to the end; returns how many there were.
async fn count(receiver: &mut StreamReceiver) -> u32 {
    let mut expected = 0;
    while let Some(message) = receiver.recv().await.unwrap() {
        assert_eq!(message.payload[..4], u32::to_be_bytes(expected));
        expected += 1;
    }
    expected
}

fn spawn_writer(mut sender: StreamSender, messages: u32, size: usize) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        for number in 0..messages {
            let mut payload = vec![0; size];
            payload[..4].copy_from_slice(&number.to_be_bytes());
            sender.send(payload).await.unwrap();
        }
    })
}

/// The readers of every other stream read nothing before all others have everything. Without credit, what is sent to them fills the receive
/// buffer 25 times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_echoes_pass_readers_that_do_not_read() {
    in_time(async {
        const STREAMS: usize = 10_000;
        const SIZE: usize = 4 << 10;
        let limits = StreamLimits {
            streams: 2 * STREAMS as u16,
            longest_message: SIZE,
            ..StreamLimits::default()
        };
        let is_slow = |id: StreamId| (id.0 >> 1) & 1 == 0;
        let (client, server, _endpoints) = with_streams(limits).await;
        let begin = Arc::new(Semaphore::new(0));
        serve_echo(server.clone(), is_slow, Arc::clone(&begin));
        let [mut slow, mut fast] = [const { Vec::new() }; 2];
        // All are open before the first one ends, whose id would be used again.
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(client.open_stream().await.unwrap());
        }
        for (sender, mut receiver) in streams {
            let (readers, messages) = if is_slow(sender.id()) {
                (&mut slow, 6)
            } else {
                (&mut fast, 3)
            };
            spawn_writer(sender, messages, SIZE);
            readers.push(tokio::spawn(async move { count(&mut receiver).await }));
        }
        for reader in fast {
            assert_eq!(reader.await.unwrap(), 3);
        }
        let held = server.stream_statistics();
        // Those that do not read are open, whether or not the server knows all of them yet.
        assert!(client.stream_statistics().open >= STREAMS / 2);
        let window_and_message = (16 << 10) + SIZE as u64 + 64;
        assert!(held.unread <= STREAMS as u64 / 2 * window_and_message, "{held:?}");
        assert!(held.unread <= limits.memory());
        assert!(slow.iter().all(|reader| !reader.is_finished()));
        begin.close();
        for reader in slow {
            assert_eq!(reader.await.unwrap(), 6);
        }
    })
    .await;
}

#[tokio::test]
async fn ends_that_have_not_agreed_have_no_streams() {
    in_time(async {
        let (plain, other, _endpoints) = pair().await;
        assert_eq!(plain.open_stream().await.err(), Some(OpenStreamError::NotAgreed));
        let one_sided = at(&["127.0.0.1:0"]).streams(StreamLimits::default());
        let one_sided = one_sided.bind().await.unwrap();
        let server = crate::common::server(&["127.0.0.1:0"]).await;
        let (ours, theirs) = join(&one_sided, &server).await;
        assert_eq!(ours.accept_stream().await.err(), Some(OpenStreamError::NotAgreed));
        theirs.send(Message::new(StreamId(0), "as before")).await.unwrap();
        assert_eq!(crate::common::next(&ours).await.payload, "as before");
        drop(other);
    })
    .await;
}

#[tokio::test]
async fn bytes_are_copied_by_halves_in_two_tasks() {
    in_time(async {
        let (client, server, _endpoints) = with_streams(StreamLimits::default()).await;
        let echo = tokio::spawn(async move {
            let (mut sender, mut receiver) = server.accept_stream().await.unwrap();
            let copied = tokio::io::copy(&mut receiver, &mut sender).await.unwrap();
            sender.shutdown().await.unwrap();
            (copied, server)
        });
        let (mut sender, mut receiver) = client.open_stream().await.unwrap();
        let sent: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8).collect();
        let bytes = sent.clone();
        let writer = tokio::spawn(async move {
            sender.write_all(&bytes).await.unwrap();
            sender.shutdown().await.unwrap();
        });
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).await.unwrap();
        assert!(received == sent);
        writer.await.unwrap();
        assert_eq!(echo.await.unwrap().0, 3_000_000);
    })
    .await;
}

#[tokio::test]
async fn messages_pass_a_sink_and_a_stream_whole() {
    in_time(async {
        let (client, server, _endpoints) = with_streams(StreamLimits::default()).await;
        let (sender, _receiver) = client.open_stream().await.unwrap();
        tokio::spawn(async move {
            let mut sink = pin!(sender);
            for number in 1..=500_usize {
                std::future::poll_fn(|context| {
                    futures_sink::Sink::<Bytes>::poll_ready(sink.as_mut(), context)
                })
                .await
                .unwrap();
                futures_sink::Sink::start_send(sink.as_mut(), Bytes::from(vec![7; number])).unwrap();
            }
            std::future::poll_fn(|context| futures_sink::Sink::<Bytes>::poll_close(sink.as_mut(), context))
                .await
                .unwrap();
        });
        let (_sender, mut receiver) = server.accept_stream().await.unwrap();
        let mut lengths = Vec::new();
        while let Some(message) =
            std::future::poll_fn(|context| futures_core::Stream::poll_next(Pin::new(&mut receiver), context))
                .await
        {
            lengths.push(message.unwrap().payload.len());
        }
        assert_eq!(lengths, (1..=500).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn codes_of_reset_and_stop_reach_the_peer() {
    in_time(async {
        let (client, server, _endpoints) = with_streams(StreamLimits::default()).await;
        let (mut sender, mut receiver) = client.open_stream().await.unwrap();
        sender.send("before").await.unwrap();
        sender.reset(7);
        assert_eq!(sender.send("after").await, Err(StreamSendError::Ended));
        let (mut theirs, mut peer) = server.accept_stream().await.unwrap();
        assert_eq!(peer.recv().await.unwrap().unwrap().payload, "before");
        assert_eq!(peer.recv().await, Err(StreamRecvError::Reset(7)));
        receiver.stop(9);
        assert_eq!(receiver.recv().await, Err(StreamRecvError::Stopped));
        let stopped = loop {
            if let Err(error) = theirs.send(vec![7; 1_000]).await {
                break error;
            }
        };
        assert_eq!(stopped, StreamSendError::Stopped(9));
        assert_eq!(theirs.stopped(), Some(9));
    })
    .await;
}

#[tokio::test]
async fn more_streams_than_ids_follow_one_another() {
    in_time(async {
        let limits = StreamLimits {
            streams: 8,
            ..StreamLimits::default()
        };
        let (client, server, _endpoints) = with_streams(limits).await;
        serve_echo(server, |_| false, Arc::new(Semaphore::new(0)));
        for _ in 0..200 {
            let (sender, mut receiver) = client.open_stream().await.unwrap();
            spawn_writer(sender, 3, 100);
            assert_eq!(count(&mut receiver).await, 3);
        }
    })
    .await;
}

#[tokio::test]
async fn each_message_may_be_unordered_and_partly_reliable() {
    in_time(async {
        let (client, server, _endpoints) = with_streams(StreamLimits::default()).await;
        let (mut sender, _receiver) = client.open_stream().await.unwrap();
        let options = SendOptions::default()
            .unordered()
            .with_reliability(Reliability::Lifetime(Duration::from_secs(60)));
        for number in 0..100_u8 {
            let options = if number % 2 == 0 {
                options
            } else {
                SendOptions::default()
            };
            sender.send_with(vec![number; 50], options).await.unwrap();
        }
        let (_sender, mut receiver) = server.accept_stream().await.unwrap();
        let mut seen = [false; 100];
        for _ in 0..100 {
            let message = receiver.recv().await.unwrap().unwrap();
            assert_eq!(message.unordered, message.payload[0] % 2 == 0);
            assert!(!std::mem::replace(
                &mut seen[usize::from(message.payload[0])],
                true
            ));
        }
    })
    .await;
}

#[tokio::test]
async fn handles_learn_that_the_association_was_aborted() {
    in_time(async {
        let (client, server, _endpoints) = with_streams(StreamLimits::default()).await;
        let (mut sender, mut receiver) = client.open_stream().await.unwrap();
        sender.send("before the end").await.unwrap();
        let (_sender, mut theirs) = server.accept_stream().await.unwrap();
        assert!(theirs.recv().await.unwrap().is_some());
        let waiting = tokio::spawn(async move {
            loop {
                if let Err(error) = theirs.recv().await {
                    return error;
                }
            }
        });
        let writer = tokio::spawn(async move { while sender.send(vec![7; 1_000]).await.is_ok() {} });
        client.abort("enough");
        let ended = waiting.await.unwrap();
        assert!(
            matches!(ended, StreamRecvError::Closed(CloseReason::AbortedByPeer { .. })),
            "{ended}"
        );
        assert!(matches!(receiver.recv().await, Err(StreamRecvError::Closed(_))));
        assert!(matches!(
            server.accept_stream().await,
            Err(OpenStreamError::Closed(_))
        ));
        writer.await.unwrap();
    })
    .await;
}
