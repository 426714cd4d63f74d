//! How fast does virtual time pass? A window-limited bulk transfer of 300 s at 20 Mbit/s, timed by the wall clock.
//!
//! `cargo run --release -p anabranch-netsim --example throughput`

use std::time::Duration;

use anabranch_netsim::link::QueueConfig;
use anabranch_netsim::{Datagram, Host, LinkConfig, World, topology};
use anabranch_types::{Ecn, Instant, PathAddr, Rate, Seed};

const TRANSFER: Duration = Duration::from_secs(300);
const DATA_BYTES: usize = 1_472;
const ACK_BYTES: usize = 28;
const WINDOW: u32 = 100;

/// Sends as long as its window is open; answers every second packet. Most buffers are used again, so that what is
/// measured is the network.
enum Peer {
    Sender {
        path: PathAddr,
        room: u32,
        timer: Instant,
        spare: Vec<Vec<u8>>,
    },
    Receiver {
        unanswered: u32,
        answer: Option<Datagram>,
        spare: Vec<Vec<u8>>,
        received: u64,
    },
}

impl Host for Peer {
    fn on_datagram(&mut self, now: Instant, mut datagram: Datagram) {
        match self {
            Self::Sender {
                room, timer, spare, ..
            } => {
                *room += 2;
                // As a retransmission timer does: pushed back with every answer, it never expires.
                *timer = now + Duration::from_secs(1);
                datagram.payload.resize(DATA_BYTES, 0);
                spare.push(datagram.payload);
            }
            Self::Receiver {
                unanswered,
                answer,
                spare,
                received,
            } => {
                *received += 1;
                *unanswered += 1;
                let path = datagram.path.reversed();
                spare.push(datagram.payload);
                if *unanswered == 2 {
                    *unanswered = 0;
                    let mut payload = spare.pop().unwrap_or_default();
                    payload.truncate(ACK_BYTES);
                    *answer = Some(Datagram {
                        path,
                        ecn: Ecn::NotCapable,
                        payload,
                    });
                }
            }
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        if let Self::Sender { timer, .. } = self {
            *timer = now + Duration::from_secs(1);
        }
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Datagram> {
        match self {
            Self::Sender {
                path, room, spare, ..
            } => {
                *room = room.checked_sub(1)?;
                let payload = spare.pop().unwrap_or_else(|| vec![0; DATA_BYTES]);
                Some(Datagram {
                    path: *path,
                    ecn: Ecn::NotCapable,
                    payload,
                })
            }
            Self::Receiver { answer, .. } => answer.take(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Sender { timer, .. } => Some(*timer),
            Self::Receiver { .. } => None,
        }
    }
}

fn main() {
    let mut world = World::new(Seed(1));
    let receiver = Peer::Receiver {
        unanswered: 0,
        answer: None,
        spare: Vec::new(),
        received: 0,
    };
    let receiver = world.add_host(receiver);
    let idle = Peer::Receiver {
        unanswered: 0,
        answer: None,
        spare: Vec::new(),
        received: 0,
    };
    let sender = world.add_host(idle);
    let config =
        LinkConfig::new(Rate::mbit(20), Duration::from_millis(10)).queue(QueueConfig::Packets(WINDOW));
    let path = topology::one_path(&mut world, (sender, receiver), &config).addr(9_899);
    world.act(sender, |host, now| {
        *host = Peer::Sender {
            path,
            room: WINDOW,
            timer: now,
            spare: Vec::new(),
        }
    });

    let start = std::time::Instant::now();
    world.run_until(Instant::ZERO + TRANSFER);
    let elapsed = start.elapsed();

    let Peer::Receiver { received, .. } = world.host(receiver) else {
        return;
    };
    let per_second = world.events() as f64 / elapsed.as_secs_f64() / 1e6;
    println!(
        "{received} data packets, {} events in {elapsed:.3?}: {per_second:.1} million/s",
        world.events()
    );
}
