//! Square-root law: goodput of TCP Reno under random loss.
//!
//! The square-root law: between two losses 1/p segments are sent, while the window grows by one segment in each round trip
//! from W/2 to W, so W = √(8/3p) and the rate is √(3/2p) segments in a round trip (Mathis et al. 1997). The window grows
//! by bytes acknowledged (RFC 3465), so delayed acknowledgements, which are on, do not slow it: b = 1 in the form of
//! Padhye et al. 1998. While a loss is made good, the window does not grow for one round trip; with it a period takes W/2
//! + 1 of them. This counts where windows are small, so it is part of the law here:
//!
//! ```text
//! rate = segment / RTT · (1/p) / (√(2/3p) + 1)
//! ```

use anabranch_netsim::LinkConfig;
use anabranch_netsim::Probability;
use anabranch_netsim::link::Loss;
use anabranch_sim::Side;
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpScenario};
use anabranch_types::Seed;

use crate::fixture::{ms, secs};

/// MSS with timestamps at an MTU of 1,500.
const SEGMENT: f64 = 1_448.0;
const ROUND_TRIP: f64 = 0.1;

fn law(loss: f64) -> f64 {
    SEGMENT / ROUND_TRIP / loss / ((2.0 / 3.0 / loss).sqrt() + 1.0)
}

/// Without the RTT of recovery.
fn bare_law(loss: f64) -> f64 {
    SEGMENT / ROUND_TRIP * (1.5 / loss).sqrt()
}

/// Bytes per second over ten minutes, after the initial slow start.
fn goodput(loss: f64) -> f64 {
    let reverse = LinkConfig::unlimited(ms(50));
    let forward = reverse.clone().loss(Loss::Bernoulli(Probability::of(loss)));
    let buffers = TcpConfig {
        send_buffer: 1 << 24,
        receive_buffer: 1 << 24,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(1), forward)
        .with_link_back(reverse)
        .config(buffers)
        .near_app(TcpApp::bulk())
        .build();
    simulation.connect();
    simulation.run_for(secs(30));
    let before = simulation.app(Side::Far, 0).unwrap().bytes_read();
    simulation.run_for(secs(600));
    let read = simulation.app(Side::Far, 0).unwrap().bytes_read() - before;
    read as f64 / 600.0
}

#[test]
fn reno_goodput_follows_the_square_root_law() {
    for loss in [0.001, 0.005, 0.01, 0.02] {
        let measured = goodput(loss);
        let ratio = measured / law(loss);
        println!(
            "{loss}: {measured:.0} B/s, {ratio:.3} of the law, {:.3} of the bare law",
            measured / bare_law(loss)
        );
        assert!((ratio - 1.0).abs() < 0.15, "{loss}: {ratio}");
        if loss <= 0.01 {
            assert!((measured / bare_law(loss) - 1.0).abs() < 0.15);
        }
    }
}
