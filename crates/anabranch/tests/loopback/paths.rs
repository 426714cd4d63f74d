//! Several paths, and the failure of one of them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use anabranch::io::{Incoming, Outgoing, Socket};
use anabranch::{
    Association, AssociationConfig, AssociationEvent, CloseReason, Endpoint, PathChange, PolicyRecipe,
    Reachability, StreamId,
};

use crate::common::{at, hasty, in_time, join, number_of, numbered, server};

const TWO: [&str; 2] = ["127.0.0.1:0", "127.0.0.2:0"];

fn round_robin() -> AssociationConfig {
    AssociationConfig {
        policies: PolicyRecipe::cmt(),
        ..AssociationConfig::default()
    }
}

async fn reads_all(association: Association, messages: u32) {
    for number in 0..messages {
        let message = association.recv().await.unwrap().expect("all messages arrive");
        assert_eq!(number_of(&message.payload), number);
    }
    assert_eq!(association.recv().await, Ok(None));
}

#[tokio::test]
async fn ten_megabytes_travel_over_both_paths() {
    in_time(async {
        let server = at(&TWO)
            .association_config(round_robin())
            .listen()
            .bind()
            .await
            .unwrap();
        let client = at(&TWO).association_config(round_robin()).bind().await.unwrap();
        let (alice, bob) = join(&client, &server).await;
        let reader = tokio::spawn(reads_all(bob, 10_000));
        for number in 0..10_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        alice.flushed().await.unwrap();
        let carried: Vec<u64> = alice
            .statistics()
            .paths
            .iter()
            .map(|path| path.counters.payload_sent)
            .collect();
        assert_eq!(carried.len(), 2);
        assert_eq!(carried.iter().sum::<u64>(), 10_000_000);
        assert!(carried.iter().all(|bytes| *bytes > 1_000_000), "{carried:?}");
        alice.shutdown().await.unwrap();
        reader.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_association_uses_ipv4_and_ipv6_paths() {
    in_time(async {
        let mixed = ["127.0.0.1:0", "[::1]:0"];
        let server = at(&mixed)
            .association_config(round_robin())
            .listen()
            .bind()
            .await
            .unwrap();
        let client = at(&mixed).association_config(round_robin()).bind().await.unwrap();
        let (alice, bob) = join(&client, &server).await;
        let reader = tokio::spawn(reads_all(bob, 5_000));
        for number in 0..5_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        alice.flushed().await.unwrap();
        assert!(
            alice
                .statistics()
                .paths
                .iter()
                .all(|path| path.counters.payload_sent > 100_000)
        );
        alice.shutdown().await.unwrap();
        reader.await.unwrap();
    })
    .await;
}

/// A fault of a socket while it is switched on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// Packets are lost.
    Loss,
    /// The system reports that the network is unreachable.
    Unreachable,
    /// The socket is full and stays full.
    Full,
    /// Every other call finds the socket full, and a batch has at most two segments.
    Narrow,
}

/// A socket at a loopback address with a fault that can be switched on.
#[derive(Debug)]
struct FaultySocket {
    socket: Arc<dyn Socket>,
    fault: Fault,
    is_on: AtomicBool,
}

impl FaultySocket {
    fn new(fault: Fault) -> Arc<Self> {
        let socket = anabranch::udp_socket("127.0.0.2:0".parse().unwrap()).unwrap();
        Arc::new(Self {
            socket,
            fault,
            is_on: AtomicBool::new(false),
        })
    }

    fn switch_on(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        match self.fault {
            Fault::Narrow => self.is_on.fetch_xor(true, Ordering::Relaxed),
            _ => self.is_on.load(Ordering::Relaxed),
        }
    }
}

impl Socket for FaultySocket {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        match self.fault {
            Fault::Narrow => 2,
            _ => self.socket.max_segments(),
        }
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        assert!(outgoing.count() <= self.max_segments(), "a batch is split");
        match self.fault {
            _ if !self.is_on() => self.socket.try_send(outgoing),
            Fault::Loss => Ok(()),
            Fault::Unreachable => Err(io::ErrorKind::NetworkUnreachable.into()),
            Fault::Full | Fault::Narrow => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.fault == Fault::Full && self.is_on() {
            return Poll::Pending;
        }
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }
}

async fn nothing_is_lost_despite(fault: Fault) {
    let faulty = FaultySocket::new(fault);
    let server = at(&TWO)
        .association_config(hasty())
        .listen()
        .bind()
        .await
        .unwrap();
    let builder = Endpoint::builder()
        .insecure()
        .association_config(hasty())
        .local("127.0.0.1:0");
    let client = builder
        .socket(Arc::clone(&faulty) as Arc<dyn Socket>)
        .bind()
        .await
        .unwrap();
    let (alice, bob) = join(&client, &server).await;
    let mut events = alice.events();
    let reader = tokio::spawn(reads_all(bob, 4_000));
    for number in 0..1_000 {
        alice.send(numbered(number, 1_000)).await.unwrap();
    }
    alice.flushed().await.unwrap();
    faulty.switch_on();
    for number in 1_000..4_000 {
        alice.send(numbered(number, 1_000)).await.unwrap();
    }
    alice.shutdown().await.unwrap();
    reader.await.unwrap();
    let mut suspected = false;
    while let Some(event) = events.next().await {
        match event {
            AssociationEvent::Path(event) if event.addr.local == faulty.local_addr() => {
                let change = PathChange::Reachability(Reachability::Active);
                suspected |= matches!(event.change, PathChange::Reachability(_)) && event.change != change;
            }
            AssociationEvent::Closed(_) => break,
            _ => {}
        }
    }
    assert!(suspected, "the path was noticed to be dead");
}

#[tokio::test]
async fn cut_link_loses_no_message() {
    in_time(nothing_is_lost_despite(Fault::Loss)).await;
}

#[tokio::test]
async fn a_socket_error_does_not_end_the_association() {
    in_time(nothing_is_lost_despite(Fault::Unreachable)).await;
}

/// Queued packets are lost with the peer's first incarnation, because the socket sends nothing any more.
#[tokio::test]
async fn low_water_returns_when_the_peer_restarts() {
    in_time(async {
        let server = server(&["127.0.0.1:0"]).await;
        let from_one_port = || {
            let config = AssociationConfig {
                local_sctp_port: Some(40_000),
                ..AssociationConfig::default()
            };
            Endpoint::builder().insecure().association_config(config)
        };
        let faulty = FaultySocket::new(Fault::Loss);
        let here = faulty.local_addr().to_string();
        let client = from_one_port().socket(Arc::clone(&faulty) as Arc<dyn Socket>);
        let client = client.bind().await.unwrap();
        let (alice, bob) = join(&client, &server).await;
        faulty.switch_on();
        for number in 0..100 {
            bob.send(numbered(number, 10_000)).await.unwrap();
        }
        let waiting = tokio::spawn(async move { bob.stream(StreamId(0)).low_water(1_000).await });
        // Its last packet is lost.
        alice.abort("gone");
        drop((alice, client, faulty));
        let client = loop {
            match from_one_port().local(here.as_str()).bind().await {
                Ok(client) => break client,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let _alice = client.connect(&server.local_addrs()[..]).await.unwrap();
        waiting.await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn association_whose_only_socket_stays_full_ends() {
    in_time(async {
        let socket = FaultySocket::new(Fault::Full);
        let server = server(&["127.0.0.1:0"]).await;
        let builder = Endpoint::builder().insecure().association_config(hasty());
        let client = builder.socket(socket.clone()).bind().await.unwrap();
        let (alice, _bob) = join(&client, &server).await;
        socket.switch_on();
        alice.send(numbered(0, 1_000)).await.unwrap();
        assert_eq!(alice.closed().await, CloseReason::PeerUnreachable);
    })
    .await;
}

#[tokio::test]
async fn a_socket_that_is_sometimes_full_loses_nothing() {
    in_time(async {
        let server = at(&TWO)
            .association_config(round_robin())
            .listen()
            .bind()
            .await
            .unwrap();
        let builder = Endpoint::builder()
            .insecure()
            .association_config(round_robin())
            .local("127.0.0.1:0");
        let client = builder
            .socket(FaultySocket::new(Fault::Narrow))
            .bind()
            .await
            .unwrap();
        let (alice, bob) = join(&client, &server).await;
        let reader = tokio::spawn(reads_all(bob, 5_000));
        for number in 0..5_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        alice.shutdown().await.unwrap();
        reader.await.unwrap();
    })
    .await;
}
