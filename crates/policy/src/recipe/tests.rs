//! Tests of recipes: names, renamed names, text.

use alloc::string::ToString;
use core::mem::size_of;
use core::time::Duration;

use super::PolicyRecipe;
use crate::PROFILES;
use crate::catalog::{AckChoice, CongestionChoice};
use crate::congestion::{CmtParameters, CubicState, Growth};
use crate::testing::healthy;

#[test]
fn every_profile_is_found_by_name_and_can_be_built() {
    for profile in PROFILES {
        let recipe = PolicyRecipe::profile(profile.name).unwrap();
        assert_eq!(recipe, profile.recipe);
        for _ in 0..3 {
            let mut policies = recipe.build();
            policies.add_path(&healthy(0), anabranch_types::Instant::ZERO);
            assert!(policies.congestion.cwnd(healthy(0).id) > 0);
        }
    }
    assert!(PolicyRecipe::profile("fast").is_err());
}

#[test]
fn a_congestion_control_that_may_measure_rates_is_paced() {
    for name in ["bbr", "bbr-v1", "loss-differentiating"] {
        // As the core does it: own policies replace those of a recipe before the first path is added.
        let mut own = PolicyRecipe::rfc9260();
        own.set("cc", name).unwrap();
        let mut policies = PolicyRecipe::rfc9260().build();
        policies.congestion = own.build().congestion;
        assert_eq!(policies.burst.name(), "max-burst");
        for path in 0..2 {
            policies.add_path(&healthy(path), anabranch_types::Instant::ZERO);
        }
        assert_eq!(policies.burst.name(), "paced", "{name}");
    }
}

#[test]
fn a_parameter_is_set_by_the_name_of_its_extension_point() {
    let mut recipe = PolicyRecipe::cmt();
    recipe.set("cc.growth", "cuc-v1").unwrap();
    recipe.set("cc.initial-packets", "10").unwrap();
    recipe.set("ack-policy.delay", "40ms").unwrap();
    let expected = CmtParameters {
        growth: Growth::CucV1,
        slow_start_limit: 1,
        initial_packets: 10,
    };
    assert_eq!(recipe.congestion, CongestionChoice::Cmt(expected));
    assert!(matches!(recipe.ack, AckChoice::Dac(delay) if delay.delay == Duration::from_millis(40)));
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let mut recipe = PolicyRecipe::default();
    let refused = |key, value| PolicyRecipe::default().set(key, value).unwrap_err().to_string();
    assert_eq!(
        refused("cc", "cubik"),
        "unknown cc `cubik`, did you mean `cubic`? Known: cmt, reno, cubic, bbr, bbr-v1, loss-differentiating, cmt-rpv1, cmt-rpv2, lia, olia, balia, fixed"
    );
    assert_eq!(
        refused("cc.grow", "cuc-v1"),
        "unknown loss-differentiating parameter of cc `grow`, did you mean `growth`? Known: growth, hystart, slow-start-limit, \
         initial-packets"
    );
    assert_eq!(
        refused("ack-policy.delay", "2s"),
        "unknown value of ack-policy.delay `2s`, known: acknowledge after this time at the latest, 0ms to 500ms"
    );
    assert_eq!(
        refused("burst.packets", "4"),
        "unknown paced parameter of burst `packets`, known: none"
    );
    assert!(refused("path-schedule", "primary").contains("did you mean `path-scheduler`?"));
    assert!(recipe.set("cc.growth", "nonsense").is_err());
    assert_eq!(
        recipe,
        PolicyRecipe::default(),
        "a refused setting changes nothing"
    );
}

#[test]
fn a_renamed_name_is_refused_with_the_new_one() {
    let mut recipe = PolicyRecipe::default();
    recipe.set("cc", "fixed").unwrap();
    let mut refused = |key, value| recipe.set(key, value).unwrap_err().to_string();
    assert_eq!(
        refused("cc.window", "40000"),
        "unknown fixed parameter of cc `window`, renamed to `cwnd`"
    );
    assert_eq!(
        refused("failover", "fast-abandonment"),
        "unknown failover `fast-abandonment`, renamed to `fast-failover`"
    );
}

#[test]
fn sfr_is_an_alias_of_miss_count() {
    let mut recipe = PolicyRecipe::default();
    recipe.set("loss", "sfr").unwrap();
    assert!(recipe.names().contains(&("loss", "miss-count")));
}

#[test]
fn policies_stay_small() {
    assert!(size_of::<PolicyRecipe>() <= 352, "{}", size_of::<PolicyRecipe>());
    assert!(
        size_of::<Option<CubicState>>() <= 256,
        "{}",
        size_of::<Option<CubicState>>()
    );
}

#[test]
fn profile_text_restores_the_profile_from_any_other() {
    for profile in PROFILES {
        let text = profile.recipe.to_string();
        for other in PROFILES {
            assert_eq!(other.recipe.changed_by(&text), Ok(profile.recipe), "{text}");
        }
    }
}

#[test]
fn an_invalid_text_is_refused_with_its_line() {
    let refused = |text: &str| PolicyRecipe::default().changed_by(text).unwrap_err().to_string();
    assert_eq!(
        refused("# mine\n\ncc cubic"),
        "line 3: expected `key = value`, found `cc cubic`"
    );
    assert!(
        refused("cc = cubic\ncc.hystar = on").starts_with("line 2: unknown cubic parameter of cc `hystar`")
    );
    assert!(refused("profile = freebsd").contains("did you mean"));
}
