//! Preferences between paths. Which paths rest, how much may the others carry, and does the peer do the same?

use core::num::NonZeroU64;

use anabranch_netsim::topology::near_addr;
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_proto::PathPreference;
use anabranch_sim::Step;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

const BACKUP: PathPreference = PathPreference {
    cost: PathPreference::BACKUP,
    limit: None,
};

/// Two paths of 10 Mbit/s. Alice, who alone knows her uplinks, has this preference for the one of `path`.
fn preferring(path: usize, preference: PathPreference) -> PairBuilder {
    Pair::two_paths(mbit(10), ms(20)).with(|config| {
        config.path_preferences = vec![(near_addr(path as u8), preference)];
        config.obeys_path_preferences = true;
    })
}

#[test]
fn backup_path_rests_in_both_directions_until_the_other_fails() {
    for policies in [PolicyRecipe::default(), PolicyRecipe::rfc9260()] {
        for backup in [0, 1] {
            let mut pair = preferring(backup, BACKUP).policies(policies).connected();
            let other = 1 - backup;
            pair.run_for(ms(500));
            let before = [
                pair.alice().payload_sent_by_path(),
                pair.bob().payload_sent_by_path(),
            ];
            pair.alice().send_forever();
            pair.bob().send_forever();
            pair.run_for(secs(5));
            let rests = |pair: &mut Pair| {
                let sent = [
                    pair.alice().payload_sent_by_path(),
                    pair.bob().payload_sent_by_path(),
                ];
                assert_eq!(sent[0][backup], before[0][backup], "Alice sends on it");
                assert_eq!(sent[1][backup], before[1][backup], "Bob sends on it");
                assert!(pair.alice().path(backup as u8).resting && pair.bob().path(backup as u8).resting);
            };
            rests(&mut pair);

            pair.cut_path(other);
            // RFC 9260 alone takes five timeouts for a failure.
            pair.run_for(secs(100));
            assert!(pair.alice().goodput_in_last(secs(3)) > mbit(4), "{backup}");
            assert!(pair.bob().goodput_in_last(secs(3)) > mbit(4), "{backup}");

            pair.heal_path(other);
            let is_back = |pair: &mut Pair| {
                pair.alice().reachability(other as u8) == Reachability::Active
                    && pair.bob().reachability(other as u8) == Reachability::Active
            };
            pair.run_until(is_back, secs(200));
            let sent = pair.bob().payload_sent_by_path()[backup];
            pair.run_for(secs(3));
            assert_eq!(pair.bob().payload_sent_by_path()[backup], sent, "it rests again");
            pair.alice().stop_sending();
            pair.bob().stop_sending();
            pair.deliver_all(secs(60));
        }
    }
}

#[test]
fn limited_path_carries_its_limit_in_both_directions() {
    let limit = PathPreference {
        cost: 0,
        limit: NonZeroU64::new(250_000),
    };
    for policies in [PolicyRecipe::default(), PolicyRecipe::recommended()] {
        let mut pair = preferring(1, limit).policies(policies).connected();
        pair.alice().send_forever();
        pair.bob().send_forever();
        pair.run_for(secs(10));
        for sent in [
            pair.alice().payload_sent_by_path(),
            pair.bob().payload_sent_by_path(),
        ] {
            assert!((1_500_000..=2_500_000).contains(&sent[1]), "{sent:?}");
            assert!(sent[0] > 8_000_000, "{sent:?}");
        }
    }
}

/// Its cwnd, which the limit keeps from being used, does not grow, and says nothing of what it carries.
#[test]
fn limited_path_leaves_the_other_one_its_share_for_long() {
    let limit = PathPreference {
        cost: 0,
        limit: NonZeroU64::new(250_000),
    };
    let mut pair = preferring(1, limit).connected();
    pair.alice().send_forever();
    pair.run_for(secs(60));
    let goodput = pair.bob().goodput_in_last(secs(20));
    assert!(goodput > mbit(11), "{goodput}");
    let cwnd = pair.alice().path(1).cwnd;
    assert!(cwnd < 50_000, "{cwnd}");
}

/// A NAT gives the path of the backup another port: Bob learns its preference again before he uses it.
#[test]
fn backup_path_rests_behind_a_nat_that_forgets() {
    let mut pair = preferring(1, BACKUP)
        .scenario(|scenario| scenario.at(secs(3), Step::Rebind(1, 40_000)))
        .connected();
    pair.run_for(ms(500));
    let sent = |pair: &mut Pair| pair.bob().payload_sent_by_path().iter().skip(1).sum::<u64>();
    let before = sent(&mut pair);
    pair.bob().send_forever();
    pair.run_for(secs(60));
    assert_eq!(sent(&mut pair), before);
}

/// A peer that does not obey is left alone, and one without preferences is not bound by those of the other.
#[test]
fn preference_does_not_bind_a_peer_that_obeys_none() {
    let mut pair = preferring(1, BACKUP)
        .with(|config| config.obeys_path_preferences = false)
        .connected();
    pair.run_for(ms(500));
    pair.bob().send_forever();
    pair.run_for(secs(5));
    assert!(pair.bob().payload_sent_by_path()[1] > 1_000_000);
    assert!(pair.alice().path(1).resting && !pair.bob().path(1).resting);
}
