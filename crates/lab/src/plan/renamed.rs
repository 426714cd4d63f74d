//! Renamed keys and words of plans: an old name is refused with the current one.

use crate::metric;

/// Keys and words of earlier versions, each with the name that replaced it.
const RENAMED: &[(&str, &str)] = &[
    ("rivals", "cross-traffic"),
    ("picture", "plot"),
    ("line", "series"),
    ("alone", "single-path"),
    ("series", "time-series"),
    ("distribution", "cdf"),
    ("back", "reverse"),
    ("heal", "restore"),
    ("even", "balanced"),
    ("paced", "periodic"),
    ("every", "interval"),
    ("thinks", "think-time"),
    ("minimum", "min-threshold"),
    ("maximum", "max-threshold"),
    ("chance", "max-probability"),
];

/// The current name of what an earlier version called `given`: a metric, or any other name in a plan.
pub(super) fn renamed(what: &str, given: &str) -> Option<String> {
    if matches!(what, "metric" | "column") {
        return metric::renamed(given);
    }
    let found = RENAMED.iter().find(|(old, _)| *old == given);
    found.map(|(_, new)| (*new).to_owned())
}
