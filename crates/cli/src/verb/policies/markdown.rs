//! Policy catalog as Markdown: the content of docs/policies.md.

use std::fmt::Write as _;

use anabranch::policy::PROFILES;
use anabranch::policy::catalog::{Algorithm, ExtensionPoint};

const HEAD: &str = "\
# Policies

Everything that can be chosen by name: `--set NAME=ALGORITHM` and `--set NAME.PARAMETER=VALUE` on the command line, the
same with `=` between spaces in a file (`--policies FILE`), `PolicyRecipe::set` in the library. This page is made by
`make docs` out of the catalog, `crates/policy/src/catalog`; a test fails if it is out of date. How to add an algorithm:
[add a path scheduler](add-a-path-scheduler.md).

Where a source leaves a definition open, *our reading of* says so.
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
