//! Simulator speed: a window-limited bulk transfer of 300 s at 20 Mbit/s, timed by the wall clock.
//!
//! `cargo run --release -p anabranch-netsim --example throughput`

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anabranch_netsim::link::QueueConfig;
use anabranch_netsim::{Datagram, Host, LinkConfig, Network, Protocol, topology};
use anabranch_types::{Ecn, Instant, PathAddr, Rate, Seed};

const TRANSFER: Duration = Duration::from_secs(300);
const DATA_BYTES: usize = 1_472;
const ACK_BYTES: usize = 28;
const WINDOW: u32 = 100;

/// Recycled buffers: the example measures the simulator, not the allocator.
type Pool = Rc<RefCell<Vec<Vec<u8>>>>;

/// A sender with a fixed window, or a receiver that acknowledges every second packet.
enum Peer {
    Idle,
    Sender(Sender),
    Receiver(Receiver),
}

struct Sender {
    path: PathAddr,
    room: u32,
    timer: Instant,
    pool: Pool,
}

struct Receiver {
    received: u64,
    answer: Option<Datagram>,
    pool: Pool,
}

impl Sender {
    fn next(&mut self) -> Option<Datagram> {
        self.room = self.room.checked_sub(1)?;
        let mut payload = self.pool.borrow_mut().pop().unwrap_or_default();
        payload.resize(DATA_BYTES, 0);
        Some(Datagram {
            path: self.path,
            protocol: Protocol::SCTP,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload,
        })
    }

    fn answered(&mut self, now: Instant, datagram: Datagram) {
        self.room += 2;
        // Like a retransmission timer, it is restarted by every acknowledgement and never expires.
        self.timer = now + Duration::from_secs(1);
        self.pool.borrow_mut().push(datagram.payload);
    }
}

impl Receiver {
    fn receive(&mut self, mut datagram: Datagram) {
        self.received += 1;
        if !self.received.is_multiple_of(2) {
            self.pool.borrow_mut().push(datagram.payload);
            return;
        }
        datagram.path = datagram.path.reversed();
        datagram.payload.truncate(ACK_BYTES);
        self.answer = Some(datagram);
    }
}

impl Host for Peer {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        match self {
            Self::Idle => {}
            Self::Sender(sender) => sender.answered(now, datagram),
            Self::Receiver(receiver) => receiver.receive(datagram),
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        if let Self::Sender(sender) = self {
            sender.timer = now + Duration::from_secs(1);
        }
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Datagram> {
        match self {
            Self::Idle => None,
            Self::Sender(sender) => sender.next(),
            Self::Receiver(receiver) => receiver.answer.take(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Sender(sender) => Some(sender.timer),
            Self::Idle | Self::Receiver(_) => None,
        }
    }
}

fn main() {
    let mut network = Network::new(Seed(1));
    let pool = Pool::default();
    let receiver = network.add_host(Peer::Receiver(Receiver {
        received: 0,
        answer: None,
        pool: Rc::clone(&pool),
    }));
    let sender = network.add_host(Peer::Idle);
    let config =
        LinkConfig::new(Rate::mbit(20), Duration::from_millis(10)).queue(QueueConfig::Packets(WINDOW));
    let path = topology::one_path(&mut network, (sender, receiver), &config).addr(9_899);
    let bulk = Sender {
        path,
        room: WINDOW,
        timer: Instant::ZERO,
        pool,
    };
    network.act(sender, |host, _now| *host = Peer::Sender(bulk));

    let start = std::time::Instant::now();
    network.run_until(Instant::ZERO + TRANSFER);
    let elapsed = start.elapsed();

    let Peer::Receiver(receiver) = network.host(receiver) else {
        return;
    };
    let (events, packets) = (network.events(), receiver.received);
    let rate = events as f64 / elapsed.as_secs_f64() / 1e6;
    println!("{packets} data packets, {events} events in {elapsed:.3?}: {rate:.1} million events/s");
}
