//! NR-SACK for TCP (Yang 2015, chapter 2). What does it gain to free SACKed data at once?

use anabranch_netsim::LinkConfig;
use anabranch_netsim::Probability;
use anabranch_netsim::link::Loss;
use anabranch_sim::Side;
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpScenario};
use anabranch_types::Seed;

use crate::fixture::{mbit, ms, secs};

/// Bytes delivered in 200 s over 10 Mbit/s with 50 ms each way.
fn delivered(nr_sack: bool, send_buffer: u64, loss: f64, seed: u64) -> u64 {
    let link = LinkConfig::new(mbit(10), ms(50));
    let forward = link.clone().loss(Loss::Bernoulli(Probability::of(loss)));
    let config = TcpConfig {
        nr_sack,
        send_buffer,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(seed), forward)
        .with_link_back(link)
        .config(config)
        .near_app(TcpApp::bulk())
        .build();
    simulation.connect();
    simulation.run_for(secs(200));
    let app = simulation.app(Side::Far, 0).unwrap();
    assert_eq!(app.wrong_at(), None);
    app.bytes_read()
}

fn total(nr_sack: bool, send_buffer: u64, loss: f64) -> u64 {
    (0..5)
        .map(|seed| delivered(nr_sack, send_buffer, loss, seed))
        .sum()
}

#[test]
fn nr_sack_changes_nothing_without_loss() {
    assert_eq!(delivered(true, 44_000, 0.0, 1), delivered(false, 44_000, 0.0, 1));
}

#[test]
fn nr_sack_helps_a_send_buffer_blocked_by_loss() {
    let (with, without) = (total(true, 18_000, 0.01), total(false, 18_000, 0.01));
    println!(
        "{with} with NR-SACK, {without} without: {:+.1} %",
        (with as f64 / without as f64 - 1.0) * 100.0
    );
    assert!(with as f64 > without as f64 * 1.01);
}

#[test]
fn nr_sack_changes_nothing_with_a_large_buffer() {
    let (with, without) = (total(true, 905_000, 0.01), total(false, 905_000, 0.01));
    assert!(
        (with as f64 / without as f64 - 1.0).abs() < 0.02,
        "{with} {without}"
    );
}
