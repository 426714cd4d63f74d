//! Policy catalog as text, with a star at the chosen algorithms.

use std::fmt::Write as _;

use anabranch::PolicyRecipe;
use anabranch::policy::catalog::{Algorithm, ExtensionPoint};

use super::chosen_value;

/// Each policy with its algorithms and their parameters; a star marks the algorithm of the recipe.
pub(super) fn list(points: &[ExtensionPoint], recipe: &PolicyRecipe) -> String {
    let chosen = recipe.names();
    let mut text = String::new();
    for point in points {
        text += &format!("{}: {}\n", point.name, point.description);
        for algorithm in point.algorithms {
            let recipe = chosen.contains(&(point.name, algorithm.name)).then_some(recipe);
            describe(&mut text, recipe, point.name, algorithm);
        }
    }
    text + "\n* chosen; parameters of other algorithms are shown with their defaults\n"
}

fn describe(text: &mut String, chosen_in: Option<&PolicyRecipe>, point: &str, algorithm: &Algorithm) {
    let Algorithm {
        name,
        summary,
        source,
        parameters,
    } = algorithm;
    let star = if chosen_in.is_some() { '*' } else { ' ' };
    // Writing to a string does not fail.
    let _ = writeln!(text, "{star} {point}={name}: {summary} ({source})");
    for parameter in *parameters {
        let value = chosen_in.and_then(|recipe| chosen_value(recipe, point, parameter.name));
        let value = value.unwrap_or_else(|| parameter.default.to_owned());
        let _ = writeln!(
            text,
            "      {point}.{}={value}: {}",
            parameter.name, parameter.meaning
        );
    }
}
