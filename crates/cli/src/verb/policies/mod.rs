//! `anabranch policies`: prints the policy catalog as text, JSON or Markdown.

mod json;
mod markdown;
mod text;

use anabranch::PolicyRecipe;
use anabranch::policy::catalog::{CATALOG, ExtensionPoint};

use crate::arguments::PoliciesArguments;
use crate::failure::Failure;
use crate::output::print;

/// Prints every assignment that `--set` accepts.
pub(crate) fn run(arguments: &PoliciesArguments) -> Result<(), Failure> {
    let recipe = arguments.choices.recipe()?;
    let points = selected(arguments.point.as_deref())?;
    let text = if arguments.json {
        json::list(&points, &recipe)
    } else if arguments.markdown {
        markdown::list(&points)
    } else {
        text::list(&points, &recipe)
    };
    print(&text)
}

/// All policies, or the one called `name`.
fn selected(name: Option<&str>) -> Result<Vec<ExtensionPoint>, Failure> {
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
