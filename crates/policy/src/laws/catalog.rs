//! Every algorithm is found by its name, says that name, and documents what can be set.

use crate::catalog::{
    AckChoice, BufferChoice, BurstChoice, CATALOG, Choice, CongestionChoice, FailoverChoice, LossChoice,
    PathSchedulerChoice, RescueChoice, RetransmissionChoice, SackPathChoice, StreamSchedulerChoice,
};
use crate::{PolicyRecipe, Refused};

/// Checks the entries of one extension point; `name_of` asks the policy itself.
fn entries_hold<C: Choice>(name_of: impl Fn(&C::Policy) -> &'static str) {
    for algorithm in C::POINT.algorithms {
        let choice = C::named(algorithm.name).unwrap();
        assert_eq!(name_of(&choice.build()), algorithm.name);
        assert_eq!(choice.algorithm(), algorithm);
        for parameter in algorithm.parameters {
            let mut set = choice;
            assert_eq!(
                set.set_parameter(parameter.name, parameter.default),
                Ok(()),
                "{parameter:?}"
            );
            assert_eq!(
                set, choice,
                "the documented default of {parameter:?} is not the real one"
            );
            assert_eq!(set.set_parameter(parameter.name, "nonsense"), Err(Refused::Value));
        }
        let mut set = choice;
        assert_eq!(set.set_parameter("nonsense", "1"), Err(Refused::Name));
    }
    assert!(C::named("nonsense").is_err());
}

#[test]
fn every_algorithm_says_the_name_it_is_registered_under_and_takes_its_documented_defaults() {
    entries_hold::<CongestionChoice>(|policy| policy.name());
    entries_hold::<PathSchedulerChoice>(|policy| policy.name());
    entries_hold::<StreamSchedulerChoice>(|policy| policy.name());
    entries_hold::<LossChoice>(|policy| policy.name());
    entries_hold::<RetransmissionChoice>(|policy| policy.name());
    entries_hold::<AckChoice>(|policy| policy.name());
    entries_hold::<SackPathChoice>(|policy| policy.name());
    entries_hold::<BufferChoice>(|policy| policy.name());
    entries_hold::<RescueChoice>(|policy| policy.name());
    entries_hold::<BurstChoice>(|policy| policy.name());
    entries_hold::<FailoverChoice>(|policy| policy.name());
}

#[test]
fn every_algorithm_can_be_chosen_by_name_in_a_recipe() {
    for point in CATALOG {
        for algorithm in point.algorithms {
            let mut recipe = PolicyRecipe::default();
            recipe.set(point.name, algorithm.name).unwrap();
            assert!(recipe.names().contains(&(point.name, algorithm.name)));
            assert!(!algorithm.summary.is_empty() && !algorithm.source.is_empty());
            let _ = recipe.build();
        }
    }
}

#[test]
fn no_name_is_given_twice() {
    for (index, point) in CATALOG.iter().enumerate() {
        assert!(CATALOG[..index].iter().all(|other| other.name != point.name));
        for (index, algorithm) in point.algorithms.iter().enumerate() {
            let before = &point.algorithms[..index];
            assert!(before.iter().all(|other| other.name != algorithm.name));
        }
    }
}
