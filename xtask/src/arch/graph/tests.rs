//! Tests of the dependency check.

use serde_json::json;

use super::super::table::CRATES;
use super::*;

fn graph(arrows: &[(&str, &[&str])]) -> Graph {
    arrows
        .iter()
        .map(|&(user, uses)| {
            (
                user.to_owned(),
                uses.iter().map(|&used| used.to_owned()).collect(),
            )
        })
        .collect()
}

#[test]
fn an_arrow_of_the_table_is_allowed() {
    let good = graph(&[
        ("anabranch-types", &[]),
        ("anabranch-proto", &["anabranch-policy", "anabranch-wire"]),
    ]);
    assert_eq!(check(&good, CRATES), []);
}

#[test]
fn policy_depending_on_proto_is_found() {
    let bad = graph(&[("anabranch-policy", &["anabranch-proto", "anabranch-types"])]);
    let found: Vec<String> = check(&bad, CRATES).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["anabranch-policy: must not depend on anabranch-proto"]);
}

#[test]
fn crate_depending_on_itself_is_found() {
    let bad = graph(&[("anabranch-tests", &["anabranch-tests"])]);
    assert_eq!(check(&bad, CRATES).len(), 1);
}

#[test]
fn crate_missing_from_the_table_is_found() {
    assert_eq!(check(&graph(&[("anabranch-surprise", &[])]), CRATES).len(), 1);
}

#[test]
fn tests_may_depend_on_everything() {
    let all: Vec<&str> = CRATES
        .iter()
        .filter(|rule| rule.level < 8)
        .map(|rule| rule.name)
        .collect();
    assert_eq!(check(&graph(&[("anabranch-tests", &all)]), CRATES), []);
}

#[test]
fn every_arrow_of_the_table_points_down() {
    for rule in CRATES {
        if let Uses::Only(names) = rule.uses {
            let upwards: Vec<_> = names.iter().filter(|used| !allows(CRATES, rule, used)).collect();
            assert!(
                upwards.is_empty(),
                "{} may use {upwards:?}, which is not below it",
                rule.name
            );
        }
    }
}

#[test]
fn dependencies_of_tests_count_and_third_party_ones_do_not() {
    let metadata = json!({ "packages": [{
        "name": "anabranch-wire",
        "dependencies": [
            { "name": "anabranch-types", "path": "/here/types", "kind": null },
            { "name": "anabranch-types", "path": "/here/types", "kind": "dev" },
            { "name": "anabranch-sim", "path": "/here/sim", "kind": "dev" },
            { "name": "bytes", "kind": null },
        ],
    }]});
    let expected = graph(&[("anabranch-wire", &["anabranch-sim", "anabranch-types"])]);
    assert_eq!(parse(&metadata), Some(expected));
}

#[test]
fn drawing_puts_dependencies_below() {
    let small = graph(&[("anabranch-types", &[]), ("anabranch-wire", &["anabranch-types"])]);
    assert_eq!(
        drawing(&small, CRATES),
        "level 2  wire       → types\nlevel 1  types      → –\n"
    );
}
