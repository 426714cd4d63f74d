//! `anabranch profiles`: lists the profiles, or prints one.

use anabranch::PolicyRecipe;
use anabranch::policy::{PROFILES, Profile};

use crate::arguments::ProfilesArguments;
use crate::failure::Failure;
use crate::output;

/// Prints the list of profiles, or one of them as a file that `--policies` reads.
pub(crate) fn run(arguments: &ProfilesArguments) -> Result<(), Failure> {
    let text = match (&arguments.name, arguments.json) {
        (None, false) => list(),
        (Some(name), false) => file(find(name)?),
        (None, true) => PROFILES.iter().map(object).collect(),
        (Some(name), true) => object(find(name)?),
    };
    output::print(&text)
}

fn find(name: &str) -> Result<&'static Profile, Failure> {
    let unknown = || {
        PolicyRecipe::profile(name)
            .err()
            .map_or_else(String::new, |error| error.to_string())
    };
    let mut profiles = PROFILES.iter();
    profiles
        .find(|profile| profile.name == name)
        .ok_or_else(|| Failure::Usage(unknown()))
}

fn list() -> String {
    let line = |profile: &Profile| format!("{:14}{} ({})\n", profile.name, profile.summary, profile.source);
    PROFILES.iter().map(line).collect()
}

fn file(profile: &Profile) -> String {
    let Profile {
        name,
        summary,
        source,
        recipe,
    } = profile;
    format!("# {name}: {summary} ({source})\n{recipe}")
}

fn object(profile: &Profile) -> String {
    let choices: serde_json::Map<_, _> = profile
        .recipe
        .assignments()
        .into_iter()
        .map(|(key, value)| (key, value.into()))
        .collect();
    let object = serde_json::json!({
        "event": "profile",
        "name": profile.name,
        "summary": profile.summary,
        "source": profile.source,
        "choices": choices,
    });
    format!("{object}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_profile_can_be_read_as_a_file() {
        for profile in PROFILES {
            let read = PolicyRecipe::rfc9260().changed_by(&file(profile));
            assert_eq!(read, Ok(profile.recipe));
        }
    }

    #[test]
    fn json_profile_has_all_choices() {
        let object: serde_json::Value = serde_json::from_str(&object(&PROFILES[0])).unwrap();
        assert_eq!(object["choices"]["path-scheduler"], "within-window");
    }
}
