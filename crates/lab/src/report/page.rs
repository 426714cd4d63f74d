//! What stands on the page of an experiment? Claim and verdict, figures with their tables, checks, and how it was run.

use anabranch_chart::Chart;
use maud::{Markup, PreEscaped, html};

use super::charts::{Charts, name, range};
use super::style::{document, outdated_badge, size_badge, verdict_badge};
use super::{figure, file_name};
use crate::account::{Account, LineOrigin, Panel, PanelLine, PanelSpot, Size};
use crate::metric::meaning_of;
use crate::plan::Statistic;

pub(super) fn page(account: &Account, charts: &Charts) -> String {
    let mut numbers = Numbers {
        plan: &account.plan,
        next: 0,
        all: charts.all().count(),
    };
    let body = html! {
        (head(account))
        h2 { "Figure" }
        @for (panel, drawn) in account.panels.iter().zip(&charts.panels) {
            @for chart in drawn { (numbers.figure(chart, &caption(account, panel))) }
            (table(account, panel))
        }
        @if !charts.pictures.is_empty() {
            h2 { "Beside the figure" }
            @for chart in &charts.pictures { (numbers.figure(chart, &format!("{}.", chart.title))) }
        }
        (checks(account))
        @if !account.cause.is_empty() {
            h2 { "Why" }
            @for paragraph in paragraphs(&account.cause) { p { (paragraph) } }
        }
        (settings(account))
        (worlds(account))
        (how(account))
    };
    document(&format!("{}: {}", account.plan, account.title), &body)
}

fn head(account: &Account) -> Markup {
    html! {
        p class="source" { (account.plan) @if !account.source.is_empty() { " · " (account.source) } }
        h1 { (account.title) }
        div class="badges" { (verdict_badge(account.verdict)) (size_badge(account.size)) (outdated_badge(account)) }
        @if account.size == Size::Quick {
            div class="notice" {
                p {
                    strong { "This is the quick size, not that of the paper" }
                    ": shorter runs, fewer points, " (repetitions(account)) ". Nothing on this page is a measured result of the claim."
                }
            }
        }
        @if account.is_outdated {
            div class="notice" {
                p {
                    strong { "The plan was changed after these results" }
                    ": they are of an earlier form of it, and so are the settings below."
                }
            }
        }
        @if !account.otherwise.is_empty() {
            div class="notice" {
                p {
                    strong { "This program sets otherwise" } ", in its profiles or by its defaults, what these results were made with: "
                    @for key in &account.otherwise { code { (key) } " " }
                }
            }
        }
        @if !account.changes.is_empty() {
            div class="notice" {
                p {
                    strong { "The plan was changed" } ": "
                    @for change in &account.changes { code { (change) } " " }
                }
            }
        }
        @if account.failed > 0 {
            div class="notice" { p { strong { (account.failed) " of " (account.runs) " runs failed" } " and are missing below." } }
        }
        div class="claim" { @for paragraph in paragraphs(&account.claim) { p { (paragraph) } } }
    }
}

/// Paragraphs of a text whose lines were broken for the file.
fn paragraphs(text: &str) -> Vec<String> {
    let paragraph = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim().split("\n\n").map(paragraph).collect()
}

fn repetitions(account: &Account) -> String {
    match account.seeds.len() {
        1 => "one repetition".to_owned(),
        count => format!("{count} repetitions"),
    }
}

/// What the marks of a figure are.
fn caption(account: &Account, panel: &Panel) -> String {
    let marks = match (account.seeds.len(), account.statistic) {
        (1, _) => "One repetition, so nothing is known of the spread".to_owned(),
        (count, Statistic::Median) => {
            format!("Median of {count} repetitions; bars from the least to the greatest")
        }
        (count, Statistic::Mean) => {
            format!("Mean of {count} repetitions; bars are 95 % confidence intervals")
        }
    };
    let fewer = match has_fewer_values(account, panel) {
        true => {
            " Some places stand for fewer: runs that failed, and those in which it never came to what is measured, have no value."
        }
        false => "",
    };
    format!("{}: {}. {marks}.{fewer}", panel.metric, meaning_of(&panel.metric))
}

fn has_fewer_values(account: &Account, panel: &Panel) -> bool {
    let mut spots = panel.lines.iter().flat_map(|line| &line.spots);
    spots.any(|spot| (1..account.seeds.len()).contains(&spot.count))
}

/// Numbers the figures as their files are.
struct Numbers<'a> {
    plan: &'a str,
    next: usize,
    all: usize,
}

impl Numbers<'_> {
    fn figure(&mut self, chart: &Chart, caption: &str) -> Markup {
        let file = file_name(self.plan, self.next, self.all);
        self.next += 1;
        html! {
            figure {
                (PreEscaped(chart.draw().svg()))
                figcaption {
                    (caption) " As files: " a href={ (file) ".svg" } { "SVG" } ", " a href={ (file) ".png" } { "PNG" } "."
                }
            }
        }
    }
}

/// The numbers behind a panel: a row for each x, a column for each line.
fn table(account: &Account, panel: &Panel) -> Markup {
    let mut xs: Vec<f64> = panel
        .lines
        .iter()
        .flat_map(|line| &line.spots)
        .map(|spot| spot.x)
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let x_name = |x: f64| {
        account
            .x
            .words
            .get(x as usize)
            .cloned()
            .unwrap_or_else(|| x.to_string())
    };
    html! {
        details {
            summary { "The numbers: " (panel.label) }
            div class="scroll" {
                table {
                    tr {
                        th { (account.x.label) }
                        @for line in &panel.lines { th class="n" { (name(line)) } }
                    }
                    @for x in xs {
                        tr {
                            th { @if !account.x.label.is_empty() { (x_name(x)) } }
                            @for line in &panel.lines { (cell(account, line, x)) }
                        }
                    }
                }
            }
        }
    }
}

fn cell(account: &Account, line: &PanelLine, x: f64) -> Markup {
    let spot: Option<&PanelSpot> = line.spots.iter().find(|spot| spot.x == x);
    html! {
        td class="n" {
            @if let Some(spot) = spot {
                (figure(spot.value))
                @if spot.count > 1 { small { (range(account.statistic, spot)) } }
                @if line.origin == LineOrigin::Paper { small { "paper" } }
            }
        }
    }
}

fn checks(account: &Account) -> Markup {
    html! {
        @if !account.findings.is_empty() {
            h2 { "What must hold" }
            div class="scroll" {
                table {
                    tr { th { "verdict" } th { "claim" } th { "measured" } th class="n" { "places" } }
                    @for finding in &account.findings {
                        tr {
                            td { (verdict_badge(Some(finding.verdict))) }
                            td { (finding.claim) }
                            td { (finding.found) }
                            td class="n" { (finding.held) " of " (finding.all) }
                        }
                    }
                }
            }
        }
    }
}

fn settings(account: &Account) -> Markup {
    let settings = &account.settings;
    let mut lines: Vec<&String> = settings
        .changed
        .iter()
        .flat_map(|changed| changed.values.keys())
        .collect();
    lines.sort_unstable();
    lines.dedup();
    html! {
        h2 { "Settings" }
        @if !settings.swept.is_empty() {
            table {
                tr { th { "swept" } th { "values" } th { "sets" } }
                @for swept in &settings.swept {
                    tr {
                        td { (swept.axis) }
                        td { (swept.values.join(", ")) " " (swept.unit) }
                        td { @for key in &swept.keys { code { (key) } " " } }
                    }
                }
            }
        }
        @if !settings.changed.is_empty() {
            div class="scroll" {
                table {
                    tr { th { "differs" } @for line in &lines { th { (line) } } }
                    @for changed in &settings.changed {
                        tr {
                            td { code { (changed.key) } }
                            @for line in &lines { td { (changed.values.get(*line).map_or("–", String::as_str)) } }
                        }
                    }
                }
            }
        }
        details {
            summary { "What all runs have in common" }
            table {
                @for (key, value) in &settings.common { tr { td { code { (key) } } td { (value) } } }
            }
        }
    }
}

/// Real hosts beside the simulator.
fn worlds(account: &Account) -> Markup {
    html! {
        @if !account.worlds.is_empty() {
            h2 { "Real hosts beside the simulator" }
            p { "Goodput in Mbit/s, medians. The same setting, the same links; the ratio says what real hosts reached of what was simulated." }
            @for held in &account.worlds {
                table {
                    tr { th { (held.real) } th { "simulated" } th { "real" } th { "ratio" } }
                    @for cell in &held.cells {
                        tr {
                            td { (cell.place) }
                            td { (format!("{:.2}", cell.simulated)) }
                            td { (format!("{:.2}", cell.real)) }
                            td { (format!("{:.2}", cell.ratio())) }
                        }
                    }
                }
            }
        }
    }
}

fn how(account: &Account) -> Markup {
    let seeds: Vec<String> = account.seeds.iter().map(u64::to_string).collect();
    html! {
        h2 { "How it was run" }
        table {
            tr { th { "program" } td { "anabranch " (account.version) } }
            tr { th { "runs" } td { (account.runs) ", " (repetitions(account)) ", seeds " (seeds.join(", ")) } }
            tr { th { "size" } td { @if account.size == Size::Full { "full" } @else { "quick" } } }
            @for (name, value) in &account.made_with { tr { th { (name) } td { (value) } } }
            tr { th { "plan" } td { "digest " code { (account.digest) } ", without its words for people" } }
        }
        pre { (command(account)) }
        @if account.made_with.is_empty() {
            p class="soft" { "Simulated, in virtual time: the same plan with the same program gives the same bytes." }
        } @else {
            p class="soft" {
                "What ran on real hosts ran in real time: it comes out a little different each time. What was simulated comes out the same."
            }
        }
    }
}

/// What gives these results again.
pub(super) fn command(account: &Account) -> String {
    let quick = if account.size == Size::Quick {
        " --quick"
    } else {
        ""
    };
    let changes: String = account
        .changes
        .iter()
        .map(|change| format!(" --set '{change}'"))
        .collect();
    format!(
        "anabranch lab run {}{quick}{changes}",
        account.plan_file().display()
    )
}
