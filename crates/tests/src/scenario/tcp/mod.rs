//! Tests of the TCP and MPTCP that SCTP is compared with.

mod capture;
mod ending;
mod flow_control;
mod handshake;
mod multipath;
mod multipath_capture;
mod nr_sack;
mod randomized;
mod recovery;
mod square_root_law;

use std::sync::{Arc, Mutex};

use anabranch_netsim::link::Loss;
use anabranch_netsim::{FilterAction, LinkConfig, Probability};
use anabranch_sim::Side;
use anabranch_sim::tcp::TcpSimulation;
use anabranch_types::Instant;

use crate::fixture::{mbit, ms};

/// 10 Mbit/s, 20 ms.
fn dsl() -> LinkConfig {
    LinkConfig::new(mbit(10), ms(20))
}

fn lossy(share: f64) -> LinkConfig {
    dsl().loss(Loss::Bernoulli(Probability::of(share)))
}

/// Times and flags of segments from the near side.
type Seen = Arc<Mutex<Vec<(Instant, u8, usize)>>>;

/// Records every segment from the near side: time, flags and payload.
fn watch(simulation: &mut TcpSimulation) -> Seen {
    watch_link(simulation, |simulation| simulation.paths()[0].forward[0])
}

/// Records every segment from the far side.
fn watch_back(simulation: &mut TcpSimulation) -> Seen {
    watch_link(simulation, |simulation| simulation.paths()[0].reverse[0])
}

fn watch_link(
    simulation: &mut TcpSimulation,
    link: impl FnOnce(&TcpSimulation) -> anabranch_netsim::LinkId,
) -> Seen {
    let seen = Seen::default();
    let notes = Arc::clone(&seen);
    let link = link(simulation);
    simulation.network_mut().set_filter(
        link,
        Box::new(move |now, datagram| {
            let header = usize::from(datagram.payload[12] >> 4) * 4;
            let note = (now, datagram.payload[13], datagram.payload.len() - header);
            notes.lock().unwrap().push(note);
            FilterAction::Pass
        }),
    );
    seen
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;

/// Times of segments with all of these flags, in seconds.
fn times(seen: &Seen, flags: u8) -> Vec<f64> {
    let seen = seen.lock().unwrap();
    let times = seen.iter().filter(|(_, found, _)| found & flags == flags);
    times
        .map(|(at, ..)| (*at - Instant::ZERO).as_secs_f64())
        .collect()
}

/// Whether everything that the other side sent was read intact, to the end.
fn everything_arrived(simulation: &TcpSimulation, at: Side, bytes: u64) -> bool {
    simulation.app(at, 0).is_some_and(|app| {
        assert_eq!(app.wrong_at(), None);
        app.finished_at().is_some() && app.bytes_read() == bytes
    })
}
