//! Which mechanisms are there to choose from? The library's catalog, for people, for programs and for the docs.

mod json;
mod markdown;
mod text;

use anabranch::PolicyRecipe;
use anabranch::policy::catalog::{CATALOG, ExtensionPoint};

use crate::arguments::PoliciesArguments;
use crate::failure::Failure;
use crate::output::print;

/// Prints every name that `--set` takes, in the form asked for.
pub(crate) fn run(arguments: &PoliciesArguments) -> Result<(), Failure> {
    let recipe = arguments.choices.recipe()?;
    let points = asked_for(arguments.point.as_deref())?;
    let text = if arguments.json {
        json::list(&points, &recipe)
    } else if arguments.markdown {
        markdown::list(&points)
    } else {
        text::list(&points, &recipe)
    };
    print(&text)
}

/// All extension points, or the one called `name`.
fn asked_for(name: Option<&str>) -> Result<Vec<ExtensionPoint>, Failure> {
    let Some(name) = name else {
        return Ok(CATALOG.to_vec());
    };
    match CATALOG.iter().find(|point| point.name == name) {
        Some(point) => Ok(vec![*point]),
        None => {
            let unknown = PolicyRecipe::default().set(name, "");
            let known = unknown.err().map_or_else(String::new, |error| error.to_string());
            Err(Failure::Usage(known))
        }
    }
}

/// The value of a parameter of the chosen algorithm in `recipe`.
fn chosen_value(recipe: &PolicyRecipe, point: &str, parameter: &str) -> Option<String> {
    let key = format!("{point}.{parameter}");
    let mut assignments = recipe.assignments().into_iter();
    assignments.find(|(name, _)| *name == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
