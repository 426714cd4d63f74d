//! Acknowledgement policies. When does Bob send SACKs if paths reorder TSNs, and if one loses some?

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_sim::app::{Paced, Streams, Workload};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

fn acknowledging(policy: &str, delays: [Duration; 2]) -> PairBuilder {
    let mut policies = PolicyRecipe::cmt();
    policies.set("ack-policy", policy).unwrap();
    // A fixed window that never overflows a queue, so nothing is lost.
    policies.set("cc", "fixed").unwrap();
    Pair::paths(delays.map(|delay| LinkConfig::new(mbit(20), delay))).policies(policies)
}

/// SACKs per data packet with a delay difference of 45 ms, and retransmissions.
fn gap_flood(policy: &str) -> (f64, u64) {
    let mut pair = acknowledging(policy, [ms(5), ms(50)]).connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    let again = [0, 1].map(|path| pair.alice().path(path).counters.payload_retransmitted);
    let data = pair.alice().tally().packets_sent as f64;
    let sacks = pair.bob().statistics().sacks_sent as f64;
    println!("{policy}: {:.2} SACKs for each packet", sacks / data);
    (sacks / data, again.iter().sum())
}

#[test]
fn gaps_between_paths_trigger_immediate_sacks_except_with_dac() {
    let (standard, _) = gap_flood("rfc9260");
    let (dac, _) = gap_flood("dac");
    assert!(standard > 0.8, "{standard}");
    assert!(dac < 0.6, "{dac}");
}

#[test]
fn qr_dac_sends_as_few_sacks_as_dac_without_loss() {
    let ((dac, _), (quick, again)) = (gap_flood("dac"), gap_flood("qr-dac"));
    assert!(quick < dac * 1.02, "{quick} against {dac}");
    assert_eq!(again, 0);
}

/// Mean time from the loss of a packet to its retransmission.
fn repair_time(policy: &str) -> Duration {
    const LOSSES: u64 = 50;
    let mut pair = acknowledging(policy, [ms(10), ms(15)]).connected();
    let pace = Paced::new(1_400, ms(10), Streams::one(0));
    pair.alice().act(|conversation, association, now| {
        conversation.also(now, Workload::Paced(pace), association);
    });
    let again = |pair: &mut Pair| {
        let paths = pair.alice().statistics().paths.into_iter();
        paths.map(|path| path.counters.payload_retransmitted).sum::<u64>()
    };
    let mut repairing = Duration::ZERO;
    for loss in 0..LOSSES {
        pair.run_for(ms(200 + loss % 20));
        let sent = pair.alice().tally().packets_sent;
        pair.drop_next(1, kind::DATA);
        pair.run_until(|pair| pair.alice().tally().packets_sent > sent, secs(1));
        let before = pair.simulation.now();
        pair.run_until(|pair| again(pair) == (loss + 1) * 1_400, secs(1));
        repairing += pair.simulation.now() - before;
    }
    let time = repairing / LOSSES as u32;
    println!("{policy}: sent again after {time:?}");
    time
}

#[test]
fn qr_dac_repairs_loss_sooner_than_dac() {
    let (dac, quick, at_once) = (
        repair_time("dac"),
        repair_time("qr-dac"),
        repair_time("immediate"),
    );
    assert!(quick < dac, "{quick:?} against {dac:?}");
    assert!(quick < at_once + ms(2), "{quick:?} against {at_once:?}");
}
