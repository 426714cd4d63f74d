//! The page `docs/conformance.md`. Which rule is implemented where, and which test shows it?

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::annotations::Annotation;
use super::requirements::{Counts, Level, Requirement, Standards};

const INTRODUCTION: &str = "# Conformance

`make docs` generates this page from the rules in [`docs/conformance`](conformance) and annotations such as `//= rfc9260 6.1-3` in the
code; do not edit it. It states each MUST, MUST NOT, SHOULD and SHOULD NOT of a standard in our own words, by section, with the code that
implements it and the test that shows it, or with the reason why it is not done or does not apply. A rule may cover several key words of
the text.
";

/// What became of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Done,
    NotDone,
    NotApplicable,
}

fn state(requirement: &Requirement) -> State {
    match requirement {
        Requirement {
            not_done: Some(_), ..
        } => State::NotDone,
        Requirement {
            not_applicable: Some(_),
            ..
        } => State::NotApplicable,
        _ => State::Done,
    }
}

/// The whole page.
pub(super) fn of(standards: &Standards, annotations: &[Annotation]) -> String {
    let mut page = INTRODUCTION.to_owned();
    for counts in &standards.counts {
        let requirements: Vec<&Requirement> = standards
            .requirements
            .iter()
            .filter(|requirement| requirement.rfc == counts.rfc)
            .collect();
        page.push_str(&totals(counts.rfc, &requirements));
        page.push_str(&not_done(&requirements));
        page.push_str(&sections(counts, &requirements, annotations));
    }
    page
}

fn totals(rfc: u32, requirements: &[&Requirement]) -> String {
    let mut text =
        format!("\n## RFC {rfc}\n\n| level | key words | rules | done | not done | not applicable |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for level in Level::ALL {
        let rules: Vec<_> = requirements
            .iter()
            .filter(|requirement| requirement.level == level)
            .collect();
        let words: u32 = rules.iter().map(|requirement| requirement.occurrences).sum();
        let of_state = |wanted| {
            rules
                .iter()
                .filter(|requirement| state(requirement) == wanted)
                .count()
        };
        let _ = writeln!(
            text,
            "| {} | {words} | {} | {} | {} | {} |",
            level.name(),
            rules.len(),
            of_state(State::Done),
            of_state(State::NotDone),
            of_state(State::NotApplicable)
        );
    }
    text
}

/// A list of what is not done, for those who look for nothing else.
fn not_done(requirements: &[&Requirement]) -> String {
    let ids: Vec<String> = requirements
        .iter()
        .filter(|requirement| state(requirement) == State::NotDone)
        .map(|requirement| format!("{} ({})", requirement.id, requirement.level.name()))
        .collect();
    match ids.len() {
        0 => "\nNothing is left undone.\n".to_owned(),
        _ => format!("\nNot done: {}.\n", ids.join(", ")),
    }
}

fn sections(counts: &Counts, requirements: &[&Requirement], annotations: &[Annotation]) -> String {
    let mut text = String::new();
    let mut section = "";
    for requirement in requirements {
        if requirement.section() != section {
            section = requirement.section();
            let title = counts
                .sections
                .get(section)
                .map_or("", |section| section.title.as_str());
            let _ = writeln!(
                text,
                "\n### §{section} {title}\n\n| id | level | rule | implemented | shown by |"
            );
            text.push_str("|---|---|---|---|---|\n");
        }
        text.push_str(&row(requirement, annotations));
    }
    text
}

fn row(requirement: &Requirement, annotations: &[Annotation]) -> String {
    let places = |is_test| {
        let of_requirement = annotations.iter().filter(|annotation| {
            (annotation.rfc, annotation.id.as_str(), annotation.is_test)
                == (requirement.rfc, requirement.id.as_str(), is_test)
        });
        let places: BTreeSet<String> = of_requirement.map(place).collect();
        places.into_iter().collect::<Vec<_>>().join("<br>")
    };
    let record = requirement
        .adr
        .as_ref()
        .map_or_else(String::new, |adr| format!(" (decision {adr})"));
    let (implemented, shown) = match (&requirement.not_done, &requirement.not_applicable) {
        (Some(why), _) => (format!("**not done**: {why}{record}"), String::new()),
        (_, Some(why)) => (format!("not applicable: {why}"), String::new()),
        (None, None) => {
            let except = requirement.except.as_ref();
            let except = except.map_or_else(String::new, |when| format!("<br>**except**: {when}{record}"));
            (places(false) + &except, places(true))
        }
    };
    let mut line = format!(
        "| {} | {} | {} | {implemented} |",
        requirement.id,
        requirement.level.name(),
        requirement.text
    );
    line.push_str(if shown.is_empty() { "" } else { " " });
    line.push_str(&shown);
    line.push_str(" |\n");
    line
}

/// The item, with a link to its file.
fn place(annotation: &Annotation) -> String {
    let file = annotation.path.replace("/src/", "/").replacen("crates/", "", 1);
    format!("`{}` in [{file}](../{})", annotation.item, annotation.path)
}

#[cfg(test)]
mod tests {
    use super::super::requirements::Section;
    use super::super::requirements::tests::requirement;
    use super::*;

    #[test]
    fn row_has_code_test_and_reason_if_not_done() {
        let standards = Standards {
            requirements: vec![
                requirement("1-1", ""),
                requirement("1-2", "not-done = \"Too far.\"\nadr = \"0001\""),
            ],
            counts: vec![Counts {
                rfc: 9260,
                sections: [(
                    "1".to_owned(),
                    Section {
                        title: "Rules".to_owned(),
                        keywords: [].into(),
                    },
                )]
                .into(),
            }],
        };
        let annotation = |path: &str, item: &str, is_test| Annotation {
            rfc: 9260,
            id: "1-1".to_owned(),
            path: path.to_owned(),
            line: 1,
            item: item.to_owned(),
            is_test,
        };
        let annotations = [
            annotation("crates/proto/src/a.rs", "send", false),
            annotation("crates/tests/tests/a.rs", "it_sends", true),
        ];
        let page = of(&standards, &annotations);
        let rows = "### §1 Rules

| id | level | rule | implemented | shown by |
|---|---|---|---|---|
| 1-1 | MUST | t | `send` in [proto/a.rs](../crates/proto/src/a.rs) | `it_sends` in [tests/tests/a.rs](../crates/tests/tests/a.rs) |
| 1-2 | MUST | t | **not done**: Too far. (decision 0001) | |
";
        assert!(page.ends_with(rows), "{page}");
        assert!(page.contains("| MUST | 2 | 2 | 1 | 1 | 0 |"), "{page}");
        assert!(page.contains("Not done: 1-2 (MUST)."), "{page}");
    }
}
