//! `Class` of a tunnel's file: what comes first when the paths are full, and what is sent on all of them.

use anabranch_tunnel::{Class, ClassRule};

/// The word for datagrams that are sent on all paths.
const REDUNDANT: &str = "redundant";

/// `real-time, udp/5060, dscp=46`, or with `redundant` after the class, which may then stand alone.
pub(super) fn parse_class(text: &str) -> Result<Vec<ClassRule>, String> {
    let mut parts = text.split(',').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let class: Class = name
        .parse()
        .map_err(|()| format!("{name:?} is no class: expected bulk, interactive or real-time, then ports"))?;
    let (words, places): (Vec<&str>, Vec<&str>) = parts.partition(|part| *part == REDUNDANT);
    let rules = match words[..] {
        [] if places.is_empty() => {
            return Err(format!(
                "name what is {name}: {name}, tcp/22, udp/16384-32767, dscp=46"
            ));
        }
        [] => rules_of(&places, |place| ClassRule::new(class, place)),
        [_] if places.is_empty() => ClassRule::all_redundant(class).map(|all| vec![all]),
        [_] => rules_of(&places, |place| ClassRule::redundant(class, place)),
        _ => return Err(format!("`{REDUNDANT}` is written twice; leave one out")),
    };
    rules.map_err(|error| error.to_string())
}

fn rules_of<E>(places: &[&str], rule: impl Fn(&str) -> Result<ClassRule, E>) -> Result<Vec<ClassRule>, E> {
    places.iter().map(|place| rule(place)).collect()
}
