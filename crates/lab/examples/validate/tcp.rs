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

/// Round trips between two losses by Mathis et al.: the window grows by one segment in each, from half its maximum to the whole.
fn round_trips(loss: f64) -> f64 {
    (2.0 / 3.0 / loss).sqrt()
}

/// The square-root law as published, and with our own correction, of the same runs.
pub(crate) fn square_root_laws(size: Size, losses: Losses) -> [Law; 2] {
    let of_loss = |connection: Connection, loss: f64, what: &str| {
        let rate = |round_trips: f64| SEGMENT / ROUND_TRIP / loss / round_trips * 8e-6;
        let run = |seed| goodput(connection, losses, loss, size, seed);
        let published = cell(loss, rate(round_trips(loss)), size, run);
        let published = Cell {
            setting: published.setting + what,
            ..published
        };
        let corrected = Cell {
            expected: rate(round_trips(loss) + 1.0),
            ..published.clone()
        };
        (published, corrected)
    };
    let mut cells = [0.001, 0.002, 0.005, 0.01]
        .map(|loss| of_loss(RENO, loss, ""))
        .to_vec();
    if losses == Losses::Periodic {
        let immediate = Connection {
            ack_policy: "immediate",
            ..RENO
        };
        cells.extend([0.001, 0.01].map(|loss| of_loss(immediate, loss, ", each packet acknowledged")));
    }
    let (published, corrected) = cells.into_iter().unzip();
    let [published_text, corrected_text] = texts(losses);
    let law = |name, text, cells| Law {
        name,
        text,
        quantity: "goodput in Mbit/s",
        margin: 0.1,
        cells,
    };
    let [published_name, corrected_name] = match losses {
        Losses::Periodic => [
            "Square-root law of Reno, periodic losses",
            "Square-root law with our correction, periodic losses",
        ],
        Losses::Random => [
            "Square-root law of Reno, random losses",
            "Square-root law with our correction, random losses",
        ],
    };
    [
        law(published_name, published_text, published),
        law(corrected_name, corrected_text, corrected),
    ]
}

/// The published law and our correction, for the page.
const fn texts(losses: Losses) -> [&'static str; 2] {
    match losses {
        Losses::Periodic => [
            "Between two losses 1/*p* segments are sent, while the window grows by one segment in each round trip *R* from *W*/2 to *W* (Mathis \
             et al. 1997). So the rate is 1/*p* segments in *R* √(2/(3*p*)), with *R* = 100 ms, segments of 1,448 bytes, SACK and timestamps. \
             The goodput is below this law everywhere, and the more so the smaller windows are.",
            "The same runs. The published law leaves out the round trip in which a loss is repaired and the window does not grow. Our own correction \
             adds it: 1/*p* segments in *R* (√(2/(3*p*)) + 1). It does not come from the paper, so that agreement with it says less. \
             The goodput is below this, too. Acknowledging each packet in place of every second one halves the difference, as the last two \
             rows show; of the rest the cause is not known.",
        ],
        Losses::Random => [
            "The published law where each packet is lost with the same probability. It presumes equal distances of the losses, so that it is an \
             approximation here.",
            "The same runs, with the round trip that our correction adds.",
        ],
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
