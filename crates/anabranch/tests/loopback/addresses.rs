//! Address changes while data is transferred.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch::io::{Incoming, Outgoing, Socket};
use anabranch::{AddressError, Association, AssociationEvent, Endpoint, Events, PathChange, Reachability};

use crate::common::{client, in_time, join, number_of, numbered, server};

/// Waits until a path from `local` can be used.
async fn is_used(events: &mut Events, local: SocketAddr) {
    while let Some(event) = events.next().await {
        if let AssociationEvent::Path(event) = event
            && event.addr.local == local
            && event.change == PathChange::Reachability(Reachability::Active)
        {
            return;
        }
    }
    panic!("the association ended before");
}

fn carried(association: &Association, local: SocketAddr) -> u64 {
    let paths = association.statistics().paths;
    let from_there = paths.iter().filter(|path| path.addr.local == local);
    from_there.map(|path| path.counters.payload_sent).sum()
}

#[tokio::test]
async fn a_transfer_survives_a_change_of_address() {
    in_time(async {
        let server = server(&["127.0.0.1:0"]).await;
        let client = client(&["127.0.0.2:0"]).await;
        let (alice, bob) = join(&client, &server).await;
        let mut events = alice.events();
        let reader = tokio::spawn(async move {
            for number in 0..6_000 {
                let message = bob.recv().await.unwrap().expect("all messages arrive");
                assert_eq!(number_of(&message.payload), number);
            }
            assert_eq!(bob.recv().await, Ok(None));
        });
        for number in 0..2_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        let old = client.local_addrs()[0];
        let new = client.add_local("127.0.0.3:0".parse().unwrap()).unwrap();
        alice.add_local_address(new).unwrap();
        is_used(&mut events, new).await;
        for number in 2_000..4_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        alice.remove_local_address(old).unwrap();
        for number in 4_000..6_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        alice.flushed().await.unwrap();
        client.remove_local(old);
        assert!(carried(&alice, new) >= 2_000_000, "{}", carried(&alice, new));
        assert_eq!(client.local_addrs(), [new]);
        alice.shutdown().await.unwrap();
        reader.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_last_address_cannot_be_removed() {
    in_time(async {
        let server = server(&["127.0.0.1:0"]).await;
        let client = client(&["127.0.0.2:0"]).await;
        let (alice, bob) = join(&client, &server).await;
        let only = client.local_addrs()[0];
        assert_eq!(
            alice.remove_local_address(only),
            Err(AddressError::LastAddress(only))
        );
        drop(bob);
        alice.shutdown().await.unwrap();
        assert_eq!(
            alice.add_local_address("127.0.0.3:9".parse().unwrap()),
            Err(AddressError::NotConnected)
        );
    })
    .await;
}

/// A host moves: for a while it has no address at all.
#[tokio::test]
async fn an_endpoint_without_sockets_waits_for_one() {
    in_time(async {
        let server = server(&["127.0.0.1:0"]).await;
        let client = client(&["127.0.0.2:0"]).await;
        let (alice, _bob) = join(&client, &server).await;
        client.remove_local(client.local_addrs()[0]);
        // Needs the driver, which sends it nowhere.
        alice.send(numbered(0, 1_000)).await.unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        client.add_local("127.0.0.3:0".parse().unwrap()).unwrap();
        join(&client, &server).await;
    })
    .await;
}

#[tokio::test]
async fn an_idle_endpoint_accepts_at_an_added_address() {
    in_time(async {
        let server = server(&["127.0.0.1:0"]).await;
        let client = client(&["127.0.0.2:0"]).await;
        let idle = || async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        };
        idle().await;
        let new = [server.add_local("127.0.0.3:0".parse().unwrap()).unwrap()];
        idle().await;
        let (called, accepted) = tokio::join!(client.connect(&new[..]), server.accept());
        assert!(called.is_ok() && accepted.is_some());
    })
    .await;
}

/// A socket that is always full.
#[derive(Debug)]
struct Stuck;

impl Socket for Stuck {
    fn local_addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 2], 9))
    }

    fn max_segments(&self) -> usize {
        1
    }

    fn try_send(&self, _: &Outgoing<'_>) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn poll_receive(&self, _: &mut Context<'_>, _: &mut [Incoming]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn a_stuck_socket_can_be_replaced() {
    in_time(async {
        let server = server(&["127.0.0.1:0"]).await;
        let client = Endpoint::builder()
            .insecure()
            .socket(Arc::new(Stuck))
            .bind()
            .await
            .unwrap();
        let stuck = client.local_addrs()[0];
        let in_vain = client.connect(server.local_addrs()[0]);
        tokio::select! {
            biased;
            _ = in_vain => panic!("nothing can leave"),
            () = tokio::task::yield_now() => {}
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        client.add_local("127.0.0.3:0".parse().unwrap()).unwrap();
        client.remove_local(stuck);
        join(&client, &server).await;
    })
    .await;
}
