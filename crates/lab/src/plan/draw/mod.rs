//! Drawn cells of a plan: settings drawn at random, each cell by its number alone. Which networks does a plan compare?
//!
//! A cell is drawn from the seed of `[draw]`, its number, and the name of each draw and path. Another cell, draw or path changes none of the
//! others, so their results stay in the cache.

mod amount;
mod distribution;
#[cfg(test)]
mod tests;

use anabranch_types::Seed;
use core::ops::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeValue;

use self::amount::Link;
use self::distribution::{Distribution, in_words};
use super::axis;
use super::error::Problem;
use super::quantity::Share;
use super::tree::{self, Table, Value};

/// Maximum number of cells.
const MAX_CELLS: u32 = 100_000;
/// Stands for all paths in a key.
const EACH_PATH: &str = "paths.*";

/// The keys of `[draw]` beside the draws.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DrawWords {
    /// Number of cells.
    #[schemars(with = "u32")]
    cells: Spanned<u32>,
    /// Seed of the cells. 1 unless set.
    #[serde(default = "one")]
    seed: u32,
    /// Only the cells with these numbers, from 1. All unless set.
    #[serde(default)]
    only: Vec<u64>,
}

const WORDS: [&str; 3] = ["cells", "seed", "only"];
/// The draw of the number of paths.
const PATHS: &str = "paths";

const fn one() -> u32 {
    1
}

/// A cell with what was drawn for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cell {
    /// Its number, from 1.
    pub number: u64,
    /// The paths that it has.
    pub paths: Vec<String>,
    /// What was drawn, in the order of the plan.
    pub drawn: Vec<Drawn>,
}

/// A drawn value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Drawn {
    /// The draw.
    pub name: String,
    /// The path; missing if it is a value of the whole cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The value in words; missing if the key was left as the plan has it.
    pub value: Option<String>,
}

impl Drawn {
    /// Its name: the draw, and the path if there is one.
    #[must_use]
    pub fn full_name(&self) -> String {
        match &self.path {
            Some(path) => format!("{}.{path}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Cell {
    /// What was drawn for the whole cell, and for each path, in words.
    #[must_use]
    pub fn in_words(&self) -> Vec<(String, String)> {
        let of = |path: Option<&str>| -> Vec<(String, String)> {
            let all = self.drawn.iter();
            let own = all.filter(|drawn| drawn.path.as_deref() == path);
            own.filter_map(|drawn| Some((drawn.name.clone(), drawn.value.clone()?)))
                .collect()
        };
        let of_path = |path: &String| {
            let values: Vec<String> = of(Some(path)).into_iter().map(|(_, value)| value).collect();
            (path.clone(), values.join(", "))
        };
        let of_paths = self.paths.iter().map(of_path);
        of(None).into_iter().chain(of_paths).collect()
    }
}

/// The draws of a plan.
#[derive(Clone, Debug)]
pub(super) struct Draw<'t> {
    numbers: Vec<u64>,
    seed: Seed,
    paths: Option<(Distribution<'t>, Range<usize>)>,
    items: Vec<Item<'t>>,
}

/// A draw: keys that are set in each cell.
#[derive(Clone, Debug)]
struct Item<'t> {
    name: String,
    keys: Vec<Spanned<String>>,
    /// Whether each path has its own value.
    is_of_paths: bool,
    chance: f64,
    distribution: Distribution<'t>,
}

impl<'t> Draw<'t> {
    /// Reads `[draw]`.
    pub(super) fn read(value: &Value<'t>) -> Result<Self, Problem> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(Problem::new(value.span(), "expected a table `[draw]`"));
        };
        let mut words = Table::new();
        let mut paths = None;
        let mut items = Vec::new();
        for (name, inner) in table {
            match name.get_ref().as_ref() {
                word if WORDS.contains(&word) => {
                    words.insert(name.clone(), inner.clone());
                }
                PATHS => paths = Some((Distribution::read(inner, PATHS)?, inner.span())),
                draw => items.push(Item::read(draw, name.span(), inner)?),
            }
        }
        let words: DrawWords = tree::read(Spanned::new(value.span(), DeValue::Table(words)))?;
        let cells = *words.cells.get_ref();
        if cells == 0 || cells > MAX_CELLS || words.only.contains(&0) {
            let text = format!("expected 1 to {MAX_CELLS} cells, which are numbered from 1");
            return Err(Problem::new(words.cells.span(), text));
        }
        let numbers = match words.only.is_empty() {
            true => (1..=u64::from(cells)).collect(),
            false => words.only,
        };
        Ok(Self {
            numbers,
            seed: Seed(words.seed.into()),
            paths,
            items,
        })
    }

    /// The numbers of the cells.
    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The draw that sets `key` in every cell.
    pub(super) fn always_sets(&self, key: &str) -> Option<&str> {
        let mut items = self.items.iter().filter(|item| item.chance >= 1.0);
        items.find(|item| item.sets(key)).map(|item| item.name.as_str())
    }

    /// Refuses keys that two draws or a sweep set too: the later value would override the other.
    pub(super) fn check_keys(&self, swept: &[&str]) -> Result<(), Problem> {
        for (index, item) in self.items.iter().enumerate() {
            for key in &item.keys {
                let name = key.get_ref();
                let is_drawn = self.items[..index].iter().any(|other| other.sets(name));
                if is_drawn || swept.iter().any(|swept| item.sets(swept)) {
                    let text = format!("`{name}` is set by two draws, or by a sweep too; remove one of them");
                    return Err(Problem::new(key.span(), text));
                }
            }
        }
        Ok(())
    }

    /// Draws a cell and writes it into `setting`.
    pub(super) fn apply(&self, number: u64, setting: &mut Table<'t>) -> Result<Cell, Problem> {
        let seed = self.seed.nth(number);
        if let Some((count, place)) = &self.paths {
            let drawn = count.draw(&mut seed.split(PATHS).rng(), Link::default())?;
            keep_paths(setting, &drawn, place)?;
        }
        let paths = paths_of(setting);
        let mut drawn = vec![Vec::new(); self.items.len()];
        // Multiples of what a path has need what has been drawn for it.
        let later = |index: &usize| self.items[*index].distribution.is_relative();
        let (last, first): (Vec<usize>, Vec<usize>) = (0..self.items.len()).partition(later);
        for index in first.into_iter().chain(last) {
            let item = &self.items[index];
            drawn[index] = item.apply(seed.split(&item.name), &paths, setting)?;
        }
        Ok(Cell {
            number,
            paths,
            drawn: drawn.concat(),
        })
    }
}

impl<'t> Item<'t> {
    fn read(name: &str, place: Range<usize>, value: &Value<'t>) -> Result<Self, Problem> {
        let (keys, mut rest) = axis::take_keys(value)?;
        let chance = match rest.get_mut() {
            DeValue::Table(table) => table.remove("chance").map(tree::read::<Share>).transpose()?,
            _ => None,
        };
        let each = keys.iter().filter(|key| key.get_ref().starts_with(EACH_PATH));
        let is_of_paths = each.count() == keys.len();
        let wild = keys.iter().find(|key| key.get_ref().contains('*'));
        if let Some(key) = wild.filter(|key| !is_of_paths || key.get_ref().matches('*').count() > 1) {
            let text = "`*` stands for each path, as in \"paths.*.rate\", in all keys of a draw or in none";
            return Err(Problem::new(key.span(), text));
        }
        let last = keys
            .first()
            .and_then(|key| key.get_ref().rsplit('.').next().map(str::to_owned));
        let found = match rest.get_ref() {
            DeValue::Table(table) => Distribution::of_table(table, last.as_deref().unwrap_or_default())?,
            _ => None,
        };
        let distribution = found.ok_or_else(|| {
            let text = format!("the draw `{name}` needs `choice`, `uniform` or `log-uniform` with a list");
            Problem::new(place, text)
        })?;
        Ok(Self {
            name: name.to_owned(),
            is_of_paths,
            keys,
            chance: chance.map_or(1.0, |share| share.0),
            distribution,
        })
    }

    /// Whether it sets `key`, or a key within it or around it.
    fn sets(&self, key: &str) -> bool {
        let is_within = |one: &str, other: &str| {
            let mut others = other.split('.');
            one.split('.').all(|part| {
                let other = others.next();
                part == "*" || other == Some("*") || other == Some(part)
            })
        };
        let mut keys = self.keys.iter().map(|own| own.get_ref().as_str());
        keys.any(|own| is_within(own, key) || is_within(key, own))
    }

    /// Draws for the cell, or for each of its paths.
    fn apply(&self, seed: Seed, paths: &[String], setting: &mut Table<'t>) -> Result<Vec<Drawn>, Problem> {
        if !self.is_of_paths {
            let first = self.keys.first().map_or("", |key| key.get_ref());
            let named = first
                .strip_prefix("paths.")
                .and_then(|rest| rest.split('.').next());
            let link = named.map_or_else(
                || link_at(setting, &["bottleneck"]),
                |path| link_at(setting, &["paths", path]),
            );
            return Ok(vec![self.set(seed, link, None, setting)?]);
        }
        let each = paths.iter().map(|path| {
            let link = link_at(setting, &["paths", path]);
            self.set(seed.split(path), link, Some(path), setting)
        });
        each.collect()
    }

    fn set(
        &self,
        seed: Seed,
        link: Link,
        path: Option<&String>,
        setting: &mut Table<'t>,
    ) -> Result<Drawn, Problem> {
        let mut rng = seed.rng();
        let is_set = rng.unit() < self.chance;
        let drawn = Drawn {
            name: self.name.clone(),
            path: path.cloned(),
            value: None,
        };
        if !is_set {
            return Ok(drawn);
        }
        let value = self.distribution.draw(&mut rng, link)?;
        for key in &self.keys {
            let name = match path {
                Some(path) => key.get_ref().replacen('*', path, 1),
                None => key.get_ref().clone(),
            };
            tree::put(setting, &Spanned::new(key.span(), name), &value)?;
        }
        Ok(Drawn {
            value: Some(in_words(&value)),
            ..drawn
        })
    }
}

/// What the link at `keys` has.
fn link_at(setting: &Table<'_>, keys: &[&str]) -> Link {
    let mut table = Some(setting);
    for key in keys {
        table = table.and_then(|table| table.get(*key)?.get_ref().as_table());
    }
    table.map_or_else(Link::default, Link::of)
}

fn paths_of(setting: &Table<'_>) -> Vec<String> {
    let paths = setting.get(PATHS).and_then(|paths| paths.get_ref().as_table());
    let names = paths.into_iter().flat_map(|paths| paths.keys());
    names.map(|name| name.get_ref().to_string()).collect()
}

/// Removes all paths but the first ones.
fn keep_paths(setting: &mut Table<'_>, count: &Value<'_>, place: &Range<usize>) -> Result<(), Problem> {
    let names = paths_of(setting);
    let kept = in_words(count)
        .parse::<usize>()
        .ok()
        .filter(|count| (1..=names.len()).contains(count));
    let Some(kept) = kept else {
        let text = format!(
            "expected a number of paths from 1 to {}, those of the plan",
            names.len()
        );
        return Err(Problem::new(place.clone(), text));
    };
    if let Some(DeValue::Table(paths)) = setting.get_mut(PATHS).map(Spanned::get_mut) {
        for name in &names[kept..] {
            paths.remove(name.as_str());
        }
    }
    Ok(())
}

/// The schema of a draw.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "it describes tables that are read apart, for the schema")]
pub(super) struct DrawPlan {
    /// Probability with which the key is set; otherwise it stays as the plan has it. 1 unless set.
    chance: Option<Share>,
    /// One of these values: words, numbers, or tables, which may contain distributions.
    choice: Option<Vec<serde_json::Value>>,
    /// The weight of each value of `choice`. Equal unless set.
    weights: Option<Vec<f64>>,
    /// Between two ends: numbers, quantities, or multiples of what the path has, such as \"2BDP\" and \"0.5delay\".
    uniform: Option<[serde_json::Value; 2]>,
    /// The same, each order of magnitude as likely as the others.
    log_uniform: Option<[serde_json::Value; 2]>,
}
