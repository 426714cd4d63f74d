//! Loss-differentiating congestion control over simulated links. Which paths does it give a model, and what does that bring?

use anabranch_netsim::link::{Loss, QueueConfig};
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::BufferSize;
use anabranch_sim::CrossTraffic;
use anabranch_sim::tcp::{TcpApp, TcpConfig};

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// 50 Mbit/s, 20 ms each way: 167 packets in flight.
fn link(loss: f64, queue: u64) -> LinkConfig {
    LinkConfig::new(mbit(50), ms(20))
        .queue(QueueConfig::Packets(queue as _))
        .loss(Loss::Bernoulli(Probability::of(loss)))
}

fn over(links: Vec<LinkConfig>) -> PairBuilder {
    let mut recipe = PolicyRecipe::recommended();
    recipe.set("cc", "loss-differentiating").unwrap();
    Pair::paths(links).policies(recipe).with(|config| {
        config.send_buffer = BufferSize::Fixed(8 << 20);
        config.receive_buffer = BufferSize::Fixed(8 << 20);
    })
}

/// A connected pair that sends without end and has warmed up.
fn sending(links: Vec<LinkConfig>) -> Pair {
    let mut pair = over(links).connected();
    pair.alice().send_forever();
    pair.run_for(secs(6));
    pair
}

/// Mbit/s over the next ten seconds.
fn goodput(pair: &mut Pair) -> f64 {
    let since = pair.simulation.now();
    pair.run_for(secs(10));
    // Endless data goes over four streams in turn.
    let rates = (0..4).map(|stream| pair.stream_rate(stream, since).as_bits_per_second());
    rates.sum::<u64>() as f64 / 1e6
}

/// Whether each path has a model: only those have a pacing rate.
fn models(pair: &mut Pair) -> Vec<bool> {
    let alice = pair.alice();
    let facts = alice.association().expect("she is connected").path_facts();
    facts.iter().map(|path| path.pacing_rate.is_some()).collect()
}

#[test]
fn random_losses_leave_most_of_one_and_two_paths() {
    for (paths, loss, least) in [
        (1, 0.005, 40.0),
        (1, 0.02, 38.0),
        (2, 0.005, 80.0),
        (2, 0.02, 76.0),
    ] {
        let mut pair = sending(vec![link(loss, 1_000); paths]);
        let rate = goodput(&mut pair);
        assert!(rate >= least, "{paths} paths at {loss}: {rate:.1}");
    }
}

#[test]
fn only_the_path_with_random_losses_has_a_model() {
    let mut pair = sending(vec![link(0.0, 1_000), link(0.02, 1_000)]);
    assert_eq!(models(&mut pair), [false, true]);
}

#[test]
fn losses_of_a_full_queue_lead_to_no_model() {
    for queue in [20, 84, 167, 668] {
        let mut pair = sending(vec![link(0.0, queue)]);
        for _ in 0..10 {
            pair.run_for(secs(3));
            assert_eq!(models(&mut pair), [false], "{queue} packets");
        }
    }
}

/// A TCP flow with CUBIC through the same bottleneck.
fn beside_cubic(loss: f64) -> Pair {
    let mut policies = PolicyRecipe::tcp();
    policies.set("cc", "cubic").unwrap();
    let config = TcpConfig {
        send_buffer: 8 << 20,
        receive_buffer: 8 << 20,
        policies,
        ..TcpConfig::default()
    };
    let access = LinkConfig::unlimited(ms(1));
    let path = access.clone().loss(Loss::Bernoulli(Probability::of(loss)));
    let builder = over(vec![path]).scenario(move |scenario| {
        let bottleneck = link(0.0, 167);
        let cross_traffic = CrossTraffic::tcp(access, config, TcpApp::bulk());
        scenario.bottleneck(bottleneck).cross_traffic(cross_traffic)
    });
    let mut pair = builder.connected();
    pair.alice().send_forever();
    pair
}

#[test]
fn a_flow_at_the_same_bottleneck_leads_to_no_model() {
    let mut pair = beside_cubic(0.0);
    pair.simulation.connect_cross_traffic();
    for _ in 0..10 {
        pair.run_for(secs(3));
        assert_eq!(models(&mut pair), [false]);
    }
}

#[test]
fn the_model_ends_once_random_losses_ended_and_a_queue_fills() {
    let mut pair = beside_cubic(0.01);
    pair.run_for(secs(6));
    assert_eq!(models(&mut pair), [true]);
    pair.set_loss(0, 0.0);
    pair.run_for(secs(2));
    pair.simulation.connect_cross_traffic();
    pair.run_until(|pair| models(pair) == [false], secs(60));
}
