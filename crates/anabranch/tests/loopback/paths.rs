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

/// A socket whose cable can be unplugged, or whose interface can go down.
#[derive(Debug)]
struct Cable {
    socket: Arc<dyn Socket>,
    pulled: AtomicBool,
    /// Instead of dropping packets silently, the system reports that the network is unreachable.
    says_so: bool,
}

impl Cable {
    fn new(says_so: bool) -> Arc<Self> {
        let socket = anabranch::udp_socket("127.0.0.2:0".parse().unwrap()).unwrap();
        Arc::new(Self {
            socket,
            pulled: AtomicBool::new(false),
            says_so,
        })
    }
}

impl Socket for Cable {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.socket.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        match self.pulled.load(Ordering::Relaxed) {
            true if self.says_so => Err(io::ErrorKind::NetworkUnreachable.into()),
            true => Ok(()),
            false => self.socket.try_send(outgoing),
        }
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }
}

async fn sends_while_a_cable_is_unplugged(says_so: bool) {
    let cable = Cable::new(says_so);
    let server = at(&TWO)
        .association_config(hasty())
        .listen()
        .bind()
        .await
        .unwrap();
    let builder = Endpoint::builder()
        .association_config(hasty())
        .local("127.0.0.1:0");
    let client = builder
        .socket(Arc::clone(&cable) as Arc<dyn Socket>)
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
    cable.pulled.store(true, Ordering::Relaxed);
    for number in 1_000..4_000 {
        alice.send(numbered(number, 1_000)).await.unwrap();
    }
    alice.shutdown().await.unwrap();
    reader.await.unwrap();
    let mut suspected = false;
    while let Some(event) = events.next().await {
        match event {
            AssociationEvent::Path(event) if event.addr.local == cable.local_addr() => {
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
    in_time(sends_while_a_cable_is_unplugged(false)).await;
}

#[tokio::test]
async fn a_socket_error_does_not_end_the_association() {
    in_time(sends_while_a_cable_is_unplugged(true)).await;
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
            Endpoint::builder().association_config(config)
        };
        let cable = Cable::new(false);
        let here = cable.local_addr().to_string();
        let client = from_one_port().socket(Arc::clone(&cable) as Arc<dyn Socket>);
        let client = client.bind().await.unwrap();
        let (alice, bob) = join(&client, &server).await;
        cable.pulled.store(true, Ordering::Relaxed);
        for number in 0..100 {
            bob.send(numbered(number, 10_000)).await.unwrap();
        }
        let waiting = tokio::spawn(async move { bob.stream(StreamId(0)).low_water(1_000).await });
        // Its last packet is lost.
        alice.abort("gone");
        drop((alice, client, cable));
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

/// A socket that becomes full and stays full.
#[derive(Debug)]
struct Clogged {
    socket: Arc<dyn Socket>,
    is_full: AtomicBool,
}

impl Socket for Clogged {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.socket.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.socket.try_send(outgoing)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_full.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }
}

#[tokio::test]
async fn association_whose_only_socket_stays_full_ends() {
    in_time(async {
        let clogged = Arc::new(Clogged {
            socket: anabranch::udp_socket("127.0.0.2:0".parse().unwrap()).unwrap(),
            is_full: AtomicBool::new(false),
        });
        let server = server(&["127.0.0.1:0"]).await;
        let builder = Endpoint::builder().association_config(hasty());
        let client = builder.socket(clogged.clone()).bind().await.unwrap();
        let (alice, _bob) = join(&client, &server).await;
        clogged.is_full.store(true, Ordering::Relaxed);
        alice.send(numbered(0, 1_000)).await.unwrap();
        assert_eq!(alice.closed().await, CloseReason::PeerUnreachable);
    })
    .await;
}

/// A socket that is full every other time, with more packets per batch than it takes.
#[derive(Debug)]
struct Narrow {
    socket: Arc<dyn Socket>,
    full: AtomicBool,
}

impl Socket for Narrow {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        2
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        assert!(outgoing.count() <= 2, "no more than it takes");
        if self.full.fetch_xor(true, Ordering::Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.socket.try_send(outgoing)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }
}

#[tokio::test]
async fn a_socket_that_is_sometimes_full_loses_nothing() {
    in_time(async {
        let socket = anabranch::udp_socket("127.0.0.2:0".parse().unwrap()).unwrap();
        let narrow = Arc::new(Narrow {
            socket,
            full: AtomicBool::new(false),
        });
        let server = at(&TWO)
            .association_config(round_robin())
            .listen()
            .bind()
            .await
            .unwrap();
        let builder = Endpoint::builder()
            .association_config(round_robin())
            .local("127.0.0.1:0");
        let client = builder.socket(narrow).bind().await.unwrap();
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
