//! Properties of the catalog: every algorithm is found by its name, returns that name, and documents its parameters.

use crate::catalog::*;
use crate::{PolicyRecipe, Refused};

/// Checks the entries of one extension point.
fn entries_hold<C: Choice>() {
    for algorithm in C::POINT.algorithms {
        let choice = C::named(algorithm.name).unwrap();
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
            assert_eq!(
                set.show_parameter(parameter.name).as_deref(),
                Some(parameter.default)
            );
            assert_eq!(set.set_parameter(parameter.name, "nonsense"), Err(Refused::Value));
        }
        let mut set = choice;
        assert_eq!(set.set_parameter("nonsense", "1"), Err(Refused::Name));
        assert_eq!(set.show_parameter("nonsense"), None);
    }
    assert!(C::named("nonsense").is_err());
}

/// Checks that each policy of an extension point returns the name under which it is registered.
fn names_hold<C: PolicyChoice>(name_of: impl Fn(&C::Policy) -> &'static str) {
    entries_hold::<C>();
    for algorithm in C::POINT.algorithms {
        let choice = C::named(algorithm.name).unwrap();
        assert_eq!(name_of(&choice.build()), algorithm.name);
    }
}

#[test]
fn algorithms_have_their_registered_names_and_defaults() {
    names_hold::<CongestionChoice>(|policy| policy.name());
    names_hold::<PathSchedulerChoice>(|policy| policy.name());
    names_hold::<StreamSchedulerChoice>(|policy| policy.name());
    names_hold::<LossChoice>(|policy| policy.name());
    names_hold::<TailProbeChoice>(|policy| policy.name());
    names_hold::<RetransmissionChoice>(|policy| policy.name());
    names_hold::<RttSamplesChoice>(|policy| policy.name());
    names_hold::<AckChoice>(|policy| policy.name());
    names_hold::<SackPathChoice>(|policy| policy.name());
    names_hold::<BufferChoice>(|policy| policy.name());
    names_hold::<ReschedulingChoice>(|policy| policy.name());
    names_hold::<BurstChoice>(|policy| policy.name());
    names_hold::<FailoverChoice>(|policy| policy.name());
}

#[test]
fn options_have_their_documented_defaults() {
    entries_hold::<RtoChoice>();
    entries_hold::<SackHandlingChoice>();
    entries_hold::<NrSackChoice>();
    entries_hold::<SackWindowChoice>();
    entries_hold::<GapLimitChoice>();
    entries_hold::<InterleavingChoice>();
    entries_hold::<PathMtuChoice>();
    entries_hold::<OversizeChoice>();
    entries_hold::<ProbingChoice>();
    entries_hold::<AddIpChoice>();
    entries_hold::<EcnChoice>();
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
fn names_are_unique() {
    for (index, point) in CATALOG.iter().enumerate() {
        assert!(CATALOG[..index].iter().all(|other| other.name != point.name));
        for (index, algorithm) in point.algorithms.iter().enumerate() {
            let before = &point.algorithms[..index];
            assert!(before.iter().all(|other| other.name != algorithm.name));
        }
    }
}
