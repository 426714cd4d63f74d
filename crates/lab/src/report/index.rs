//! Index page: a card for each experiment, with thumbnail, verdict and size.

use anabranch_chart::Chart;
use maud::{Markup, PreEscaped, html};

use super::charts;
use super::style::{document, outdated_badge, size_badge, verdict_badge};
use crate::check::Verdict;
use crate::summary::{ResultSummary, Size};

/// An entry of the index.
#[derive(Clone, PartialEq, Debug)]
pub enum Entry {
    /// An experiment with results; its page is `NAME.html`.
    Measured(Box<ResultSummary>),
    /// An experiment without results.
    Open {
        /// Name of the plan.
        plan: String,
        /// Title in one line.
        title: String,
        /// Source of the claim.
        source: String,
    },
}

/// The index page.
#[must_use]
pub fn index(entries: &[Entry]) -> String {
    let body = html! {
        h1 { "Experiments" }
        p { (counts(entries)) }
        @if entries.iter().any(is_quick) {
            div class="notice" {
                p { "Results in " strong { "quick size" } " only show that an experiment runs." }
            }
        }
        ul class="cards" { @for entry in entries { li { (card(entry)) } } }
    };
    document("Experiments", &body)
}

fn is_quick(entry: &Entry) -> bool {
    matches!(entry, Entry::Measured(summary) if summary.size == Size::Quick)
}

fn counts(entries: &[Entry]) -> String {
    let of = |verdict: Verdict| {
        let is_so =
            |entry: &&Entry| matches!(entry, Entry::Measured(summary) if summary.verdict == Some(verdict));
        entries.iter().filter(is_so).count()
    };
    let open = entries
        .iter()
        .filter(|entry| matches!(entry, Entry::Open { .. }))
        .count();
    format!(
        "{} claims: {} reproduced, {} partly, {} contradicted, {} undecided, {} not measured.",
        entries.len(),
        of(Verdict::Reproduced),
        of(Verdict::Partly),
        of(Verdict::Contradicted),
        of(Verdict::Undecided),
        open + of(Verdict::NotMeasured),
    )
}

fn card(entry: &Entry) -> Markup {
    match entry {
        Entry::Measured(summary) => {
            let charts = charts::of(summary);
            let thumbnail = charts.all().next().map(Chart::thumbnail);
            html! {
                a href={ (summary.plan) ".html" } {
                    @if let Some(thumbnail) = thumbnail { (PreEscaped(thumbnail.svg())) }
                    h3 { (summary.title) }
                    p class="source" { (summary.plan) " · " (summary.source) }
                    div class="badges" { (verdict_badge(summary.verdict)) (size_badge(summary.size)) (outdated_badge(summary)) }
                }
            }
        }
        Entry::Open { plan, title, source } => html! {
            a {
                h3 { (title) }
                p class="source" { (plan) " · " (source) }
                div class="badges" { (verdict_badge(Some(Verdict::NotMeasured))) }
            }
        },
    }
}
