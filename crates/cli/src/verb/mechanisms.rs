//! Which mechanisms are there to choose from? A list for people, made of the library's catalog.

use std::fmt::Write as _;
use std::io::Write as _;

use anabranch::PolicyRecipe;
use anabranch::policy::catalog::{Algorithm, CATALOG};

/// Prints every name that `--set` takes.
pub(crate) fn print(profile: &PolicyRecipe) {
    // A reader that has seen enough is no error.
    let _ = std::io::stdout().write_all(list(profile).as_bytes());
}

/// Each question with its answers and their parameters; a star for the answer of the profile.
fn list(profile: &PolicyRecipe) -> String {
    let chosen = profile.names();
    let mut text = String::new();
    for point in CATALOG {
        text += &format!("{}: {}\n", point.name, point.question);
        for algorithm in point.algorithms {
            let star = if chosen.contains(&(point.name, algorithm.name)) {
                '*'
            } else {
                ' '
            };
            describe(&mut text, star, point.name, algorithm);
        }
    }
    text + "\n* in the profile; parameters with their values unless set, which a profile may change\n"
}

fn describe(text: &mut String, star: char, point: &str, algorithm: &Algorithm) {
    let Algorithm {
        name,
        summary,
        source,
        parameters,
    } = algorithm;
    // Writing to a string does not fail.
    let _ = writeln!(text, "{star} {point}={name}: {summary} ({source})");
    for parameter in *parameters {
        let _ = writeln!(
            text,
            "      {point}.{}={}: {}",
            parameter.name, parameter.default, parameter.meaning
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_assignment_in_the_list_can_be_made() {
        let list = list(&PolicyRecipe::default());
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
    fn each_question_has_one_answer_in_the_profile() {
        let list = list(&PolicyRecipe::default());
        let stars = list
            .lines()
            .filter(|line| line.starts_with("* ") && line.contains('='));
        assert_eq!(stars.count(), CATALOG.len());
    }
}
