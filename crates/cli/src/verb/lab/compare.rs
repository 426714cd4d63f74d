//! How do two results differ?

use anabranch_lab::results::{Comparison, Difference, compare};

use super::text::{columns, print_json};
use crate::arguments::LabCompareArguments;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn run(arguments: &LabCompareArguments) -> Result<(), Failure> {
    let compared = compare(&arguments.before, &arguments.after).map_err(Failure::usage)?;
    let wanted = &arguments.metric;
    check_common(&compared, wanted)?;
    let mut differences = compared.differences;
    differences.retain(|difference| wanted.is_empty() || wanted.contains(&difference.metric));
    if arguments.output.is_json() {
        for difference in &differences {
            let mut object = serde_json::json!(difference);
            object["event"] = "difference".into();
            object["significant"] = difference.difference.is_significant().into();
            print_json(&object)?;
        }
        return Ok(());
    }
    if differences.is_empty() {
        return print(format!("no difference in {} pairs of runs\n", compared.pairs));
    }
    let head = [
        "place",
        "metric",
        "before",
        "after",
        "difference",
        "95 %",
        "pairs",
        "",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(differences.iter().map(row));
    print(columns(&rows))
}

/// What has nothing in common cannot be told to be the same.
fn check_common(compared: &Comparison, wanted: &[String]) -> Result<(), Failure> {
    if compared.pairs == 0 {
        let text = "the two have no run in common, of the same line, place and seed";
        return Err(Failure::usage(text));
    }
    match wanted.iter().find(|metric| !compared.metrics.contains(*metric)) {
        Some(metric) => {
            let known: Vec<&str> = compared.metrics.iter().map(String::as_str).collect();
            let known = known.join(", ");
            Err(Failure::Usage(format!(
                "unknown metric `{metric}`, both have: {known}"
            )))
        }
        None => Ok(()),
    }
}

fn row(difference: &Difference) -> Vec<String> {
    let Difference {
        place,
        metric,
        before,
        after,
        difference,
    } = difference;
    let mark = if difference.is_significant() { "*" } else { "" };
    vec![
        place.clone(),
        metric.clone(),
        format!("{before:.3}"),
        format!("{after:.3}"),
        format!("{:+.3}", difference.mean),
        format!("± {:.3}", difference.confidence),
        difference.count.to_string(),
        mark.to_owned(),
    ]
}
