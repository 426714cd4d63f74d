//! The end of associations and endpoints.

use anabranch::{AssociationEvent, CloseReason, ConnectError, Endpoint, RecvError, SendError};

use crate::common::{TIME_LIMIT, at, client, in_time, join, next, number_of, numbered, pair, server, text};

#[tokio::test]
async fn shutdown_loses_nothing() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        for number in 0..1_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        let end = tokio::spawn(async move { alice.shutdown().await });
        for number in 0..1_000 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
        assert_eq!(bob.recv().await, Ok(None));
        assert_eq!(end.await.unwrap(), Ok(()));
        assert_eq!(bob.closed().await, CloseReason::Finished);
        assert_eq!(bob.recv().await, Ok(None), "the end stays the end");
    })
    .await;
}

//= rfc9260 9-1
#[tokio::test]
async fn dropping_the_last_handle_delivers_sent_messages() {
    in_time(async {
        let (alice, bob, endpoints) = pair().await;
        let stream = alice.stream(anabranch::StreamId(0));
        drop(alice);
        for number in 0..500 {
            stream.send(numbered(number, 1_000).payload).await.unwrap();
        }
        drop((stream, endpoints));
        for number in 0..500 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
        assert_eq!(bob.recv().await, Ok(None));
    })
    .await;
}

#[tokio::test]
async fn a_peer_can_finish_after_our_handle_is_dropped() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        drop(bob);
        // More than the receive buffer: nobody reads it, and it must not block.
        let sent = async {
            for number in 0..10_000 {
                alice.send(numbered(number, 1_000)).await?;
            }
            Ok::<(), SendError>(())
        };
        let outcome = sent.await;
        assert!(
            matches!(
                outcome,
                Err(SendError::Closing | SendError::Closed(CloseReason::Finished))
            ),
            "{outcome:?}"
        );
        assert_eq!(alice.closed().await, CloseReason::Finished);
    })
    .await;
}

#[tokio::test]
async fn an_abort_is_seen_by_both_sides() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let mut events = bob.events();
        alice.abort("enough");
        let RecvError::Closed(reason) = bob.recv().await.unwrap_err() else {
            panic!("all messages are short");
        };
        assert!(
            matches!(&reason, CloseReason::AbortedByPeer { reason: Some(text), .. } if text == "enough"),
            "{reason}"
        );
        assert_eq!(
            bob.send(text("too late")).await,
            Err(SendError::Closed(reason.clone()))
        );
        assert_eq!(alice.closed().await, CloseReason::Aborted);
        assert_eq!(alice.flushed().await.unwrap_err().0, CloseReason::Aborted);
        let mut last = None;
        while let Some(event) = events.next().await {
            last = Some(event);
        }
        assert_eq!(last, Some(AssociationEvent::Closed(reason)));
        assert_eq!(bob.events().next().await, None, "what is over tells nothing");
    })
    .await;
}

#[tokio::test]
async fn messages_before_an_abort_can_be_read() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        for number in 0..200 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        alice.flushed().await.unwrap();
        alice.abort("and goodbye");
        bob.closed().await;
        for number in 0..200 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
        assert!(bob.recv().await.is_err());
    })
    .await;
}

#[tokio::test]
async fn closing_an_endpoint_waits_for_its_associations() {
    in_time(async {
        let (client, server) = (client(&["127.0.0.1:0"]).await, server(&["127.0.0.1:0"]).await);
        let (alice, bob) = join(&client, &server).await;
        for number in 0..500 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        let close = tokio::spawn(async move {
            client.close().await;
            client
        });
        for number in 0..500 {
            assert_eq!(number_of(&next(&bob).await.payload), number);
        }
        assert_eq!(bob.recv().await, Ok(None));
        bob.shutdown().await.unwrap();
        let client = close.await.unwrap();
        assert_eq!(alice.closed().await, CloseReason::Finished);

        let error = client.connect(&server.local_addrs()[..]).await.unwrap_err();
        assert!(matches!(error, ConnectError::EndpointClosed));
        server.close().await;
        assert!(server.accept().await.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_dropped_connect_leaves_nothing_behind() {
    in_time(async {
        let client = client(&["127.0.0.1:0"]).await;
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = silent.local_addr().unwrap();
        tokio::select! {
            biased;
            _ = client.connect(target) => unreachable!("nobody answers"),
            () = tokio::task::yield_now() => {}
        }
        // It would wait for the association to end, had that not been dropped.
        client.close().await;
    })
    .await;
}

/// One association may wait to be accepted.
async fn server_for_one_at_a_time() -> Endpoint {
    let builder = at(&["127.0.0.1:0"]).listen();
    builder.backlog(1).bind().await.unwrap()
}

#[tokio::test]
async fn the_accept_queue_is_limited() {
    in_time(async {
        let server = server_for_one_at_a_time().await;
        let client = client(&["127.0.0.1:0"]).await;
        let addresses = server.local_addrs();
        let first = client.connect(&addresses[..]).await.unwrap();
        let second = client.connect(&addresses[..]).await;
        assert!(
            matches!(
                second,
                Err(ConnectError::Failed(CloseReason::AbortedByPeer { .. }))
            ),
            "{second:?}"
        );
        let accepted = server.accept().await.unwrap();
        first.send(text("still here")).await.unwrap();
        assert_eq!(next(&accepted).await.payload, "still here");
    })
    .await;
}

#[tokio::test]
async fn failed_associations_leave_the_accept_queue() {
    in_time(async {
        let server = server_for_one_at_a_time().await;
        let client = client(&["127.0.0.1:0"]).await;
        let addresses = server.local_addrs();
        let first = client.connect(&addresses[..]).await.unwrap();
        first.abort("I cannot wait");
        let second = client.connect(&addresses[..]).await.unwrap();
        second.send(text("my turn")).await.unwrap();
        let accepted = server.accept().await.unwrap();
        assert_eq!(next(&accepted).await.payload, "my turn");
    })
    .await;
}

#[tokio::test]
async fn messages_before_a_shutdown_are_read_after_a_late_accept() {
    in_time(async {
        let (client, server) = (client(&["127.0.0.1:0"]).await, server(&["127.0.0.1:0"]).await);
        let early = client.connect(&server.local_addrs()[..]).await.unwrap();
        early.send(text("in passing")).await.unwrap();
        early.shutdown().await.unwrap();
        let accepted = server.accept().await.unwrap();
        assert_eq!(next(&accepted).await.payload, "in passing");
    })
    .await;
}

#[test]
fn associations_end_with_their_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (alice, _bob, endpoints) = runtime.block_on(pair());
    drop(runtime);
    assert!(alice.is_closed());
    assert!(alice.try_send(text("into the void")).is_err());
    drop(endpoints);
}

#[tokio::test]
async fn addresses_of_a_closed_endpoint_can_be_reused() {
    in_time(async {
        let (client, server) = (client(&["127.0.0.1:0"]).await, server(&["127.0.0.1:0"]).await);
        let (_alice, bob) = join(&client, &server).await;
        let mut events = bob.events();
        let address = server.local_addrs()[0];
        server.close().await;
        assert!(std::net::UdpSocket::bind(address).is_ok());
        assert_eq!(server.local_addrs(), []);
        assert!(server.add_local("127.0.0.1:0".parse().unwrap()).is_err());
        while events.next().await.is_some() {}
    })
    .await;
}

/// The ICMP message arrives long before the time to connect is over.
#[tokio::test]
async fn connecting_to_a_closed_port_is_refused() {
    in_time(async {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let nobody = std::net::UdpSocket::bind(address).unwrap().local_addr().unwrap();
            let client = at(&[address])
                .connect_timeout(10 * TIME_LIMIT)
                .bind()
                .await
                .unwrap();
            let refused = client.connect(nobody).await.expect_err("nobody is there");
            assert!(matches!(refused, ConnectError::Refused), "{refused}");
        }
    })
    .await;
}

#[tokio::test]
async fn connecting_ends_after_the_time_to_connect() {
    in_time(async {
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = at(&["127.0.0.1:0"]).connect_timeout(std::time::Duration::from_millis(50));
        let client = client.bind().await.unwrap();
        let unanswered = client.connect(silent.local_addr().unwrap()).await;
        let unanswered = unanswered.expect_err("it never answers");
        assert!(matches!(unanswered, ConnectError::NoAnswer), "{unanswered}");
    })
    .await;
}

#[tokio::test]
async fn an_association_is_refused_after_a_look_at_it() {
    in_time(async {
        let (client, server) = (client(&["127.0.0.1:0"]).await, server(&["127.0.0.1:0"]).await);
        let refused = client.connect(&server.local_addrs()[..]).await.unwrap();
        let incoming = server.incoming().await.unwrap();
        assert_eq!(incoming.peer_addr(), Some(client.local_addrs()[0]));
        incoming.refuse("no guests");
        let reason = refused.closed().await;
        assert!(
            matches!(&reason, CloseReason::AbortedByPeer { reason: Some(text), .. } if text == "no guests"),
            "{reason}"
        );
        let dropped = client.connect(&server.local_addrs()[..]).await.unwrap();
        drop(server.incoming().await.unwrap());
        assert!(matches!(
            dropped.closed().await,
            CloseReason::AbortedByPeer { .. }
        ));
        let accepted = client.connect(&server.local_addrs()[..]).await.unwrap();
        accepted.send(text("while you look")).await.unwrap();
        let theirs = server.incoming().await.unwrap().accept();
        assert_eq!(next(&theirs).await.payload, "while you look");
    })
    .await;
}

#[tokio::test]
async fn code_and_reason_of_the_application_reach_the_peer() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        alice.abort_with(7, "too late: go home");
        let reason = bob.closed().await;
        assert_eq!(reason.application_error(), Some((7, "too late: go home")));
        assert_eq!(alice.closed().await.application_error(), None);
    })
    .await;
}

#[tokio::test]
async fn an_idle_association_ends() {
    in_time(async {
        let server = at(&["127.0.0.1:0"]).idle_timeout(std::time::Duration::from_millis(100));
        let server = server.listen().bind().await.unwrap();
        let client = client(&["127.0.0.1:0"]).await;
        let (ours, theirs) = join(&client, &server).await;
        assert_eq!(theirs.closed().await, CloseReason::Idle);
        let reason = ours.closed().await;
        assert!(
            matches!(&reason, CloseReason::AbortedByPeer { reason: Some(text), .. } if text == "idle"),
            "{reason}"
        );
    })
    .await;
}

#[tokio::test]
async fn endpoint_is_idle_when_all_associations_have_ended() {
    in_time(async {
        let (alice, bob, [client, server]) = pair().await;
        let waiting = server.clone();
        let idle = tokio::spawn(async move { waiting.wait_idle().await });
        alice.send(text("bye")).await.unwrap();
        assert_eq!(next(&bob).await.payload, "bye");
        assert!(!idle.is_finished());
        alice.shutdown().await.unwrap();
        idle.await.unwrap();
        client.wait_idle().await;
        assert!(bob.is_closed());
    })
    .await;
}
