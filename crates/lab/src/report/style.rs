//! What do all pages have in common? Colours for light and dark screens, the tooltip, and that nothing comes from outside.

use anabranch_chart::COLOURS;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::check::Verdict;
use crate::summary::{ResultSummary, Size};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A whole page.
pub(super) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                // Whatever a text of a plan may say, nothing is fetched and no other script is run.
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

/// The colours of lines on dark screens; drawings carry those for light ones.
fn colours() -> String {
    let rule = |(number, shade): (usize, &anabranch_chart::Shade)| {
        let [red, green, blue] = shade.dark;
        let colour = format!("#{red:02x}{green:02x}{blue:02x}");
        format!(".s-{number}{{stroke:{colour}}}.f-{number}{{fill:{colour}}}")
    };
    let rules: String = COLOURS.iter().enumerate().map(rule).collect();
    format!("@media screen and (prefers-color-scheme: dark){{{rules}}}")
}

/// That a plan was changed after its results.
pub(super) fn outdated_badge(summary: &ResultSummary) -> Markup {
    html! { @if summary.is_outdated { span class="badge quick" { "of an earlier plan" } } }
}

/// A verdict as a sign and a word, so that it does not need its colour.
pub(super) fn verdict_badge(verdict: Option<Verdict>) -> Markup {
    let (class, sign, word) = match verdict {
        Some(Verdict::Reproduced) => ("good", "✓", "reproduced"),
        Some(Verdict::Partly) => ("partly", "◐", "partly"),
        Some(Verdict::Contradicted) => ("bad", "✗", "contradicted"),
        Some(Verdict::NotMeasured) => ("none", "–", "not measured"),
        None => ("none", "–", "nothing claimed"),
    };
    html! { span class={ "badge " (class) } { (sign) " " (word) } }
}

/// The size, said loudly where it is not the full one.
pub(super) fn size_badge(size: Size) -> Markup {
    match size {
        Size::Full => html! { span class="badge plain" { "full size" } },
        Size::Quick => html! { span class="badge quick" { "quick size" } },
    }
}
