//! How do two results differ?

use anabranch_lab::results::{Difference, compare};

use super::text::{columns, print, print_json};
use crate::arguments::LabCompareArguments;
use crate::failure::Failure;

pub(super) fn run(arguments: &LabCompareArguments) -> Result<(), Failure> {
    let mut differences = compare(&arguments.before, &arguments.after).map_err(Failure::usage)?;
    let wanted = &arguments.metric;
    differences.retain(|difference| wanted.is_empty() || wanted.contains(&difference.metric));
    if arguments.output.is_json() {
        for difference in &differences {
            let mut object = serde_json::json!(difference);
            object["event"] = "difference".into();
            object["significant"] = difference.difference.is_significant().into();
            print_json(&object);
        }
        return Ok(());
    }
    if differences.is_empty() {
        print("no difference\n");
        return Ok(());
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
    print(&columns(&rows));
    Ok(())
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
