//! Table of counts: how many statements of each paper, of our readings and of our own have which verdict?

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

use super::{Claim, Entry, escaped};
use crate::check::Verdict;
use crate::plan::Statement;

/// Numbers of checks by verdict.
#[derive(Clone, Copy, Default)]
struct Counts {
    reproduced: usize,
    partly: usize,
    contradicted: usize,
    undecided: usize,
    not_measured: usize,
}

impl Counts {
    const fn all(&self) -> usize {
        self.reproduced + self.partly + self.contradicted + self.undecided + self.not_measured
    }

    const fn add(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Reproduced => &mut self.reproduced,
            Verdict::Partly => &mut self.partly,
            Verdict::Contradicted => &mut self.contradicted,
            Verdict::Undecided => &mut self.undecided,
            Verdict::NotMeasured => &mut self.not_measured,
        };
        *count += 1;
    }
}

/// What `make docs` copies into README.md stands between these lines.
const MARKS: [&str; 2] = ["<!-- counts -->\n", "<!-- /counts -->\n"];

/// The table with a row for each source, and three numbers in it: reproduced ones of the paper's statements, of our readings and of our
/// own statements.
pub(super) fn by_paper(entries: &[Entry]) -> String {
    let rows = rows(entries);
    let sources: BTreeSet<&str> = rows.keys().map(|(_, source)| *source).collect();
    let mut table = "\
        | source | the paper's statements | our readings | our own statements |\n\
        |---|---|---|---|\n"
        .to_owned();
    for source in sources {
        let cell = |statement| {
            let counts = rows.get(&(statement, source));
            counts.map_or_else(
                || "–".to_owned(),
                |counts| format!("{} of {}", counts.reproduced, counts.all()),
            )
        };
        let cells = [Statement::Paper, Statement::OurReading, Statement::OurOwn].map(cell);
        // Writing into a string cannot fail.
        let _ = writeln!(table, "| {} | {} |", escaped(source), cells.join(" | "));
    }
    let [begin, end] = MARKS;
    format!("{begin}{table}{TESTED}{}{end}", changes(entries))
}

/// What the table counts besides measurements.
const TESTED: &str =
    "\nWorked examples and properties, such as yan-5 and yan-6, are shown by tests and counted, too.\n";

/// How many of the measured experiments have changed plans, and how many have changed defaults.
fn changes(entries: &[Entry]) -> String {
    let measured = entries.iter().filter_map(|entry| match entry {
        Entry::Measured(claim) => claim.summary.as_ref(),
        Entry::Tested(_) => None,
    });
    let all = measured.clone().count();
    let plans = measured.clone().filter(|summary| summary.is_outdated).count();
    let defaults = measured
        .filter(|summary| !summary.changed_defaults.is_empty())
        .count();
    let mut text = String::new();
    for (what, count) in [("The plans", plans), ("Defaults of the settings", defaults)] {
        if count > 0 {
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "\n{what} of {count} of {all} measured experiments have changed since they were measured."
            );
        }
    }
    text
}

fn rows(entries: &[Entry]) -> BTreeMap<(Statement, &str), Counts> {
    let mut rows: BTreeMap<(Statement, &str), Counts> = BTreeMap::new();
    for entry in entries {
        for (statement, verdict) in verdicts(entry) {
            rows.entry((statement, paper(entry.source())))
                .or_default()
                .add(verdict);
        }
    }
    rows
}

/// The table by verdict, with a row for each source and whose statement it is.
pub(super) fn table(entries: &[Entry]) -> String {
    let rows = rows(entries);
    let mut table =
        "| checks of | source | reproduced | partly | contradicted | undecided | not measured |\n\
                     |---|---|---|---|---|---|---|\n"
            .to_owned();
    for ((statement, source), counts) in &rows {
        let statement = match statement {
            Statement::Paper => "the paper's statements",
            Statement::OurReading => "our readings",
            Statement::OurOwn => "our own statements",
        };
        // Writing into a string cannot fail.
        let _ = writeln!(
            table,
            "| {statement} | {} | {} | {} | {} | {} | {} |",
            escaped(source),
            counts.reproduced,
            counts.partly,
            counts.contradicted,
            counts.undecided,
            counts.not_measured
        );
    }
    table
}

/// Whose each statement of the entry is, with its verdict.
fn verdicts(entry: &Entry) -> Vec<(Statement, Verdict)> {
    match entry {
        Entry::Measured(claim) => claim.verdicts(),
        Entry::Tested(tested) => {
            let shown = tested.shown.iter();
            shown.map(|shown| (Statement::Paper, shown.verdict)).collect()
        }
    }
}

impl Claim {
    /// Whose each check's statement is, with its verdict.
    fn verdicts(&self) -> Vec<(Statement, Verdict)> {
        let verdict_of = |claim: &str| {
            let summary = self.summary.as_ref()?;
            let mut findings = summary.findings.iter();
            let finding = findings.find(|finding| finding.claim == claim)?;
            Some(finding.verdict)
        };
        let checks = self.plan.checks.iter();
        let verdicts = checks.map(|check| {
            let verdict = verdict_of(&check.claim).unwrap_or(Verdict::NotMeasured);
            (check.statement(&self.plan.source), verdict)
        });
        verdicts.collect()
    }
}

/// The paper of a source: what comes before the figure or section.
fn paper(source: &str) -> &str {
    source.split([',', ';']).next().unwrap_or(source).trim()
}
