//! Messages in both directions.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::num::NonZeroU16;

use anabranch::{
    AssociationConfig, BindError, Bytes, ConnectError, Endpoint, Message, Ppid, SendError, StreamId,
};

use crate::common::{at, client, hasty, in_time, join, next, number_of, numbered, pair, server, text};

#[tokio::test]
async fn messages_are_echoed_over_either_ip_version() {
    in_time(async {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (client, server) = (client(&[address]).await, server(&[address]).await);
            let (alice, bob) = join(&client, &server).await;
            alice
                .send(text("ping").with_ppid(Ppid(51)).unordered())
                .await
                .unwrap();
            let ping = next(&bob).await;
            assert_eq!(
                (ping.payload, ping.ppid, ping.unordered),
                (Bytes::from("ping"), Ppid(51), true)
            );
            bob.stream(StreamId(7)).send("pong").await.unwrap();
            let pong = next(&alice).await;
            assert_eq!((pong.payload, pong.stream), (Bytes::from("pong"), StreamId(7)));
        }
    })
    .await;
}

#[tokio::test]
async fn peer_has_the_address_of_its_socket() {
    let (ours, theirs, endpoints) = pair().await;
    let [client, server] = endpoints.each_ref().map(|endpoint| endpoint.local_addrs()[0]);
    assert_eq!(
        (ours.peer_addr(), theirs.peer_addr()),
        (Some(server), Some(client))
    );
}

#[tokio::test]
async fn a_wildcard_server_is_reached_at_each_address() {
    in_time(async {
        let (client, server) = (client(&["0.0.0.0:0"]).await, server(&["0.0.0.0:0"]).await);
        let port = server.local_addrs()[0].port();
        let addresses = anabranch::io::usable_addresses().unwrap();
        for address in addresses.into_iter().filter(IpAddr::is_ipv4) {
            let connected = tokio::join!(client.connect((address, port)), server.accept());
            let (alice, bob) = (connected.0.unwrap(), connected.1.unwrap());
            alice.send(text("to one of many")).await.unwrap();
            assert_eq!(next(&bob).await.payload, "to one of many");
        }
    })
    .await;
}

#[tokio::test]
async fn sctp_over_raw_sockets_works_if_permitted() {
    in_time(async {
        // Different addresses, because every raw socket sees all that is sent to its address.
        let [ours, theirs] = ["127.0.9.1", "127.0.9.2"].map(|address| address.parse().unwrap());
        let server = match Endpoint::builder()
            .insecure()
            .local_raw(theirs)
            .listen()
            .bind()
            .await
        {
            Err(BindError::Socket(error)) if error.kind() == ErrorKind::PermissionDenied => return,
            server => server.unwrap(),
        };
        let client = Endpoint::builder()
            .insecure()
            .local_raw(ours)
            .bind()
            .await
            .unwrap();
        let (alice, bob) = join(&client, &server).await;
        for number in 0..100 {
            alice.send(numbered(number, 2_000)).await.unwrap();
        }
        for number in 0..100 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
    })
    .await;
}

/// The host answers that it has no SCTP (ICMP Protocol Unreachable): the kernel has none, and no raw socket has this address.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn raw_connect_to_host_without_sctp_is_refused() {
    in_time(async {
        let client = Endpoint::builder()
            .insecure()
            .local_raw("127.0.9.3".parse().unwrap());
        let client = match client.bind().await {
            Err(BindError::Socket(error)) if error.kind() == ErrorKind::PermissionDenied => return,
            client => client.unwrap(),
        };
        let connected = client.connect(("127.0.9.4", 0)).await;
        assert!(matches!(connected, Err(ConnectError::Refused)), "{connected:?}");
    })
    .await;
}

#[tokio::test]
async fn messages_keep_their_boundaries_and_order() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let sizes = [4, 1_400, 100_000, 5, 1 << 20, 64];
        let sender = tokio::spawn(async move {
            for (number, size) in (0..).zip(sizes) {
                alice.send(numbered(number, size)).await.unwrap();
            }
            alice.shutdown().await.unwrap();
        });
        for (number, size) in (0..).zip(sizes) {
            let payload = next(&bob).await.payload;
            assert_eq!((number_of(&payload), payload.len()), (number, size));
        }
        assert_eq!(bob.recv().await, Ok(None));
        sender.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn connect_to_a_silent_address_fails() {
    in_time(async {
        let client = at(&["127.0.0.1:0"])
            .association_config(hasty())
            .bind()
            .await
            .unwrap();
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = client.connect(silent.local_addr().unwrap()).await.unwrap_err();
        assert!(matches!(error, ConnectError::NoAnswer), "{error}");
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_that_does_not_listen_refuses() {
    in_time(async {
        let (client, deaf) = (client(&["127.0.0.1:0"]).await, client(&["127.0.0.1:0"]).await);
        let error = client.connect(&deaf.local_addrs()[..]).await.unwrap_err();
        assert!(matches!(error, ConnectError::Failed(_)), "{error}");
    })
    .await;
}

#[tokio::test]
async fn invalid_messages_are_refused_with_the_reason() {
    in_time(async {
        let (alice, _bob, _endpoints) = pair().await;
        assert_eq!(alice.send(text("")).await, Err(SendError::Empty));
        let max = 4 << 20; // the send buffer
        assert_eq!(
            alice.send(numbered(0, max + 1)).await,
            Err(SendError::TooLarge { max })
        );
        let beyond = Message::new(StreamId(u16::MAX), "x");
        assert!(matches!(
            alice.send(beyond).await,
            Err(SendError::InvalidStream { .. })
        ));
    })
    .await;
}

#[tokio::test]
async fn a_dropped_recv_loses_nothing() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        for number in 0..100 {
            alice.send(numbered(number, 100)).await.unwrap();
            let mut expected = number;
            while expected == number {
                tokio::select! {
                    biased;
                    () = tokio::task::yield_now() => {}
                    message = bob.recv() => {
                        assert_eq!(number_of(&message.unwrap().unwrap().payload), number);
                        expected += 1;
                    }
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn several_tasks_share_the_messages() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let bob = bob.clone();
                tokio::spawn(async move {
                    let mut count = 0;
                    while bob.recv().await.unwrap().is_some() {
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        for number in 0..1_000 {
            alice.send(numbered(number, 500)).await.unwrap();
        }
        alice.shutdown().await.unwrap();
        let mut total = 0;
        for worker in workers {
            total += worker.await.unwrap();
        }
        assert_eq!(total, 1_000);
    })
    .await;
}

/// The streams of the first messages that arrive when two streams have `each` messages to send, and `prepare` has set
/// how they are scheduled.
async fn first_streams(
    scheduler: &str,
    each: usize,
    count: usize,
    prepare: impl FnOnce(&anabranch::Association),
) -> Vec<u16> {
    let mut config = AssociationConfig::default();
    config.policies.set("stream-scheduler", scheduler).unwrap();
    let builder = || at(&["127.0.0.1:0"]).association_config(config.clone());
    let client = builder().bind().await.unwrap();
    let server = builder().listen().bind().await.unwrap();
    let (alice, bob) = join(&client, &server).await;
    prepare(&alice);
    // Nothing is sent while this task does not pause.
    for stream in [0, 1] {
        for _ in 0..each {
            alice
                .try_send(Message::new(StreamId(stream), vec![7; 1_000]))
                .unwrap();
        }
    }
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(next(&bob).await.stream.0);
    }
    streams
}

#[tokio::test]
async fn a_high_priority_stream_is_sent_first() {
    in_time(async {
        let streams = first_streams("priority", 20, 40, |alice| {
            alice.set_stream_priority(StreamId(0), 7).unwrap();
            let nowhere = alice.set_stream_priority(StreamId(u16::MAX), 1);
            assert!(matches!(nowhere, Err(SendError::InvalidStream { .. })));
        });
        assert_eq!(streams.await, [[1; 20], [0; 20]].concat());
    })
    .await;
}

#[tokio::test]
async fn a_stream_gets_in_proportion_to_its_weight() {
    in_time(async {
        let streams = first_streams("wfq", 40, 40, |alice| {
            let three = NonZeroU16::new(3).unwrap();
            alice.set_stream_weight(StreamId(1), three).unwrap();
            let nowhere = alice.set_stream_weight(StreamId(u16::MAX), three);
            assert!(matches!(nowhere, Err(SendError::InvalidStream { .. })));
        });
        let heavy = streams.await.iter().filter(|stream| **stream == 1).count();
        assert!((28..=32).contains(&heavy), "{heavy} of 40");
    })
    .await;
}

#[tokio::test]
async fn stream_settings_of_a_closed_association_fail() {
    in_time(async {
        let (alice, _bob, _endpoints) = pair().await;
        alice.abort("enough");
        alice.closed().await;
        let priority = alice.set_stream_priority(StreamId(0), 1);
        assert!(matches!(priority, Err(SendError::Closed(_))));
        let weight = alice.set_stream_weight(StreamId(0), NonZeroU16::MIN);
        assert!(matches!(weight, Err(SendError::Closed(_))));
    })
    .await;
}
