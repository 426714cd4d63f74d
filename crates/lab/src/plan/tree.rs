//! Operations on TOML tables: merging, and setting values at dotted keys. Positions in the file are kept.

use core::ops::Range;
use std::borrow::Cow;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::error::Problem;
use super::mechanisms;

/// A table in which every value has its position in the file.
pub(super) type Table<'t> = DeTable<'t>;
/// A value with its position in the file.
pub(super) type Value<'t> = Spanned<DeValue<'t>>;

/// Tables with exactly one of several keys: setting another key replaces the present one.
const ONE_OF: [(&str, &[&str]); 4] = [
    ("queue", &["packets", "bytes", "red", "codel", "fq-codel", "pie"]),
    ("loss", &["random", "bursts", "batches"]),
    ("delay-variation", &["uniform", "normal", "pareto", "table"]),
    ("trace", &["file", "model"]),
];

/// Merges `over` into `base`: tables key by key, everything else is replaced.
pub(super) fn merge<'t>(base: &mut Table<'t>, over: &Table<'t>) {
    for (key, value) in over {
        if let Some(said) = value.get_ref().as_table().and_then(|over| over.keys().next()) {
            clear_alternative(base, key.get_ref(), said.get_ref());
        }
        match (base.get_mut(key.get_ref().as_ref()), value.get_ref()) {
            (Some(below), DeValue::Table(over)) if below.get_ref().is_table() => {
                if let DeValue::Table(table) = below.get_mut() {
                    merge(table, over);
                }
            }
            (Some(below), _) => *below = value.clone(),
            (None, _) => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Clears the table at `key` if it allows only one key and has another than `said`.
fn clear_alternative(base: &mut Table<'_>, key: &str, said: &str) {
    let is_one_of = |(table, things): &(&str, &[&str])| *table == key && things.contains(&said);
    let below = base.get_mut(key).filter(|_| ONE_OF.iter().any(is_one_of));
    if let Some(DeValue::Table(below)) = below.map(Spanned::get_mut)
        && !below.contains_key(said)
    {
        *below = Table::new();
    }
}

/// Tables whose keys are names chosen by the plan, and what one item is called.
const NAMED: [(&str, &str); 4] = [
    ("paths", "path"),
    ("apps", "application"),
    ("cross-traffic", "cross-traffic flow"),
    ("sweep", "sweep"),
];

/// The dotted keys of all values in `table` that are not tables, as [`put`] accepts them.
pub(super) fn leaves(table: &Table<'_>) -> Vec<Spanned<String>> {
    let mut found = Vec::new();
    for (key, value) in table {
        let name = key.get_ref();
        match value.get_ref() {
            DeValue::Table(inner) => found.extend(leaves(inner).into_iter().map(|leaf| {
                let place = leaf.span();
                Spanned::new(place, format!("{name}.{}", leaf.get_ref()))
            })),
            _ => found.push(Spanned::new(key.span(), name.to_string())),
        }
    }
    found
}

/// Refuses names in `over` that `base` does not have: a misspelt path must not become another path.
pub(super) fn names_known(base: &Table<'_>, over: &Table<'_>) -> Result<(), Problem> {
    for (table, what) in NAMED {
        let known: Vec<&str> = names(base, table).map(|name| name.get_ref().as_ref()).collect();
        for name in names(over, table) {
            let given = name.get_ref().as_ref();
            if !known.contains(&given) {
                return Err(Problem::unknown(name.span(), what, given, known));
            }
        }
    }
    Ok(())
}

/// The keys of the table `name`, if it exists.
fn names<'a, 't>(tables: &'a Table<'t>, name: &str) -> impl Iterator<Item = &'a Spanned<Cow<'t, str>>> {
    let inner = tables.get(name).and_then(|inner| inner.get_ref().as_table());
    inner.into_iter().flat_map(|inner| inner.keys())
}

/// Sets `value` at a dotted key such as `paths.south.rate`. All tables before the last dot must exist, so that a misspelt
/// path does not become another path; only the outermost table is created if missing. After `policies`, the rest of the
/// key is one name. A table is merged into one that is there.
pub(super) fn put<'t>(base: &mut Table<'t>, key: &Spanned<String>, value: &Value<'t>) -> Result<(), Problem> {
    let mut table = base;
    let mut rest = key.get_ref().as_str();
    let mut is_policies = false;
    while let Some((first, further)) = rest.split_once('.').filter(|_| !is_policies) {
        is_policies = first == "policies";
        rest = further;
        let name = Spanned::new(key.span(), Cow::Owned(first.to_owned()));
        let is_outermost = rest.len() + first.len() + 1 == key.get_ref().len();
        if !is_outermost && table.get(first).is_none() {
            let known = table.keys().map(|key| key.get_ref().as_ref());
            return Err(Problem::unknown(key.span(), "name", first, known));
        }
        let next = rest.split('.').next().unwrap_or(rest);
        clear_alternative(table, first, next);
        let inner = table.entry(name);
        let inner = inner.or_insert_with(|| Spanned::new(key.span(), DeValue::Table(Table::new())));
        let DeValue::Table(inner) = inner.get_mut() else {
            let text = format!("`{first}` in `{}` is a value, not a table", key.get_ref());
            return Err(Problem::new(key.span(), text));
        };
        table = inner;
    }
    let mut over = Table::new();
    over.insert(
        Spanned::new(key.span(), Cow::Owned(rest.to_owned())),
        value.clone(),
    );
    merge(table, &over);
    Ok(())
}

/// Sorts the keys of each `policies` table in the order in which they are applied.
pub(super) fn order_policies(table: &mut Table<'_>) {
    for (key, value) in table.iter_mut() {
        let DeValue::Table(inner) = value.get_mut() else {
            continue;
        };
        if key.get_ref() == "policies" {
            let mut entries: Vec<_> = core::mem::take(inner).into_iter().collect();
            entries.sort_by_key(|(key, _)| mechanisms::rank(key.get_ref()));
            *inner = entries.into_iter().collect();
        } else {
            order_policies(inner);
        }
    }
}

/// Position of the value at `path`, or of the innermost existing table around it.
pub(super) fn place(table: &Value<'_>, path: &[&str]) -> Range<usize> {
    let mut value = table;
    let mut place = table.span();
    for name in path {
        let inner = match value.get_ref() {
            DeValue::Table(inner) => inner.get_key_value(*name).map(|(key, value)| (key.span(), value)),
            DeValue::Array(inner) => name
                .parse()
                .ok()
                .and_then(|index: usize| inner.get(index))
                .map(|value| (value.span(), value)),
            _ => None,
        };
        let Some((key, further)) = inner else {
            break;
        };
        place = if further.get_ref().is_table() {
            key
        } else {
            further.span()
        };
        value = further;
    }
    place
}

/// Reads a table or value as a `T`.
pub(super) fn read<T: DeserializeOwned>(value: Value<'_>) -> Result<T, Problem> {
    T::deserialize(ValueDeserializer::from(value)).map_err(|error| Problem::of_toml(&error))
}
