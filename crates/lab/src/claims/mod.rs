//! Page of claims (docs/claims.md): verdicts from plans, kept result summaries, and tests.

mod counts;
mod dataset;
mod tested;

use core::fmt::Write as _;

pub use dataset::dataset;
pub use tested::{Shown, Tested};

use crate::check::{Finding, Verdict};
use crate::plan::Plan;
use crate::summary::{ResultSummary, Size};

/// An entry of the page.
#[derive(Clone, PartialEq, Debug)]
pub enum Entry {
    /// A claim that is measured by an experiment.
    Measured(Box<Claim>),
    /// A claim that is shown by tests.
    Tested(Tested),
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Measured(claim) => &claim.plan.name,
            Self::Tested(tested) => &tested.name,
        }
    }

    fn heading(&self) -> String {
        let title = match self {
            Self::Measured(claim) => &claim.plan.title,
            Self::Tested(tested) => &tested.title,
        };
        format!("{}: {title}", self.name())
    }

    fn source(&self) -> &str {
        match self {
            Self::Measured(claim) => &claim.plan.source,
            Self::Tested(tested) => &tested.source,
        }
    }

    fn claim(&self) -> &str {
        match self {
            Self::Measured(claim) => &claim.plan.claim,
            Self::Tested(tested) => &tested.claim,
        }
    }

    /// The verdict; of a measured claim with the number of undecided checks.
    fn judgement(&self) -> String {
        match self {
            Self::Measured(claim) => claim.judgement(),
            Self::Tested(tested) => tested.verdict().to_string(),
        }
    }

    fn size(&self) -> String {
        match self {
            Self::Measured(claim) => claim.size(),
            Self::Tested(_) => "shown by tests".to_owned(),
        }
    }
}

/// A claim with its measured results.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// The plan in its full size.
    pub plan: Plan,
    /// Its result summary; `None` if not measured.
    pub summary: Option<ResultSummary>,
}

impl Claim {
    /// A claim; `quick` is its plan in the quick size.
    #[must_use]
    pub fn new(plan: Plan, quick: &Plan, summary: Option<ResultSummary>) -> Self {
        let summary = summary.map(|summary| summary.compared_with_plan(&plan, quick));
        Self { plan, summary }
    }

    fn verdict(&self) -> Verdict {
        let verdict = self.summary.as_ref().and_then(|summary| summary.verdict);
        verdict.unwrap_or(Verdict::NotMeasured)
    }

    /// The verdict, with the number of undecided checks.
    fn judgement(&self) -> String {
        let findings = self.summary.iter().flat_map(|summary| &summary.findings);
        let is_undecided = |finding: &&Finding| finding.verdict == Verdict::Undecided;
        let verdict = self.verdict();
        match findings.clone().filter(is_undecided).count() {
            0 => verdict.to_string(),
            open => format!("{verdict} ({open} of {} checks undecided)", findings.count()),
        }
    }

    /// The measured size, and restrictions of the results.
    fn size(&self) -> String {
        let Some(summary) = &self.summary else {
            return "–".to_owned();
        };
        let size = match summary.size {
            Size::Full => "full",
            Size::Quick => "**quick**, not the paper's",
        };
        let outdated = if summary.is_outdated {
            "; the plan has changed since"
        } else {
            ""
        };
        let changed = match &summary.changed_defaults[..] {
            [] => String::new(),
            keys => format!("; defaults changed since: {}", keys.join(", ")),
        };
        format!("{size}{outdated}{changed}")
    }
}

const HEAD: &str = "\
# Claims

The papers' claims, our measurements, and the verdicts. `make docs` generates this page from the plans in
[experiments](../experiments/README.md) and the result summaries in `experiments/results`; a test fails if it is out of date.
`make figures` runs all simulated experiments in full size, `make figures-testbed` those on a test bed; both write a report
with figures for each.

Each check compares the 95 % confidence interval of what we measured with a threshold. It is *reproduced* if the whole interval
satisfies the threshold at all points, *contradicted* if no value of the interval does so at any point, and *partly* if it
holds at some points and fails at others. It is *undecided* if intervals cover the threshold, if there was only one run, if nothing
happened that could be compared, or if the values were not kept. A bound of no events is about the runs themselves, and one run
decides it. It is *not measured* if runs failed. The intervals of a check hold together with 95 %, however many points it has. They
cover what differs between repetitions: seeds in the simulator, and the machine on test beds.

A claim has the verdict of its checks if all have the same. Otherwise it is *not measured* if one of its checks is not, *partly*
reproduced if one of its checks is, or if one is reproduced and another contradicted, and *undecided* otherwise.

A number stands before its interval, as `1.104 [1.101, 1.107] at 80`: the mean, or the ratio of two means. Results that were kept
without the values of their runs show medians where their figure does, and have wider intervals that contain those of the
runs ([ADR 0164](adr/0164-verdicts-from-confidence-intervals.md)).

*The plan has changed since* marks results of an earlier version of the plan. If that has the same places on the axes, perhaps with other
settings, the checks of today judge them; otherwise they have the verdict of then.

Rows of **quick** size come from shorter runs over fewer points than in the paper: they show that an experiment runs, and are not a
result. Claims that are worked examples or properties are not measured: tests assert them.

## Counts

Reproduced checks of all. What papers state, what follows from them in our reading, and what we state ourselves are counted apart.

";

const HEAD_OF_VERDICTS: &str = "
All of them by verdict:

";

/// The page.
#[must_use]
pub fn markdown(entries: &[Entry]) -> String {
    let mut page = HEAD.to_owned();
    page += &counts::by_paper(entries);
    page += HEAD_OF_VERDICTS;
    page += &counts::table(entries);
    page += "\n## Experiments\n\n| experiment | source | verdict | size |\n|---|---|---|---|\n";
    for entry in entries {
        let anchor = anchor(&entry.heading());
        // Writing into a string cannot fail.
        let _ = writeln!(
            page,
            "| [{}](#{anchor}) | {} | {} | {} |",
            entry.name(),
            escaped(entry.source()),
            entry.judgement(),
            entry.size()
        );
    }
    for entry in entries {
        let _ = write!(
            page,
            "\n## {}\n\n{}:\n\n",
            escaped(&entry.heading()),
            escaped(entry.source())
        );
        for line in entry.claim().trim().lines() {
            let _ = writeln!(page, "> {}", escaped(line));
        }
        match entry {
            Entry::Measured(claim) => measured(claim, &mut page),
            Entry::Tested(tested) => shown(tested, &mut page),
        }
    }
    page
}

fn measured(claim: &Claim, page: &mut String) {
    if let Some(summary) = &claim.summary {
        page.push_str("\n| stated | threshold | we measured | verdict |\n|---|---|---|---|\n");
        for finding in &summary.findings {
            let [claim, threshold, found] =
                [&finding.claim, &finding.threshold, &finding.found].map(|text| escaped(text));
            let _ = writeln!(page, "| {claim} | {threshold} | {found} | {} |", finding.verdict);
        }
        let repetitions = summary.repetitions_in_words();
        let _ = writeln!(
            page,
            "\n**{}** (size: {}; {repetitions}, anabranch {})",
            claim.judgement(),
            claim.size(),
            summary.version
        );
    } else {
        page.push_str("\nNot measured yet.\n");
    }
    why(&claim.plan.cause, page);
    let is_quick = claim
        .summary
        .as_ref()
        .is_some_and(|summary| summary.size == Size::Quick);
    let quick = if is_quick { " --quick" } else { "" };
    let _ = writeln!(
        page,
        "\n```sh\nanabranch lab run experiments/{}.toml{quick}\n```",
        claim.plan.name
    );
}

fn shown(tested: &Tested, page: &mut String) {
    page.push_str("\n| the paper states | a test asserts | verdict |\n|---|---|---|\n");
    for shown in &tested.shown {
        let (claim, found) = (escaped(&shown.claim), escaped(&shown.found));
        let _ = writeln!(page, "| {claim} | {found} | {} |", shown.verdict);
    }
    let _ = writeln!(page, "\n**{}** (shown by tests)", tested.verdict());
    why(&tested.cause, page);
    page.push_str("\n```sh\n");
    let mut commands: Vec<String> = tested.shown.iter().map(Shown::command).collect();
    commands.dedup();
    for command in commands {
        let _ = writeln!(page, "{command}");
    }
    page.push_str("```\n");
}

fn why(cause: &str, page: &mut String) {
    if !cause.trim().is_empty() {
        let _ = writeln!(page, "\nWhy: {}", escaped(cause.trim()));
    }
}

/// Text with the special characters of Markdown escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if matches!(letter, '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' | '#') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// The anchor of a heading on GitHub and similar hosts: lower case, hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Claim, Entry, anchor, markdown};
    use crate::plan::{Plan, PlanOptions};
    use crate::summary::tests::{PLAN, summary};
    use crate::summary::{ResultSummary, Size};

    fn plan() -> Plan {
        Plan::read(Path::new("two.toml"), PLAN, &PlanOptions::default()).unwrap()
    }

    fn page(claim: Claim) -> String {
        markdown(&[Entry::Measured(Box::new(claim))])
    }

    #[test]
    fn tested_claim_has_assertion_and_command() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("by-hand.toml");
        let text = r#"
title = "By hand"
source = "a book"
claim = "two and two are four"

[[shown]]
claim = "the sum"
found = "4"
package = "anabranch-lab"
test = "sums"
"#;
        std::fs::write(&file, text).unwrap();
        let page = markdown(&[Entry::Tested(super::Tested::load(&file).unwrap())]);
        for part in [
            "| [by-hand](#by-hand-by-hand) | a book | reproduced | shown by tests |",
            "| the sum | 4 | reproduced |",
            "cargo test --package anabranch-lab sums",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        std::fs::write(&file, text.replace("found", "fond")).unwrap();
        let error = super::Tested::load(&file).unwrap_err();
        assert!(error.to_string().contains("fond"), "{error}");
    }

    #[test]
    fn measured_claim_has_values_and_command() {
        let page = page(Claim::new(plan(), &plan(), Some(summary())));
        for part in [
            "| [two](#two-two-paths) |  | reproduced | full |",
            "| at most the ideal | ≤ 1 | from 0.400 \\[0.229, 0.571\\] at 20, delay 5 to 0.600 \\[0.344, 0.856\\] at 10, delay 50 | reproduced |",
            "|  | 1 of 1 | – | – |",
            "| the paper's statements |  | 1 | 0 | 0 | 0 | 0 |",
            "anabranch lab run experiments/two.toml",
            "Why: nothing to add",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn quick_and_outdated_results_are_marked() {
        let quick = ResultSummary {
            size: Size::Quick,
            digest: "another".into(),
            ..summary()
        };
        let marked = page(Claim::new(plan(), &plan(), Some(quick)));
        assert!(
            marked.contains("| **quick**, not the paper's; the plan has changed since |"),
            "{marked}"
        );
        let open = page(Claim::new(plan(), &plan(), None));
        assert!(
            open.contains("| not measured | – |") && open.contains("Not measured yet."),
            "{open}"
        );
    }

    #[test]
    fn markdown_in_claims_is_escaped() {
        let claim = Claim::new(
            Plan {
                claim: "a | b *c* <d>".into(),
                ..plan()
            },
            &plan(),
            None,
        );
        assert!(page(claim).contains("> a \\| b \\*c\\* \\<d\\>"));
        assert_eq!(anchor("sar-1: CMT, 10/100"), "sar-1-cmt-10100");
    }
}
