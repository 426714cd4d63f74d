//! Common parts of all pages: style sheet, tooltip script, badges. Nothing is loaded from outside.

use anabranch_chart::COLOURS;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::check::Verdict;
use crate::summary::{ResultSummary, Size};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A complete page.
pub(super) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                // Texts of plans are untrusted: nothing is fetched and no other script runs.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(colours())) }
            }
            body {
                (body)
                div id="tip" role="status" {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Colours of series on dark screens; the drawings contain those for light screens.
fn colours() -> String {
    let rule = |(number, shade): (usize, &anabranch_chart::Shade)| {
        let [red, green, blue] = shade.dark;
        let colour = format!("#{red:02x}{green:02x}{blue:02x}");
        format!(".s-{number}{{stroke:{colour}}}.f-{number}{{fill:{colour}}}")
    };
    let rules: String = COLOURS.iter().enumerate().map(rule).collect();
    format!("@media screen and (prefers-color-scheme: dark){{{rules}}}")
}

/// Badge of results whose plan has changed since.
pub(super) fn outdated_badge(summary: &ResultSummary) -> Markup {
    html! { @if summary.is_outdated { span class="badge quick" { "earlier plan" } } }
}

/// Badge of a verdict, readable without colour.
pub(super) fn verdict_badge(verdict: Option<Verdict>) -> Markup {
    let (class, sign, word) = match verdict {
        Some(Verdict::Reproduced) => ("good", "✓", "reproduced"),
        Some(Verdict::Partly) => ("partly", "◐", "partly"),
        Some(Verdict::Contradicted) => ("bad", "✗", "contradicted"),
        Some(Verdict::Undecided) => ("none", "?", "undecided"),
        Some(Verdict::NotMeasured) => ("none", "–", "not measured"),
        None => ("none", "–", "no checks"),
    };
    html! { span class={ "badge " (class) } { (sign) " " (word) } }
}

/// Badge of the size.
pub(super) fn size_badge(size: Size) -> Markup {
    match size {
        Size::Full => html! { span class="badge plain" { "full size" } },
        Size::Quick => html! { span class="badge quick" { "quick size" } },
    }
}
