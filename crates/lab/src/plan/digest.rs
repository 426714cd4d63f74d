//! Digest of a plan: SHA-256 of everything that can change its results.

use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

/// Keys that describe the experiment or only change how results look.
const WORDS: [&str; 6] = ["title", "claim", "source", "verdict", "plot", "check"];
const LABELS: [&str; 4] = ["x-label", "y-label", "x-scale", "y-scale"];
/// Keys of `[record]` that only select what is written.
const CHOICES: [&str; 2] = ["metrics", "columns"];

/// Keys of a check that tell how its quantity is judged, and not which quantity it is.
const JUDGEMENT: [&str; 8] = [
    "claim",
    "states",
    "at-least",
    "at-most",
    "share",
    "counted",
    "direction",
    "tolerance",
];

/// The digest of the plan `text`, as 16 hexadecimal digits. Comments, spaces, titles, claims and checks do not change
/// it: results are judged anew by the checks of the day. The table `quick` counts only in the quick size. With a stop
/// rule, the quantities of the checks decide how many runs there are, and count.
pub(super) fn digest(text: &str, is_quick: bool) -> Result<String, toml::de::Error> {
    let mut plan: Table = text.parse()?;
    if !is_quick {
        plan.remove("quick");
    }
    // What is left of `quick` is merged over the plan.
    let quick = plan.get("quick").and_then(Value::as_table);
    let has_stop_rule =
        plan.contains_key("repeat") || quick.is_some_and(|quick| quick.contains_key("repeat"));
    let checks = plan.remove("check").filter(|_| has_stop_rule);
    for word in WORDS {
        plan.remove(word);
    }
    if let Some(Value::Array(mut checks)) = checks {
        for table in checks.iter_mut().filter_map(Value::as_table_mut) {
            table.retain(|key, _| !JUDGEMENT.contains(&key));
        }
        plan.insert("check".to_owned(), Value::Array(checks));
    }
    for (name, keys) in [("figure", &LABELS[..]), ("record", &CHOICES)] {
        if let Some(Value::Table(table)) = plan.get_mut(name) {
            for key in keys {
                table.remove(*key);
            }
        }
    }
    let canonical = serde_json::to_string(&plan).expect("invariant: tables have only names for keys");
    let digest = Sha256::digest(canonical);
    Ok(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::digest;

    const PLAN: &str =
        "title = \"a\"\n[figure]\nx = \"b\"\n[[check]]\nclaim = \"c\"\nat-least = 1\n[quick]\nseed = 2\n";

    #[test]
    fn descriptions_do_not_change_the_digest() {
        let of = |from: &str, to: &str, quick| digest(&PLAN.replacen(from, to, 1), quick).unwrap();
        let plan = of("", "", false);
        assert_eq!(plan, of("\"a\"", "\"another\" # title", false));
        assert_eq!(plan, of("\"c\"", "\"said otherwise\"", false));
        assert_eq!(plan, of("seed = 2", "seed = 3", false));
        assert_eq!(plan, of("at-least = 1", "at-least = 2", false));
        assert_ne!(of("", "", true), of("seed = 2", "seed = 3", true));
    }

    #[test]
    fn quantities_of_checks_count_with_a_stop_rule() {
        let of = |from: &str, to: &str| {
            let plan = PLAN.replacen("[quick]", "y = \"goodput\"\n[repeat]\nat-most = 9\n[quick]", 1);
            digest(&plan.replacen(from, to, 1), false).unwrap()
        };
        assert_eq!(of("", ""), of("at-least = 1", "at-least = 2"));
        assert_ne!(of("", ""), of("goodput", "timeouts"));
        assert_ne!(of("", ""), of("at-most = 9", "at-most = 10"));
    }

    #[test]
    fn stop_rule_of_the_quick_size_makes_quantities_count_there() {
        let of = |from: &str, to: &str, quick| {
            let plan = PLAN.replacen("[quick]", "y = \"goodput\"\n[quick]\nrepeat.at-most = 9", 1);
            digest(&plan.replacen(from, to, 1), quick).unwrap()
        };
        assert_ne!(of("", "", true), of("goodput", "timeouts", true));
        assert_eq!(of("", "", true), of("at-least = 1", "at-least = 2", true));
        assert_eq!(of("", "", false), of("goodput", "timeouts", false));
    }
}
