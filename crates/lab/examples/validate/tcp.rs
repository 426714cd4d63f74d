//! Laws of TCP: goodput under losses by the square-root law, and by CUBIC's response function.

use core::time::Duration;

use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_sim::Side;
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpScenario};
use anabranch_types::Seed;

use super::{Cell, Law, Size};

/// Bytes of a segment with timestamps at an MTU of 1,500.
const SEGMENT: f64 = 1_448.0;
const ROUND_TRIP: f64 = 0.1;
const WARM_UP: Duration = Duration::from_secs(60);

/// Which packets are lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Losses {
    /// Equally many packets lie between two losses, as the laws presume; where the first one is, is drawn.
    Periodic,
    /// Each packet is lost with the same probability.
    Random,
}

/// Congestion control and acknowledgements of a connection.
#[derive(Clone, Copy)]
struct Connection {
    cc: &'static str,
    ack_policy: &'static str,
}

/// Every second packet is acknowledged, as by default.
const RENO: Connection = Connection {
    cc: "reno",
    ack_policy: "rfc9260",
};

/// Goodput in Mbit/s of a connection over a path without limits.
fn goodput(connection: Connection, losses: Losses, loss: f64, size: Size, seed: u64) -> f64 {
    let mut config = TcpConfig {
        send_buffer: 1 << 24,
        receive_buffer: 1 << 24,
        ..TcpConfig::default()
    };
    for (key, value) in [("cc", connection.cc), ("ack-policy", connection.ack_policy)] {
        let known = config.policies.set(key, value);
        known.expect("invariant: the catalog has both");
    }
    let loss = match losses {
        Losses::Random => Loss::Bernoulli(Probability::of(loss)),
        Losses::Periodic => {
            let period = (1.0 / loss).round() as u64;
            let first = Seed(seed).split("first loss").rng().below(period);
            Loss::Script((0..20_000).map(|number| first + number * period).collect())
        }
    };
    let reverse = LinkConfig::unlimited(Duration::from_secs_f64(ROUND_TRIP / 2.0));
    let mut simulation = TcpScenario::over(Seed(seed), reverse.clone().loss(loss))
        .with_link_back(reverse)
        .config(config)
        .near_app(TcpApp::bulk())
        .build();
    simulation.connect();
    simulation.run_for(WARM_UP);
    let read = |simulation: &anabranch_sim::tcp::TcpSimulation| {
        simulation.app(Side::Far, 0).map_or(0, TcpApp::bytes_read)
    };
    let before = read(&simulation);
    simulation.run_for(Duration::from_secs(size.seconds));
    (read(&simulation) - before) as f64 * 8e-6 / size.seconds as f64
}

fn cell(loss: f64, expected: f64, size: Size, run: impl Fn(u64) -> f64) -> Cell {
    Cell {
        setting: format!("one packet of {} lost", (1.0 / loss).round()),
        expected,
        values: (1..=size.seeds).map(run).collect(),
    }
}

pub(crate) fn square_root_law(size: Size, losses: Losses) -> Law {
    let of_loss = |connection: Connection, loss: f64| {
        let rate = SEGMENT / ROUND_TRIP / loss / ((2.0 / 3.0 / loss).sqrt() + 1.0);
        let run = |seed| goodput(connection, losses, loss, size, seed);
        cell(loss, rate * 8e-6, size, run)
    };
    let mut cells = [0.001, 0.002, 0.005, 0.01]
        .map(|loss| of_loss(RENO, loss))
        .to_vec();
    if losses == Losses::Periodic {
        let immediate = Connection {
            ack_policy: "immediate",
            ..RENO
        };
        cells.extend([0.001, 0.01].map(|loss| {
            let cell = of_loss(immediate, loss);
            Cell {
                setting: format!("{}, each packet acknowledged", cell.setting),
                ..cell
            }
        }));
    }
    Law {
        name: match losses {
            Losses::Periodic => "Square-root law of Reno, periodic losses",
            Losses::Random => "Square-root law of Reno, random losses",
        },
        text: match losses {
            Losses::Periodic => {
                "Between two losses 1/*p* segments are sent, while the window grows by one segment in each round trip *R* from *W*/2 to *W* (Mathis \
                 et al. 1997). During the round trip in which a loss is repaired it does not grow. So the rate is 1/*p* segments in *R* (√(2/3*p*) + 1), with \
                 *R* = 100 ms, segments of 1,448 bytes, SACK and timestamps. Where windows are small the goodput is lower than that. \
                 Acknowledging each packet in place of every second one halves the difference, as the last two rows show; of the rest \
                 the cause is not known."
            }
            Losses::Random => {
                "The same law where each packet is lost with the same probability. It presumes equal distances of the losses, so that it is an \
                 approximation here."
            }
        },
        quantity: "goodput in Mbit/s",
        margin: 0.1,
        cells,
    }
}

pub(crate) fn cubic_response(size: Size) -> Law {
    let of_loss = |loss: f64| {
        let window = 1.054 * (ROUND_TRIP / loss).powf(0.75);
        let rate = window * SEGMENT / ROUND_TRIP * 8e-6;
        let cubic = Connection { cc: "cubic", ..RENO };
        let run = |seed| goodput(cubic, Losses::Periodic, loss, size, seed);
        cell(loss, rate, size, run)
    };
    Law {
        name: "CUBIC's response function",
        text: "With periodic losses, the mean window is 1.054 (*R*/*p*)^0.75 segments where CUBIC does not follow Reno (RFC 9438 §5.1), at *R* = 100 ms.",
        quantity: "goodput in Mbit/s",
        margin: 0.1,
        cells: [0.0002, 0.0001, 0.00005].map(of_loss).into(),
    }
}
