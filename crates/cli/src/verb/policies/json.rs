//! Policy catalog as JSON (docs/cli-json.md).

use anabranch::PolicyRecipe;
use anabranch::policy::catalog::{Algorithm, ExtensionPoint};
use serde::Serialize;

use super::chosen_value;

#[derive(Serialize)]
struct Catalog {
    event: &'static str,
    policies: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    name: &'static str,
    description: &'static str,
    chosen: String,
    algorithms: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    default: &'static str,
    meaning: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
}

/// The catalog as one JSON object.
pub(super) fn list(points: &[ExtensionPoint], recipe: &PolicyRecipe) -> String {
    let catalog = Catalog {
        event: "policies",
        policies: points.iter().map(|point| describe(point, recipe)).collect(),
    };
    serde_json::to_string(&catalog).expect("invariant: string keys only") + "\n"
}

fn describe(point: &ExtensionPoint, recipe: &PolicyRecipe) -> Point {
    let names = recipe.names();
    let chosen = names.iter().find(|(name, _)| *name == point.name);
    let chosen = chosen.map_or("", |(_, algorithm)| *algorithm);
    let entry = |algorithm: &Algorithm| {
        let value = |name| (algorithm.name == chosen).then(|| chosen_value(recipe, point.name, name));
        Entry {
            name: algorithm.name,
            summary: algorithm.summary,
            source: algorithm.source,
            parameters: algorithm
                .parameters
                .iter()
                .map(|parameter| Parameter {
                    name: parameter.name,
                    default: parameter.default,
                    meaning: parameter.meaning,
                    chosen: value(parameter.name).flatten(),
                })
                .collect(),
        }
    };
    Point {
        name: point.name,
        description: point.description,
        chosen: chosen.to_owned(),
        algorithms: point.algorithms.iter().map(entry).collect(),
    }
}
