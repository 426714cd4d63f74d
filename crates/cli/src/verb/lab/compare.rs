//! `anabranch lab compare`: compares two folders of results.

use anabranch_lab::results::{Comparison, Difference, OneSided, Sides, compare};

use super::text::{columns, print_json};
use crate::arguments::LabCompareArguments;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn run(arguments: &LabCompareArguments) -> Result<(), Failure> {
    let mut compared = compare(&arguments.before, &arguments.after).map_err(Failure::usage)?;
    let wanted = &arguments.metric;
    check_common(&compared, wanted)?;
    let is_wanted = |metric: &String| wanted.is_empty() || wanted.contains(metric);
    compared
        .differences
        .retain(|difference| is_wanted(&difference.metric));
    compared.one_sided.retain(|found| is_wanted(&found.metric));
    if arguments.output.is_json() {
        return print_objects(&compared);
    }
    print(differences(&compared))?;
    print(one_sided(&compared.one_sided))?;
    print(rest(&compared))
}

fn print_objects(compared: &Comparison) -> Result<(), Failure> {
    for difference in &compared.differences {
        let mut object = serde_json::json!(difference);
        object["event"] = "difference".into();
        object["significant"] = difference.difference.is_significant().into();
        if difference.difference.count < 2 {
            object["difference"]["confidence"] = serde_json::Value::Null;
        }
        print_json(&object)?;
    }
    for found in &compared.one_sided {
        let mut object = serde_json::json!(found);
        object["event"] = "one-sided".into();
        print_json(&object)?;
    }
    print_json(&serde_json::json!({
        "event": "compared",
        "pairs": compared.pairs,
        "unpaired": compared.unpaired,
        "one_sided_metrics": compared.one_sided_metrics,
    }))
}

/// Refuses results without common runs, and metrics that are not in both.
fn check_common(compared: &Comparison, wanted: &[String]) -> Result<(), Failure> {
    if compared.pairs == 0 {
        let text = "the two folders have no run of the same series, point and seed in common";
        return Err(Failure::usage(text));
    }
    let one_sided = compared.one_sided.iter().map(|found| &found.metric);
    let mut known: Vec<&String> = compared.metrics.iter().chain(one_sided).collect();
    known.sort();
    known.dedup();
    match wanted.iter().find(|metric| !known.contains(metric)) {
        Some(metric) => {
            let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
            let known = known.join(", ");
            Err(Failure::Usage(format!(
                "unknown metric `{metric}`; both results have: {known}"
            )))
        }
        None => Ok(()),
    }
}

fn differences(compared: &Comparison) -> String {
    if compared.differences.is_empty() {
        return format!("no differences in {} pairs of runs\n", compared.pairs);
    }
    let head = [
        "point",
        "metric",
        "before",
        "after",
        "difference",
        "95 %",
        "pairs",
        "",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(compared.differences.iter().map(row));
    columns(&rows)
}

fn row(difference: &Difference) -> Vec<String> {
    let Difference {
        point,
        metric,
        before,
        after,
        difference,
    } = difference;
    let mark = if difference.is_significant() { "*" } else { "" };
    vec![
        point.clone(),
        metric.clone(),
        format!("{before:.3}"),
        format!("{after:.3}"),
        format!("{:+.3}", difference.mean),
        // One pair has no interval.
        match difference.count {
            0 | 1 => "unknown".to_owned(),
            _ => format!("± {:.3}", difference.confidence),
        },
        difference.count.to_string(),
        mark.to_owned(),
    ]
}

/// Metrics that only one run of a pair has.
fn one_sided(found: &[OneSided]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let head = ["point", "metric", "before only", "after only"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(|found| {
        let Sides { before, after } = found.pairs;
        let (point, metric) = (found.point.clone(), found.metric.clone());
        vec![point, metric, before.to_string(), after.to_string()]
    }));
    format!("\npairs in which only one run has a value:\n{}", columns(&rows))
}

/// Runs and metrics of one side only.
fn rest(compared: &Comparison) -> String {
    let Sides { before, after } = compared.unpaired;
    let mut text = String::new();
    if before + after > 0 {
        text += &format!("\nunpaired runs: {before} before, {after} after\n");
    }
    if !compared.one_sided_metrics.is_empty() {
        let metrics: Vec<&str> = compared.one_sided_metrics.iter().map(String::as_str).collect();
        text += &format!("\nmetrics of one side only: {}\n", metrics.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use anabranch_lab::stats::SampleStats;

    use super::{Difference, row};

    #[test]
    fn one_pair_has_no_interval() {
        let of = |differences: &[f64]| {
            let difference = Difference {
                point: "a".into(),
                metric: "goodput".into(),
                before: 1.0,
                after: 2.0,
                difference: SampleStats::of(differences).unwrap(),
            };
            row(&difference).swap_remove(5)
        };
        assert_eq!(of(&[1.0]), "unknown");
        assert_eq!(of(&[1.0, 1.0]), "± 0.000");
    }
}
