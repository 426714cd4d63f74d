//! Tests of the printed policy catalog.

use anabranch::PolicyRecipe;
use anabranch::policy::catalog::CATALOG;

use super::{json, markdown, selected, text};

#[test]
fn every_assignment_in_the_list_can_be_made() {
    let list = text::list(CATALOG, &PolicyRecipe::default());
    let mut recipe = PolicyRecipe::default();
    let assignments = list.lines().filter_map(|line| {
        let (assignment, _) = line.get(2..)?.trim().split_once(": ")?;
        assignment.split_once('=')
    });
    let mut count = 0;
    for (key, value) in assignments {
        recipe.set(key, value).unwrap();
        count += 1;
    }
    assert!(count > CATALOG.len(), "{count} assignments in\n{list}");
}

#[test]
fn each_policy_has_one_chosen_algorithm() {
    let list = text::list(CATALOG, &PolicyRecipe::default());
    let stars = list
        .lines()
        .filter(|line| line.starts_with("* ") && line.contains('='));
    assert_eq!(stars.count(), CATALOG.len());
}

#[test]
fn set_parameter_is_shown_with_its_value() {
    let mut recipe = PolicyRecipe::rfc9260();
    recipe.set("rto.min", "250ms").unwrap();
    assert!(text::list(CATALOG, &recipe).contains("rto.min=250ms"));
    let object: serde_json::Value = serde_json::from_str(&json::list(CATALOG, &recipe)).unwrap();
    let points = object["policies"].as_array().unwrap();
    assert_eq!(points.len(), CATALOG.len());
    let rto = points.iter().find(|point| point["name"] == "rto").unwrap();
    let min = &rto["algorithms"][0]["parameters"][1];
    assert_eq!((&min["default"], &min["chosen"]), (&"1s".into(), &"250ms".into()));
}

#[test]
fn one_extension_point_is_listed_and_wrong_names_corrected() {
    assert_eq!(selected(Some("cc")).unwrap()[0].name, "cc");
    let error = selected(Some("ack-polici")).unwrap_err().to_string();
    assert!(error.contains("did you mean `ack-policy`?"), "{error}");
}

#[test]
fn policies_page_is_up_to_date() {
    let page = include_str!("../../../../../docs/policies.md");
    assert!(
        page == markdown::list(CATALOG),
        "docs/policies.md is out of date: run `make docs`"
    );
}
