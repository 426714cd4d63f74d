//! What became of the papers' claims? A page of Markdown, made of the plans and of what is kept of their results.

use core::fmt::Write as _;

use crate::account::{Account, Size};
use crate::check::Verdict;
use crate::plan::Plan;

/// A claim with what was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// The plan in its full size.
    pub plan: Plan,
    /// What is kept of it; `None` if it was not measured.
    pub account: Option<Account>,
    /// Whether the plan was changed after that, words for people aside.
    pub is_outdated: bool,
}

impl Claim {
    /// A claim; `quick` is its plan in the quick size.
    #[must_use]
    pub fn new(plan: Plan, quick: &Plan, account: Option<Account>) -> Self {
        let is_outdated = account.as_ref().is_some_and(|account| {
            let own = match account.size {
                Size::Full => &plan,
                Size::Quick => quick,
            };
            account.digest != own.digest
        });
        Self {
            plan,
            account,
            is_outdated,
        }
    }

    fn verdict(&self) -> Verdict {
        let verdict = self.account.as_ref().and_then(|account| account.verdict);
        verdict.unwrap_or(Verdict::NotMeasured)
    }

    /// The size that was measured, and what a reader must know of it.
    fn size(&self) -> String {
        let Some(account) = &self.account else {
            return "–".to_owned();
        };
        let size = match account.size {
            Size::Full => "full",
            Size::Quick => "**quick**, not the paper's",
        };
        let outdated = if self.is_outdated {
            "; an earlier form of the plan"
        } else {
            ""
        };
        format!("{size}{outdated}")
    }
}

const HEAD: &str = "\
# Claims

What the papers claim, what we measured, and what became of it. This page is made by `make docs` from the plans in
[experiments](../experiments/README.md) and from what is kept of their results in `experiments/results`; a test holds it
against them. `make figures` measures everything in full size and makes a report with figures for each.

A claim is *reproduced* if what must hold does at all places, *partly* if at some, *contradicted* if at none. Rows of
**quick** size come from shorter runs over fewer points than the paper's: they show that an experiment runs, and are no
result.

";

/// The page.
#[must_use]
pub fn markdown(claims: &[Claim]) -> String {
    let mut page = HEAD.to_owned();
    page += "| experiment | source | verdict | size |\n|---|---|---|---|\n";
    for claim in claims {
        let plan = &claim.plan;
        let anchor = anchor(&heading(plan));
        // Writing into a string cannot fail.
        let _ = writeln!(
            page,
            "| [{}](#{anchor}) | {} | {} | {} |",
            plan.name,
            escaped(&plan.source),
            claim.verdict(),
            claim.size()
        );
    }
    for claim in claims {
        section(claim, &mut page);
    }
    page
}

fn heading(plan: &Plan) -> String {
    format!("{}: {}", plan.name, plan.title)
}

fn section(claim: &Claim, page: &mut String) {
    let plan = &claim.plan;
    let _ = write!(
        page,
        "\n## {}\n\n{}:\n\n",
        escaped(&heading(plan)),
        escaped(&plan.source)
    );
    for line in plan.claim.trim().lines() {
        let _ = writeln!(page, "> {}", escaped(line));
    }
    if let Some(account) = &claim.account {
        page.push_str("\n| the paper states | we measured | verdict |\n|---|---|---|\n");
        for finding in &account.findings {
            let (claim, found) = (escaped(&finding.claim), escaped(&finding.found));
            let _ = writeln!(page, "| {claim} | {found} | {} |", finding.verdict);
        }
        let repetitions = match account.seeds.len() {
            1 => "one repetition".to_owned(),
            count => format!("{count} repetitions"),
        };
        let _ = writeln!(
            page,
            "\n**{}** ({} size; {repetitions}, anabranch {})",
            claim.verdict(),
            claim.size(),
            account.version
        );
    } else {
        page.push_str("\nNot measured yet.\n");
    }
    if !plan.cause.trim().is_empty() {
        let _ = writeln!(page, "\nWhy: {}", escaped(plan.cause.trim()));
    }
    let is_quick = claim
        .account
        .as_ref()
        .is_some_and(|account| account.size == Size::Quick);
    let quick = if is_quick { " --quick" } else { "" };
    let _ = writeln!(
        page,
        "\n```sh\nanabranch lab run experiments/{}.toml{quick}\n```",
        plan.name
    );
}

/// Words of a plan as Markdown shows them: none of their signs means anything.
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

/// The anchor of a heading as code hosts make it: small letters and digits, hyphens for blanks.
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

    use super::{Claim, anchor, markdown};
    use crate::account::tests::{PLAN, account};
    use crate::account::{Account, Size};
    use crate::plan::{Plan, Reading};

    fn plan() -> Plan {
        Plan::read(Path::new("two.toml"), PLAN, &Reading::default()).unwrap()
    }

    #[test]
    fn a_measured_claim_stands_with_its_numbers_and_the_command() {
        let page = markdown(&[Claim::new(plan(), &plan(), Some(account()))]);
        for part in [
            "| [two](#two-two-paths) |  | reproduced | full |",
            "| at most the ideal | from 0.400 at 20 to 0.600 at 10 | reproduced |",
            "anabranch lab run experiments/two.toml",
            "Why: nothing to add",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn quick_and_outdated_results_are_marked() {
        let quick = Account {
            size: Size::Quick,
            digest: "another".into(),
            ..account()
        };
        let page = markdown(&[Claim::new(plan(), &plan(), Some(quick))]);
        assert!(
            page.contains("| **quick**, not the paper's; an earlier form of the plan |"),
            "{page}"
        );
        let page = markdown(&[Claim::new(plan(), &plan(), None)]);
        assert!(
            page.contains("| not measured | – |") && page.contains("Not measured yet."),
            "{page}"
        );
    }

    #[test]
    fn signs_of_markdown_mean_nothing_in_claims() {
        let claim = Claim::new(
            Plan {
                claim: "a | b *c* <d>".into(),
                ..plan()
            },
            &plan(),
            None,
        );
        assert!(markdown(&[claim]).contains("> a \\| b \\*c\\* \\<d\\>"));
        assert_eq!(anchor("sar-1: CMT, 10/100"), "sar-1-cmt-10100");
    }
}
