//! `Path`: devices and addresses to send from, and how they are to be used.

use std::num::NonZeroU64;

use anabranch::PathPreference;

use crate::parse::{Origin, Origins, parse_from, parse_rate};

/// What `Path` of a line says.
#[derive(Debug)]
pub(super) struct PathLine {
    /// As text, to be joined with those of other lines.
    pub(super) origins: String,
    /// How all of them are to be used.
    pub(super) preference: Option<PathPreference>,
}

/// `wwan0, backup, cap=20Mbit`
pub(super) fn parse_path(text: &str) -> Result<PathLine, String> {
    let (mut origins, mut cost, mut limit) = (Vec::new(), None, None);
    for part in text.split(',').map(str::trim) {
        match part
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()))
        {
            None if part == "backup" => once(&mut cost, PathPreference::BACKUP)?,
            None => origins.push(part),
            Some(("cost", value)) => once(&mut cost, parse_cost(value)?)?,
            Some(("cap", value)) => {
                let rate = parse_rate(value).map_err(|error| format!("cap: {error}"))?;
                // At least 10 kbit/s.
                once(&mut limit, rate.as_bits_per_second() / 8)?;
            }
            Some(("weight", _)) => {
                return Err(
                    "there are no weights, because each path carries what it can; write cap=20Mbit, cost=1 or backup"
                        .to_owned(),
                );
            }
            Some((key, _)) => {
                return Err(format!(
                    "a path has no {key:?}; it has backup, cost=1 and cap=20Mbit"
                ));
            }
        }
    }
    if origins.is_empty() {
        return Err("name the device or address first: wwan0, backup".to_owned());
    }
    let preference = (cost.is_some() || limit.is_some()).then(|| PathPreference {
        cost: cost.unwrap_or_default(),
        limit: limit.and_then(NonZeroU64::new),
    });
    Ok(PathLine {
        origins: origins.join(","),
        preference,
    })
}

/// The origins of one line, which has been parsed together with those before.
pub(super) fn origins_of(line: &PathLine) -> Result<Vec<Origin>, String> {
    parse_from(&line.origins).map(|Origins(origins)| origins)
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => {
            Err("a path has one of `backup` and `cost`, and one `cap`; leave the other out".to_owned())
        }
    }
}

fn parse_cost(text: &str) -> Result<u8, String> {
    let cost = text.parse().ok().filter(|cost| *cost < PathPreference::BACKUP);
    cost.ok_or_else(|| format!("{text:?} is no cost: expected 0 to 254, or `backup`"))
}
