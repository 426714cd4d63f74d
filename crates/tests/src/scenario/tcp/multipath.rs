//! MPTCP: goodput, failover, coupling, NR-SACK, scheduling.

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability, topology};
use anabranch_policy::PolicyRecipe;
use anabranch_sim::tcp::{MptcpConfig, NrSackForm, TcpApp, TcpConfig, TcpScenario, TcpSimulation};
use anabranch_sim::{Side, Step};
use anabranch_types::{Rate, Seed};

use super::everything_arrived;
use crate::fixture::{mbit, ms, secs};

/// With the addresses of `paths` paths.
fn config(paths: u8, side: Side, choices: &[(&str, &str)]) -> TcpConfig {
    let mut policies = PolicyRecipe::tcp();
    for (point, choice) in choices {
        policies.set(point, choice).unwrap();
    }
    let own = match side {
        Side::Near => topology::near_addr,
        Side::Far => topology::far_addr,
    };
    TcpConfig {
        policies,
        mptcp: Some(MptcpConfig {
            local: (1..paths).map(own).collect(),
            ..MptcpConfig::default()
        }),
        ..TcpConfig::default()
    }
}

/// Both sides with the same choices on these paths.
fn scenario(links: &[LinkConfig], choices: &[(&str, &str)], change: impl Fn(&mut TcpConfig)) -> TcpScenario {
    let mut scenario = TcpScenario::over(Seed(1), links[0].clone());
    for link in &links[1..] {
        scenario = scenario.path(link.clone());
    }
    for side in Side::BOTH {
        let mut config = config(links.len() as u8, side, choices);
        change(&mut config);
        scenario = scenario.config_of(side, config);
    }
    scenario
}

fn link(megabits: u64, delay: u64) -> LinkConfig {
    LinkConfig::new(mbit(megabits), ms(delay)).queue(QueueConfig::Packets(100))
}

fn delivered(simulation: &TcpSimulation) -> u64 {
    let app = simulation.app(Side::Far, 0).unwrap();
    assert_eq!(app.wrong_at(), None);
    app.bytes_read()
}

/// Bytes delivered in `seconds` seconds.
fn bulk(scenario: TcpScenario, seconds: u64) -> TcpSimulation {
    let mut simulation = scenario.near_app(TcpApp::bulk()).build();
    simulation.connect();
    simulation.run_for(secs(seconds));
    simulation
}

#[test]
fn mptcp_over_two_paths_adds_capacity() {
    let links = [link(10, 20), link(10, 20)];
    let both = delivered(&bulk(scenario(&links, &[], |_| {}), 20));
    let one = delivered(&bulk(scenario(&links[..1], &[], |_| {}), 20));
    assert!(both as f64 > 1.85 * one as f64, "{both} {one}");
}

#[test]
fn dead_subflow_is_abandoned_within_an_rto() {
    let links = [link(10, 20), link(10, 20)];
    let mut simulation = scenario(&links, &[], |_| {})
        .near_app(TcpApp::sender(10_000_000))
        .build();
    simulation.connect();
    simulation.run_for(secs(3));
    simulation.happens(Step::Cut(0));
    assert!(simulation.run_until(secs(12), |simulation| {
        everything_arrived(simulation, Side::Far, 10_000_000)
    }));
    let data = simulation.connection(Side::Near, 0).unwrap().statistics().data;
    assert!(data.unwrap().reinjected_bytes > 0);
}

#[test]
fn coupled_mptcp_takes_less_of_a_shared_bottleneck() {
    let share = |cc: &str| {
        let links = [link(100, 10), link(100, 10)];
        let cross_traffic =
            anabranch_sim::CrossTraffic::tcp(link(100, 10), TcpConfig::default(), TcpApp::bulk());
        let narrow = link(10, 10);
        let mut simulation = scenario(&links, &[("cc", cc)], |_| {})
            .bottleneck(narrow)
            .cross_traffic(cross_traffic)
            .near_app(TcpApp::bulk())
            .build();
        simulation.connect();
        simulation.connect_cross_traffic();
        simulation.run_for(secs(60));
        delivered(&simulation) as f64 / simulation.delivered_by_cross_traffic(0) as f64
    };
    let (uncoupled, coupled) = (share("reno"), share("lia"));
    assert!(coupled < 0.8 * uncoupled, "{coupled} {uncoupled}");
}

/// Bytes delivered in a minute over two lossy paths of 10 Mbit/s with a small send buffer.
fn through_a_buffer(nr_sack: Option<NrSackForm>, send_buffer: u64) -> u64 {
    let lossy = |link: LinkConfig| link.loss(Loss::Bernoulli(Probability::of(0.01)));
    let links = [lossy(link(10, 10)), lossy(link(10, 10))];
    let scenario = scenario(&links, &[], |config| {
        config.send_buffer = send_buffer;
        if let Some(mptcp) = &mut config.mptcp {
            mptcp.nr_sack = nr_sack;
        }
    });
    delivered(&bulk(scenario, 60))
}

#[test]
fn nr_sack_helps_a_small_send_buffer() {
    let without = through_a_buffer(None, 28_000);
    for form in [NrSackForm::Short, NrSackForm::Long] {
        let with = through_a_buffer(Some(form), 28_000);
        println!("{form:?}: {:+.1} %", (with as f64 / without as f64 - 1.0) * 100.0);
        assert!(with as f64 > 1.03 * without as f64, "{form:?}: {with} {without}");
    }
}

#[test]
fn nr_sack_is_neutral_with_a_large_send_buffer() {
    let (with, without) = (
        through_a_buffer(Some(NrSackForm::Short), 899_000),
        through_a_buffer(None, 899_000),
    );
    assert!(
        (with as f64 / without as f64 - 1.0).abs() < 0.02,
        "{with} {without}"
    );
}

#[test]
fn data_sent_out_of_order_arrives_in_order() {
    let links = [link(10, 5), link(10, 60)];
    let waiting = |scheduler: &str| {
        let mut simulation = scenario(&links, &[("path-scheduler", scheduler)], |_| {})
            .near_app(TcpApp::bulk())
            .build();
        simulation.connect();
        simulation.run_for(secs(5));
        let (mut sum, mut samples) = (0, 0);
        for _ in 0..1_000 {
            simulation.run_for(ms(10));
            let connection = simulation.connection(Side::Far, 0).unwrap();
            sum += connection.statistics().data.unwrap().out_of_order_bytes;
            samples += 1;
        }
        println!("{scheduler}: {} bytes, {}", sum / samples, delivered(&simulation));
        sum / samples
    };
    let (plain, in_order) = (waiting("min-rtt"), waiting("in-order-arrival"));
    assert!(in_order < plain, "{in_order} {plain}");
}

/// The peer may drop data beyond its advertised window although the subflow acknowledged it: then everything waits for
/// the connection-level retransmission timer.
#[test]
fn data_sent_ahead_stays_within_peer_window() {
    let narrow = |kilobits: u64, packets| {
        let rate = Rate::bits_per_second(kilobits * 1_000);
        LinkConfig::new(rate, ms(1)).queue(QueueConfig::Packets(packets))
    };
    let links = [narrow(6_300, 100), narrow(6_100, 3)];
    let choices = [("path-scheduler", "in-order-arrival"), ("cc", "olia")];
    let small = scenario(&links, &choices, |config| config.receive_buffer = 265_000);
    let simulation = bulk(small, 60);
    let data = simulation.connection(Side::Near, 0).unwrap().statistics().data;
    assert_eq!(data.unwrap().reinjections, 0);
    assert!(delivered(&simulation) > 75_000_000, "{}", delivered(&simulation));
}

#[test]
fn same_seed_gives_same_run() {
    let run = || {
        let lossy = link(10, 10).loss(Loss::Bernoulli(Probability::of(0.02)));
        let simulation = bulk(scenario(&[lossy.clone(), lossy], &[], |_| {}), 5);
        let connection = simulation.connection(Side::Near, 0).unwrap();
        format!(
            "{:?} {:?}",
            connection.statistics(),
            connection.paths().collect::<Vec<_>>()
        )
    };
    assert_eq!(run(), run());
}
