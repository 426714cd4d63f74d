//! Page of an experiment: claim, verdict, figures, tables, checks, settings.

use anabranch_chart::Chart;
use maud::{Markup, PreEscaped, html};

use super::charts::{Charts, name, range};
use super::style::{document, outdated_badge, size_badge, verdict_badge};
use super::{figure, file_name};
use crate::metric::meaning_of;
use crate::plan::Statistic;
use crate::results::StopReason;
use crate::summary::{DrawnCell, Panel, PanelPoint, PanelSeries, ResultSummary, SeriesOrigin, Size};

pub(super) fn page(summary: &ResultSummary, charts: &Charts) -> String {
    let mut numbers = Numbers {
        plan: &summary.plan,
        next: 0,
        all: charts.all().count(),
    };
    let body = html! {
        (head(summary))
        h2 { "Figure" }
        @for (panel, drawn) in summary.panels.iter().zip(&charts.panels) {
            @for chart in drawn { (numbers.figure(chart, &caption(summary, panel))) }
            (table(summary, panel))
        }
        @if !charts.plots.is_empty() {
            h2 { "Further plots" }
            @for chart in &charts.plots { (numbers.figure(chart, &format!("{}.", chart.title))) }
        }
        (checks(summary))
        (worst_points(summary))
        (repetitions(summary))
        @if !summary.cause.is_empty() {
            h2 { "Cause" }
            @for paragraph in paragraphs(&summary.cause) { p { (paragraph) } }
        }
        (settings(summary))
        (testbed_comparisons(summary))
        (runs(summary))
    };
    document(&format!("{}: {}", summary.plan, summary.title), &body)
}

fn head(summary: &ResultSummary) -> Markup {
    html! {
        p class="source" { (summary.plan) @if !summary.source.is_empty() { " · " (summary.source) } }
        h1 { (summary.title) }
        div class="badges" { (verdict_badge(summary.verdict)) (size_badge(summary.size)) (outdated_badge(summary)) }
        @if summary.size == Size::Quick {
            div class="notice" {
                p {
                    strong { "Quick size, not the size of the paper" }
                    ": shorter runs, fewer points, " (summary.repetitions_in_words()) ". These results say nothing about the claim."
                }
            }
        }
        @if summary.is_outdated {
            div class="notice" {
                p {
                    strong { "The plan has changed since these results" }
                    ": results and settings below belong to an earlier version of it."
                }
            }
        }
        @if !summary.changed_defaults.is_empty() {
            div class="notice" {
                p {
                    strong { "Defaults have changed since these results" } ": this version of the program has other defaults or profiles for "
                    @for key in &summary.changed_defaults { code { (key) } " " }
                }
            }
        }
        @if !summary.changes.is_empty() {
            div class="notice" {
                p {
                    strong { "The plan was overridden" } ": "
                    @for change in &summary.changes { code { (change) } " " }
                }
            }
        }
        @if summary.failed > 0 {
            div class="notice" { p { strong { (summary.failed) " of " (summary.runs) " runs failed" } " and are missing below." } }
        }
        div class="claim" { @for paragraph in paragraphs(&summary.claim) { p { (paragraph) } } }
    }
}

/// Paragraphs of a text, with line breaks removed.
fn paragraphs(text: &str) -> Vec<String> {
    let paragraph = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim().split("\n\n").map(paragraph).collect()
}

/// Caption: what markers and bars show.
fn caption(summary: &ResultSummary, panel: &Panel) -> String {
    let marks = match (summary.seeds.len(), summary.statistic) {
        _ if !summary.cells.is_empty() => "Cumulative distribution over the drawn cells".to_owned(),
        (1, _) => "One repetition, so the spread is unknown".to_owned(),
        (_, Statistic::Median) => {
            let repetitions = summary.repetitions_in_words();
            format!("Median of {repetitions}; bars from minimum to maximum")
        }
        (_, Statistic::Mean) => {
            let repetitions = summary.repetitions_in_words();
            format!("Mean of {repetitions}; bars are 95 % confidence intervals")
        }
    };
    let fewer = match has_fewer_values(summary, panel) {
        true => {
            " Some points have fewer values: failed runs and runs in which the measured event never happened have none."
        }
        false => "",
    };
    format!("{}: {}. {marks}.{fewer}", panel.metric, meaning_of(&panel.metric))
}

fn has_fewer_values(summary: &ResultSummary, panel: &Panel) -> bool {
    let mut points = panel
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| (series, point)));
    points.any(|(series, point)| {
        let is_all = [0, summary.seeds.len()].contains(&point.count);
        !is_all && point.count < summary.repetitions_of(series, point).0
    })
}

/// Numbers the figures like their files.
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

/// Table of a panel: a row for each x, a column for each series.
fn table(summary: &ResultSummary, panel: &Panel) -> Markup {
    let mut xs: Vec<f64> = panel
        .series
        .iter()
        .flat_map(|series| &series.points)
        .map(|point| point.x)
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let x_name = |x: f64| {
        summary
            .x
            .words
            .get(x as usize)
            .cloned()
            .unwrap_or_else(|| x.to_string())
    };
    html! {
        details {
            summary { "Values: " (panel.label) }
            div class="scroll" {
                table {
                    tr {
                        th { (summary.x.label) }
                        @for series in &panel.series { th class="n" { (name(series)) } }
                    }
                    @for x in xs {
                        tr {
                            th { @if !summary.x.label.is_empty() { (x_name(x)) } }
                            @for series in &panel.series { (cell(summary, series, x)) }
                        }
                    }
                }
            }
        }
    }
}

fn cell(summary: &ResultSummary, series: &PanelSeries, x: f64) -> Markup {
    let point: Option<&PanelPoint> = series.points.iter().find(|point| point.x == x);
    html! {
        td class="n" {
            @if let Some(point) = point {
                (figure(point.value))
                @if point.count > 1 { small { (range(summary.statistic, point)) } }
                @if series.origin == SeriesOrigin::Paper { small { "paper" } }
            }
        }
    }
}

fn checks(summary: &ResultSummary) -> Markup {
    html! {
        @if !summary.findings.is_empty() {
            h2 { "Checks" }
            div class="scroll" {
                table {
                    tr { th { "verdict" } th { "claim" } th { "threshold" } th { "measured" } th class="n" { "points" } }
                    @for finding in &summary.findings {
                        tr {
                            td { (verdict_badge(Some(finding.verdict))) }
                            td { (finding.claim) }
                            td { (finding.threshold) }
                            td { (finding.found) }
                            td class="n" {
                                (finding.passed) " of " (finding.total)
                                @if finding.undecided > 0 { ", " (finding.undecided) " undecided" }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The points that are farthest from the bounds of checks of a share of points, and all drawn cells.
fn worst_points(summary: &ResultSummary) -> Markup {
    let drawn = |label: &str| {
        let mut cells = summary.cells.iter();
        let cell = cells.find(|cell| cell.number.to_string() == label);
        cell.map_or_else(String::new, in_one_line)
    };
    let known = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), figure);
    html! {
        @for finding in summary.findings.iter().filter(|finding| !finding.worst.is_empty()) {
            details {
                summary { "Farthest from the bound: " (finding.claim) }
                div class="scroll" {
                    table {
                        tr { th { (summary.x.label) } th class="n" { "value" } th { "95 % confidence" } th { "drawn" } }
                        @for point in &finding.worst {
                            tr {
                                th { (point.label) }
                                td class="n" { (known(point.value)) }
                                td { (known(point.low)) " to " (known(point.high)) }
                                td { (drawn(&point.label)) }
                            }
                        }
                    }
                }
            }
        }
        @if !summary.cells.is_empty() {
            details {
                summary { "Drawn cells: " (summary.cells.len()) }
                div class="scroll" {
                    table {
                        @for cell in &summary.cells { tr { th { (cell.number) } td { (in_one_line(cell)) } } }
                    }
                }
            }
        }
    }
}

/// How many repetitions each cell took under the plan's stop rule, and why they ended.
fn repetitions(summary: &ResultSummary) -> Markup {
    let cells = || summary.repetitions.iter();
    let narrow = cells()
        .filter(|cell| cell.ended == Some(StopReason::Narrow))
        .count();
    html! {
        @if cells().next().is_some() {
            h2 { "Repetitions" }
            p {
                "Repeated until the intervals of the checks were narrow enough, which they became in "
                (narrow) " of " (cells().count()) " cells. The width is half of the widest interval, relative to its value."
            }
            details {
                summary { "Repetitions of each cell" }
                div class="scroll" {
                    table {
                        tr { th { "cell" } th class="n" { "repetitions" } th { "ended" } th class="n" { "width" } th { "widest" } }
                        @for cell in cells() {
                            tr {
                                th { (cell.cell.join(", ")) }
                                td class="n" { (cell.count) }
                                td { (cell.ended.map_or_else(|| "not ended".to_owned(), |why| why.to_string())) }
                                td class="n" { (cell.half_width.map_or_else(|| "–".to_owned(), |half| format!("{:.1} %", half * 100.0))) }
                                td { (cell.widest) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn in_one_line(cell: &DrawnCell) -> String {
    let parts: Vec<String> = cell
        .drawn
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    parts.join("; ")
}

fn settings(summary: &ResultSummary) -> Markup {
    let settings = &summary.settings;
    let mut all_series: Vec<&String> = settings
        .changed
        .iter()
        .flat_map(|changed| changed.values.keys())
        .collect();
    all_series.sort_unstable();
    all_series.dedup();
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
                    tr { th { "setting" } @for series in &all_series { th { (series) } } }
                    @for changed in &settings.changed {
                        tr {
                            td { code { (changed.key) } }
                            @for series in &all_series { td { (changed.values.get(*series).map_or("–", String::as_str)) } }
                        }
                    }
                }
            }
        }
        details {
            summary { "Common settings" }
            table {
                @for (key, value) in &settings.common { tr { td { code { (key) } } td { (value) } } }
            }
        }
    }
}

/// Comparison of the simulator with the test bed.
fn testbed_comparisons(summary: &ResultSummary) -> Markup {
    html! {
        @if !summary.testbed_comparisons.is_empty() {
            h2 { "Simulator and test bed" }
            p { "Median goodput in Mbit/s with the same settings and links; ratio of test bed to simulator." }
            @for comparison in &summary.testbed_comparisons {
                table {
                    tr { th { (comparison.real) } th { "simulator" } th { "test bed" } th { "ratio" } }
                    @for cell in &comparison.points {
                        tr {
                            td { (cell.coordinates) }
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

fn runs(summary: &ResultSummary) -> Markup {
    let seeds: Vec<String> = summary.seeds.iter().map(u64::to_string).collect();
    html! {
        h2 { "Runs" }
        table {
            tr { th { "program" } td { "anabranch " (summary.version) } }
            tr { th { "runs" } td { (summary.runs) ", " (summary.repetitions_in_words()) ", seeds " (seeds.join(", ")) } }
            tr { th { "size" } td { @if summary.size == Size::Full { "full" } @else { "quick" } } }
            @for (name, value) in &summary.environment { tr { th { (name) } td { (value) } } }
            tr { th { "plan" } td { "digest " code { (summary.digest) } ", without titles and claims" } }
        }
        pre { (command(summary)) }
        @if summary.environment.is_empty() {
            p class="soft" { "Simulated in virtual time: the same plan and program give the same bytes." }
        } @else {
            p class="soft" {
                "Runs on the test bed take place in real time and vary; simulated runs are reproducible."
            }
        }
    }
}

/// The command that reproduces these results.
pub(super) fn command(summary: &ResultSummary) -> String {
    let quick = if summary.size == Size::Quick {
        " --quick"
    } else {
        ""
    };
    let changes: String = summary
        .changes
        .iter()
        .map(|change| format!(" --set '{change}'"))
        .collect();
    format!(
        "anabranch lab run {}{quick}{changes}",
        summary.plan_file().display()
    )
}
