//! Digest of a plan: SHA-256 of everything that can change its results.

use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

/// Keys that describe the experiment or only change how results look.
const WORDS: [&str; 6] = ["title", "claim", "source", "verdict", "plot", "check"];
const LABELS: [&str; 4] = ["x-label", "y-label", "x-scale", "y-scale"];
/// Keys of `[record]` that only select what is written.
const CHOICES: [&str; 2] = ["metrics", "columns"];

/// The digest of the plan `text`, as 16 hexadecimal digits. Comments, spaces, titles, claims and checks do not change
/// it: results are judged anew by the checks of the day. The table `quick` counts only in the quick size.
pub(super) fn digest(text: &str, is_quick: bool) -> Result<String, toml::de::Error> {
    let mut plan: Table = text.parse()?;
    if !is_quick {
        plan.remove("quick");
    }
    for word in WORDS {
        plan.remove(word);
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
}
