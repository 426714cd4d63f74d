//! Tests of the processor model: does a host take the processing time of its model?

use core::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_types::{Rate, Seed};

use super::ProcessorModel;
use crate::app::{Bulk, Conversation, Streams, Workload};
use crate::{Scenario, Side, Simulation};

const QUICK: ProcessorModel = ProcessorModel {
    receive: Duration::from_micros(10),
    send: Duration::from_micros(10),
    sack: Duration::from_micros(10),
    thousand_visits: Duration::ZERO,
    ring: 100,
};

/// Ten seconds of bulk transfer, near to far, over a path that could carry 100 Mbit/s.
fn ten_seconds(near: Option<ProcessorModel>, far: Option<ProcessorModel>) -> Simulation {
    let bulk = Workload::Bulk(Bulk::new(1_000, Streams::one(0)));
    let mut scenario = Scenario::new(Seed(1))
        .path(LinkConfig::new(Rate::mbit(100), Duration::from_millis(1)))
        .near_app(Conversation::new([bulk]).metered())
        .far_app(Conversation::default().metered());
    for (side, model) in [(Side::Near, near), (Side::Far, far)] {
        if let Some(model) = model {
            scenario = scenario.processor(side, model);
        }
    }
    let mut simulation = scenario.build();
    simulation.connect();
    simulation.run_for(Duration::from_secs(10));
    simulation
}

fn mbit(simulation: &Simulation) -> f64 {
    simulation.outcome().forward.bytes as f64 * 8e-7
}

#[test]
fn fast_processor_hardly_reduces_goodput() {
    let (without, with) = (ten_seconds(None, None), ten_seconds(Some(QUICK), Some(QUICK)));
    assert!(
        mbit(&with) > 0.98 * mbit(&without),
        "{} of {}",
        mbit(&with),
        mbit(&without)
    );
    assert!(without.host(Side::Near).processor().is_none());
    let tally = with.host(Side::Near).processor().expect("there is one");
    let sent = with.host(Side::Near).tally().packets_sent;
    assert!(tally.busy >= QUICK.send * u32::try_from(sent).unwrap());
    assert!(Duration::ZERO < tally.with_sacks && tally.with_sacks < tally.busy);
    assert_eq!(tally.dropped, 0);
}

#[test]
fn slow_sender_processor_limits_the_packet_rate() {
    let slow = ProcessorModel {
        send: Duration::from_millis(1),
        ..QUICK
    };
    let simulation = ten_seconds(Some(slow), None);
    // Each packet carries a message of 1,000 bytes, and SACKs take processing time too.
    let mbit = mbit(&simulation);
    assert!((7.0..8.0).contains(&mbit), "{mbit} Mbit/s");
    let busy = simulation
        .host(Side::Near)
        .processor()
        .expect("there is one")
        .busy;
    assert!(busy > Duration::from_millis(9_900), "{busy:?}");
}

#[test]
fn slow_receiver_processor_overflows_its_ring() {
    let slow = ProcessorModel {
        receive: Duration::from_millis(1),
        ring: 10,
        ..QUICK
    };
    let simulation = ten_seconds(None, Some(slow));
    let mbit = mbit(&simulation);
    assert!((4.0..8.0).contains(&mbit), "{mbit} Mbit/s");
    let dropped = simulation
        .host(Side::Far)
        .processor()
        .expect("there is one")
        .dropped;
    assert!(dropped > 0);
    let near = simulation.outcome().near.expect("it is up");
    let lost: u64 = near.paths.iter().map(|path| path.counters.fast_retransmits).sum();
    assert!(lost > 0, "the sender learns of it as of any loss");
}

#[test]
fn sack_processing_time_follows_the_model() {
    let model = ProcessorModel {
        thousand_visits: Duration::from_micros(500),
        ..QUICK
    };
    assert_eq!(model.sacks(2, 3_000), Duration::from_micros(2 * 10 + 3 * 500));
}

#[test]
fn processor_models_are_found_by_name() {
    assert_eq!(
        ProcessorModel::named("embedded-1ghz"),
        Some(ProcessorModel::EMBEDDED)
    );
    assert_eq!(ProcessorModel::named("abacus"), None);
}
