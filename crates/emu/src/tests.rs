//! Tests of shaped sockets, with a real socket that only collects packets.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use anabranch_io::{Incoming, Outgoing, Socket};
use anabranch_netsim::link::{DropCause, Loss, QueueConfig};
use anabranch_netsim::{LinkChange, LinkConfig, Probability};
use anabranch_types::{Ecn, PathAddr, Rate, Seed};

use crate::{Emulator, LinkHandle, ShapedSocket};

/// The network behind the link.
#[derive(Debug)]
struct Collector(Mutex<Sender<Vec<u8>>>);

impl Socket for Collector {
    fn local_addr(&self) -> SocketAddr {
        here()
    }

    fn max_segments(&self) -> usize {
        1
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        assert_eq!(outgoing.segment_size, None, "packets leave one by one");
        let _ = self.0.lock().unwrap().send(outgoing.bytes.to_vec());
        Ok(())
    }

    fn poll_writable(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&self, _cx: &mut Context<'_>, _incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }
}

fn here() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 9_899))
}

fn path() -> PathAddr {
    PathAddr {
        local: here(),
        remote: SocketAddr::from(([192, 0, 2, 2], 9_899)),
    }
}

fn shaped(config: LinkConfig) -> (ShapedSocket, LinkHandle, Receiver<Vec<u8>>) {
    let (sender, arrived) = mpsc::channel();
    let link = Emulator::start(Seed(7)).unwrap().link(config);
    let real = Arc::new(Collector(Mutex::new(sender)));
    (ShapedSocket::new(real, link.clone()), link, arrived)
}

fn send(socket: &ShapedSocket, bytes: &[u8], segment_size: Option<usize>) {
    socket
        .try_send(&Outgoing {
            path: path(),
            ecn: Ecn::NotCapable,
            bytes,
            segment_size,
            may_fragment: false,
        })
        .unwrap();
}

fn next(arrived: &Receiver<Vec<u8>>) -> Vec<u8> {
    arrived
        .recv_timeout(Duration::from_secs(10))
        .expect("the packet arrives")
}

fn fast() -> LinkConfig {
    LinkConfig::new(Rate::mbit(1_000), Duration::from_millis(1))
}

#[test]
fn batch_is_split_into_packets_in_order() {
    let (socket, link, arrived) = shaped(fast());
    let batch: Vec<u8> = (0..2_500).map(|index| (index / 1_000) as u8).collect();
    send(&socket, &batch, Some(1_000));
    let packets = [next(&arrived), next(&arrived), next(&arrived)];
    assert_eq!(packets.concat(), batch);
    assert_eq!(packets.map(|packet| packet.len()), [1_000, 1_000, 500]);
    assert_eq!(link.statistics().delivered.packets, 3);
}

#[test]
fn packet_is_never_early() {
    let (socket, _link, arrived) = shaped(LinkConfig::new(Rate::mbit(8), Duration::from_millis(20)));
    let start = std::time::Instant::now();
    for _ in 0..5 {
        send(&socket, &[0; 972], None);
    }
    for _ in 0..5 {
        next(&arrived);
    }
    // Five packets of 1,000 bytes take 1 ms each to transmit, and the last one 20 ms to arrive.
    // A lower bound, so a busy machine cannot break it.
    assert!(start.elapsed() >= Duration::from_millis(25));
}

#[test]
fn packets_beyond_queue_or_mtu_are_dropped_and_counted() {
    let slow = LinkConfig::new(Rate::bits_per_second(8), Duration::ZERO).queue(QueueConfig::Packets(2));
    let (socket, link, _arrived) = shaped(slow);
    send(&socket, &[0; 5 * 500], Some(500));
    send(&socket, &[0; 1_473], None);
    let statistics = link.statistics();
    assert_eq!(statistics.dropped(DropCause::QueueFull).packets, 2);
    assert_eq!(statistics.dropped(DropCause::TooBig).packets, 1);
    assert_eq!(link.waiting().packets, 2);
}

#[test]
fn cut_link_drops_everything_until_healed() {
    let (socket, link, arrived) = shaped(fast());
    link.cut();
    assert!(link.is_cut());
    send(&socket, b"lost", None);
    link.heal();
    send(&socket, b"found", None);
    assert_eq!(next(&arrived), b"found");
    assert_eq!(link.statistics().dropped(DropCause::Cut).packets, 1);
}

#[test]
fn rate_delay_and_loss_can_change_with_packets_in_flight() {
    let (socket, link, arrived) = shaped(LinkConfig::new(
        Rate::bits_per_second(8),
        Duration::from_secs(3_600),
    ));
    send(&socket, b"would take an hour and more", None);
    link.set_delay(Duration::ZERO);
    link.set_rate(Rate::mbit(100));
    assert_eq!(next(&arrived), b"would take an hour and more");

    // With infinite rate, packets are transmitted and lost at once.
    link.apply(LinkChange::Rate(None));
    link.set_loss(Loss::Bernoulli(Probability::ALWAYS));
    send(&socket, b"nothing arrives", None);
    link.set_loss(Loss::None);
    send(&socket, b"everything arrives", None);
    assert_eq!(next(&arrived), b"everything arrives");
    assert_eq!(link.config().rate, None);
}

#[test]
fn packets_in_flight_arrive_after_last_handle_is_dropped() {
    let (socket, link, arrived) = shaped(LinkConfig::new(Rate::mbit(100), Duration::from_millis(30)));
    send(&socket, b"farewell", None);
    drop((socket, link));
    assert_eq!(next(&arrived), b"farewell");
    assert_eq!(
        arrived.recv_timeout(Duration::from_secs(10)),
        Err(mpsc::RecvTimeoutError::Disconnected),
        "the thread has ended and let go of the socket"
    );
}

#[test]
fn sockets_share_a_link_and_links_share_a_thread() {
    let (sender, arrived) = mpsc::channel();
    let real: Arc<dyn Socket> = Arc::new(Collector(Mutex::new(sender)));
    let emulator = Emulator::start(Seed(1)).unwrap();
    let (one, other) = (
        emulator.link(fast().named("one")),
        emulator.link(fast().named("other")),
    );
    let [first, second] = [one.clone(), one.clone()].map(|link| ShapedSocket::new(Arc::clone(&real), link));
    let third = ShapedSocket::new(real, other.clone());
    send(&first, b"first", None);
    send(&second, b"second", None);
    send(&third, b"third", None);
    let mut packets = [next(&arrived), next(&arrived), next(&arrived)];
    packets.sort();
    assert_eq!(packets, [&b"first"[..], b"second", b"third"]);
    assert_eq!(emulator.timing().packets, 3);
    assert_eq!(
        (
            one.statistics().delivered.packets,
            other.statistics().delivered.packets
        ),
        (2, 1)
    );
}
