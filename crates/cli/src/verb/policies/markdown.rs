//! Policy catalog as Markdown: the content of docs/policies.md.

use std::fmt::Write as _;

use anabranch::policy::PROFILES;
use anabranch::policy::catalog::{Algorithm, ExtensionPoint};

const HEAD: &str = "\
# Policies

These choices are made by name: with `--set NAME=ALGORITHM` and `--set NAME.PARAMETER=VALUE` on the command line, with
the same lines and spaces around `=` in a file (`--policies FILE`), or with `PolicyRecipe::set` in the library. `make docs`
generates this page from the catalog, `crates/policy/src/catalog`; a test fails if it is out of date.
[Add a path scheduler](add-a-path-scheduler.md) shows how to add an algorithm.

*Our reading of* a source means that the source leaves a definition open.
";

/// The page.
pub(super) fn list(points: &[ExtensionPoint]) -> String {
    let mut text = HEAD.to_owned();
    profiles(&mut text);
    for point in points {
        // Writing to a string does not fail.
        let _ = write!(text, "\n## `{}`: {}\n\n", point.name, point.description);
        text += "| algorithm | what it does | source | chosen by profiles | parameters, with their defaults |\n|---|---|---|---|---|\n";
        for algorithm in point.algorithms {
            row(&mut text, point, algorithm);
        }
    }
    text
}

fn profiles(text: &mut String) {
    *text += "\n## Profiles\n\n`anabranch profiles NAME` prints all choices of a profile.\n\n| profile | what it is for | source |\n|---|---|---|\n";
    for profile in PROFILES {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            profile.name, profile.summary, profile.source
        );
    }
}

fn row(text: &mut String, point: &ExtensionPoint, algorithm: &Algorithm) {
    let parameters: Vec<String> = algorithm
        .parameters
        .iter()
        .map(|parameter| format!("`{}={}` {}", parameter.name, parameter.default, parameter.meaning))
        .collect();
    let chosen_by: Vec<String> = PROFILES
        .iter()
        .filter(|profile| profile.recipe.names().contains(&(point.name, algorithm.name)))
        .map(|profile| format!("`{}`", profile.name))
        .collect();
    let _ = writeln!(
        text,
        "| `{}` | {} | {} | {} | {} |",
        algorithm.name,
        algorithm.summary,
        algorithm.source,
        chosen_by.join(", "),
        parameters.join("<br>")
    );
}
