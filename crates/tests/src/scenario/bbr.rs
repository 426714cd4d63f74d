//! BBR over simulated links: random loss, deep queues, several paths, other flows. How much of a path does it use?

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::Side;
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpScenario};
use anabranch_types::Seed;

use crate::fixture::{Pair, mbit, ms, secs};

/// 50 Mbit/s, 20 ms each way: 250,000 bytes in flight.
const PRODUCT: u64 = 250_000;

fn link(loss: f64) -> LinkConfig {
    LinkConfig::new(mbit(50), ms(20))
        .queue(QueueConfig::Packets(1_000))
        .loss(Loss::Bernoulli(Probability::of(loss)))
}

fn recipe(control: &str) -> PolicyRecipe {
    let mut recipe = PolicyRecipe::recommended();
    recipe.set("cc", control).unwrap();
    recipe
}

/// A connected pair that sends without end and has warmed up.
fn sending(control: &str, links: Vec<LinkConfig>) -> Pair {
    let builder = Pair::paths(links).policies(recipe(control)).with(|config| {
        config.send_buffer = BufferSize::Fixed(8 << 20);
        config.receive_buffer = BufferSize::Fixed(8 << 20);
    });
    let mut pair = builder.connected();
    pair.alice().send_forever();
    pair.run_for(secs(4));
    pair
}

/// Mbit/s over the next twelve seconds, which hold four probes or more.
fn goodput(pair: &mut Pair) -> f64 {
    let since = pair.simulation.now();
    pair.run_for(secs(12));
    // Endless data goes over four streams in turn.
    let rates = (0..4).map(|stream| pair.stream_rate(stream, since).as_bits_per_second());
    rates.sum::<u64>() as f64 / 1e6
}

#[test]
fn bbr_fills_a_path_with_half_a_per_cent_of_random_loss() {
    for (control, loss, least) in [
        ("bbr", 0.0, 45.0),
        ("bbr", 0.005, 39.0),
        ("bbr-v1", 0.005, 44.0),
        ("bbr-v1", 0.02, 43.5),
    ] {
        let rate = goodput(&mut sending(control, vec![link(loss)]));
        println!("{control}, {loss}: {rate:.1} Mbit/s");
        assert!(rate >= least, "{control} at {loss}: {rate:.1}");
    }
}

#[test]
fn bbr_fills_two_paths_with_random_loss() {
    for control in ["bbr", "bbr-v1"] {
        let rate = goodput(&mut sending(control, vec![link(0.005), link(0.005)]));
        println!("{control}: {rate:.1} Mbit/s");
        assert!(rate >= 76.0, "{control}: {rate:.1}");
    }
}

#[test]
fn bbr_leaves_a_deep_queue_nearly_empty() {
    for control in ["bbr", "bbr-v1"] {
        let deep = link(0.0).queue(QueueConfig::Bytes(10 * PRODUCT));
        let mut pair = sending(control, vec![deep]);
        let (mut waits, mut longest) = (ms(0), ms(0));
        for _ in 0..100 {
            pair.run_for(ms(100));
            let srtt = pair.alice().path(0).srtt.unwrap();
            waits += srtt.saturating_sub(ms(40));
            longest = longest.max(srtt);
        }
        let mean = waits / 100;
        println!("{control}: {mean:?} in the mean, {longest:?} at most");
        // One product is 40 ms of queue.
        assert!(
            mean < ms(20) && longest < ms(100),
            "{control}: {mean:?}, {longest:?}"
        );
    }
}

/// An application that sends a tenth of the rate says nothing about the path.
#[test]
fn application_limited_phases_leave_the_rate_of_the_model() {
    for control in ["bbr", "bbr-v1"] {
        let mut pair = sending(control, vec![link(0.0)]);
        pair.alice().stop_sending();
        pair.run_for(secs(2));
        pair.alice().send_paced(mbit(5));
        pair.run_for(secs(20));
        let alice = pair.alice();
        let facts = alice.association().expect("she is connected").path_facts();
        let rate = facts[0].pacing_rate.expect("she has measured it").get() * 8 / 1_000_000;
        assert!(rate >= 30, "{control}: {rate} Mbit/s");
    }
}

fn tcp_goodput(control: &str, loss: f64) -> f64 {
    let mut policies = PolicyRecipe::tcp();
    policies.set("cc", control).unwrap();
    let buffers = TcpConfig {
        send_buffer: 1 << 23,
        receive_buffer: 1 << 23,
        policies,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(1), link(loss))
        .config(buffers)
        .near_app(TcpApp::bulk())
        .build();
    simulation.connect();
    simulation.run_for(secs(4));
    let before = simulation.app(Side::Far, 0).unwrap().bytes_read();
    simulation.run_for(secs(12));
    let read = simulation.app(Side::Far, 0).unwrap().bytes_read() - before;
    read as f64 * 8.0 / 12e6
}

#[test]
fn tcp_with_bbr_fills_a_path_with_random_loss() {
    for (control, loss, least) in [
        ("bbr", 0.005, 39.0),
        ("bbr-v1", 0.02, 43.5),
        ("cubic", 0.005, 0.0),
    ] {
        let rate = tcp_goodput(control, loss);
        println!("{control}, {loss}: {rate:.1} Mbit/s");
        assert!(rate >= least, "{control} at {loss}: {rate:.1}");
        assert!(
            control != "cubic" || rate < 10.0,
            "{rate:.1}: the loss is not what it seems"
        );
    }
}
