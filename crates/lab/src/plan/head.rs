//! Head of a plan: everything beside the setting. Title, variants, sweeps, seeds, figure, references, plots and checks.

use core::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeValue;

use super::axis::{self, Axis};
use super::coverage::impossible;
use super::draw::Draw;
use super::error::Problem;
use super::figure::{
    Check, CheckKind, Figure, Label, Metrics, Origin, Reference, ReferencePlan, SeriesNames, SinglePath,
};
use super::formula::Formula;
use super::named::Named;
use super::plot::PlotPlan;
use super::points::Point;
use super::repeat::Repeat;
use super::tree::{self, Table, Value};
use crate::metric;

/// The sweeps, variants, figures and checks of a plan.
pub(super) struct Head<'t> {
    pub(super) title: String,
    pub(super) claim: String,
    pub(super) source: String,
    pub(super) seeds: Range<u64>,
    /// When repetitions end, if their number is not fixed.
    pub(super) repeat: Option<Repeat>,
    pub(super) variants: Vec<Variant<'t>>,
    pub(super) axes: Vec<Axis>,
    /// The drawn cells, which are the first axis.
    pub(super) draw: Option<Draw<'t>>,
    /// Each with its changes to the setting, if it has runs, and its position in the file.
    pub(super) references: Vec<(Reference, Table<'t>, Range<usize>)>,
    pub(super) figure: Figure,
    x_place: Range<usize>,
    y_place: Range<usize>,
    record_place: Range<usize>,
    pub(super) plots: Vec<(PlotPlan, Range<usize>)>,
    pub(super) checks: Vec<(Check, Range<usize>)>,
    pub(super) cause: String,
}

/// A variant of the setting; a series of the figure.
pub(super) struct Variant<'t> {
    pub(super) name: String,
    pub(super) changes: Table<'t>,
    pub(super) place: Range<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Words {
    title: String,
    claim: String,
    #[serde(default)]
    source: String,
    #[serde(default = "one")]
    repetitions: u32,
    #[serde(default = "one")]
    seed: u32,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct VerdictWords {
    cause: String,
}

const fn one() -> u32 {
    1
}

const WORDS: [&str; 5] = ["title", "claim", "source", "repetitions", "seed"];
const TABLES: [&str; 9] = [
    "variant",
    "sweep",
    "draw",
    "figure",
    "reference",
    "plot",
    "check",
    "repeat",
    "verdict",
];
/// The keys of a setting.
const SETTING: [&str; 19] = [
    "backend",
    "stack",
    "usrsctp",
    "kernel",
    "transport",
    "tcp",
    "mptcp",
    "time",
    "clocks",
    "paths",
    "bottleneck",
    "script",
    "association",
    "policies",
    "hosts",
    "apps",
    "reading",
    "cross-traffic",
    "record",
];

impl<'t> Head<'t> {
    /// Splits a plan into its head and the base setting.
    pub(super) fn split(mut root: Table<'t>, whole: Range<usize>) -> Result<(Self, Value<'t>), Problem> {
        check_keys(&root, &[&WORDS[..], &TABLES, &SETTING].concat())?;
        let [
            variants,
            sweep,
            draw,
            figure,
            references,
            plots,
            checks,
            repeat,
            verdict,
        ] = TABLES.map(|key| root.remove(key));
        let mut words = Table::new();
        for key in WORDS {
            if let Some((key, value)) = root.remove_entry(key) {
                words.insert(key, value);
            }
        }
        let words = Spanned::new(0..0, DeValue::Table(words));
        let repetitions_place = tree::place(&words, &["repetitions"]);
        let words: Words = tree::read(words)?;
        if words.repetitions == 0 {
            let text = "`repetitions` is 0, expected at least one";
            return Err(Problem::new(repetitions_place, text));
        }
        let seed = u64::from(words.seed);
        let figure_place = |key| figure.as_ref().map_or(0..0, |figure| tree::place(figure, &[key]));
        let (x_place, y_place) = (figure_place("x"), figure_place("y"));
        let record_place = root.get("record").map_or(0..0, Spanned::span);
        let draw = draw.as_ref().map(Draw::read).transpose()?;
        let figure: Figure = figure.map(tree::read).transpose()?.unwrap_or_default();
        let checks = checks_of(elements(checks, "check")?)?;
        let default = figure.y.all().first().map_or("", String::as_str);
        let all_checks = checks.iter().map(|(check, _)| check);
        let repeat = repeat.map(|table| Repeat::read(table, words.repetitions, all_checks, default));
        let head = Self {
            title: words.title,
            claim: words.claim,
            source: words.source,
            seeds: seed..seed + u64::from(words.repetitions),
            variants: variants_of(elements(variants, "variant")?)?,
            axes: axes_of(draw.as_ref(), sweep)?,
            draw,
            references: references_of(elements(references, "reference")?)?,
            repeat: repeat.transpose()?,
            figure,
            x_place,
            y_place,
            record_place,
            plots: plots_of(elements(plots, "plot")?)?,
            cause: verdict
                .map(tree::read::<VerdictWords>)
                .transpose()?
                .unwrap_or_default()
                .cause,
            checks,
        };
        Ok((head, Spanned::new(whole, DeValue::Table(root))))
    }

    /// The axis that the figure uses as its x axis; `None` without a sweep.
    pub(super) fn x(&self) -> Option<&Axis> {
        match &self.figure.x {
            Some(name) => self.axes.iter().find(|axis| axis.name == *name),
            None => self.axes.first(),
        }
    }

    /// Refuses overrides without effect: of keys that a sweep or every series sets.
    pub(super) fn check_changes(&self, changed: &[Spanned<String>]) -> Result<(), Problem> {
        for change in changed {
            let key = change.get_ref();
            if let Some(axis) = self.axes.iter().find(|axis| axis.sets().any(|set| set == key)) {
                let name = &axis.name;
                let text = format!(
                    "the sweep `{name}` sets `{key}` in every run; override `sweep.{name}.values` instead"
                );
                return Err(Problem::new(change.span(), text));
            }
            if let Some(name) = self.draw.as_ref().and_then(|draw| draw.always_sets(key)) {
                let text = format!("`{key}` is drawn for every cell; override `draw.{name}` instead");
                return Err(Problem::new(change.span(), text));
            }
            let variants = self.variants.iter().map(|variant| &variant.changes);
            let references = self.references.iter();
            let alone =
                references.filter(|(reference, _, _)| matches!(reference.origin, Origin::SinglePath(_)));
            let mut all_series = variants.chain(alone.map(|(_, changes, _)| changes));
            if all_series.all(|series| tree::leaves(series).iter().any(|leaf| leaf.get_ref() == key)) {
                let text = format!("every series of the plan sets `{key}`; change it in the file");
                return Err(Problem::new(change.span(), text));
            }
        }
        Ok(())
    }

    /// Refuses unknown axes, series and metrics in the figure, references, plots and checks.
    pub(super) fn check_against(&self, points: &[Point]) -> Result<(), Problem> {
        let axes = || self.axes.iter().map(|axis| axis.name.as_str());
        if let Some(x) = self.figure.x.as_ref().filter(|_| self.x().is_none()) {
            return Err(Problem::unknown(self.x_place.clone(), "axis", x, axes()));
        }
        let metrics = metric::names(points.iter().map(|point| &*point.setting));
        self.check_names(points, &metrics)?;
        self.check_selections(points, &metrics)?;
        let known = |name: &str, place: &Range<usize>| check_metric(name, &metrics, place);
        if self.figure.y.all().is_empty() {
            return Err(Problem::new(self.y_place.clone(), "expected at least one metric"));
        }
        for metric in self.figure.y.all() {
            known(metric, &self.y_place)?;
        }
        for (reference, _, place) in &self.references {
            for metric in reference.y.iter().flat_map(Metrics::all) {
                known(metric, place)?;
            }
            self.check_others(&reference.only, place)?;
            let Origin::Formula(formula) = &reference.origin else {
                continue;
            };
            if let Some(name) = formula
                .names()
                .into_iter()
                .find(|name| !axes().any(|axis| axis == *name))
            {
                return Err(Problem::unknown(place.clone(), "axis", name, axes()));
            }
        }
        for (plot, place) in &self.plots {
            self.check_series(plot.series.as_ref(), place)?;
            plot.check(self, points, place)?;
        }
        for (check, place) in &self.checks {
            self.check_series_of(check, place)?;
            match (&check.y, check.kind) {
                (Some(name), CheckKind::Share) => check_metric(name, metric::HISTOGRAMS, place)?,
                (Some(name), _) => known(name, place)?,
                (None, _) => {}
            }
            if let Some(name) = &check.to_y {
                known(name, place)?;
            }
        }
        Ok(())
    }

    /// Refuses patterns in `record.metrics` and `record.columns` that match nothing.
    fn check_selections(&self, points: &[Point], metrics: &[String]) -> Result<(), Problem> {
        let columns: Vec<String> = metric::TIME_SERIES
            .iter()
            .map(|metric| metric.name.to_owned())
            .collect();
        for record in points.iter().map(|point| &point.setting.record) {
            for (selection, what, names) in [
                (&record.metrics, "metric", metrics),
                (&record.columns, "column", &columns[..]),
            ] {
                let unmatched = selection
                    .as_ref()
                    .and_then(|selection| selection.unmatched(names));
                if let Some(pattern) = unmatched {
                    let names = names.iter().map(String::as_str);
                    return Err(Problem::unknown(self.record_place.clone(), what, pattern, names));
                }
            }
        }
        Ok(())
    }

    fn check_series(&self, series: Option<&String>, place: &Range<usize>) -> Result<(), Problem> {
        let variants = self.variants.iter().map(|variant| variant.name.as_str());
        let references = self.references.iter();
        let all_series = || {
            variants.clone().chain(
                references
                    .clone()
                    .map(|(reference, _, _)| reference.name.as_str()),
            )
        };
        match series {
            Some(series) if !all_series().any(|known| known == series) => {
                Err(Problem::unknown(place.clone(), "series", series, all_series()))
            }
            _ => Ok(()),
        }
    }

    fn check_series_of(&self, check: &Check, place: &Range<usize>) -> Result<(), Problem> {
        self.check_series(Some(&check.series), place)?;
        let to = check.to.iter().flat_map(SeriesNames::all);
        to.into_iter()
            .try_for_each(|name| self.check_series(Some(name), place))?;
        self.check_others(&check.only, place)
    }

    /// Refuses unknown axes and the x axis in `where`: a range of the x axis is given with `x`.
    fn check_others(&self, only: &Named<Label>, place: &Range<usize>) -> Result<(), Problem> {
        self.check_axes(only, place)?;
        let x_axis = self.x().map(Axis::leader);
        let is_x = |axis: &&Axis| Some(axis.leader()) == x_axis && only.names().any(|name| name == axis.name);
        let Some(axis) = self.axes.iter().find(is_x) else {
            return Ok(());
        };
        let text = format!(
            "`where` names `{}`, the x axis; use another axis, or a range `x = [from, to]`",
            axis.name
        );
        Err(Problem::new(place.clone(), text))
    }

    /// Refuses unknown axes.
    pub(super) fn check_axes(&self, only: &Named<Label>, place: &Range<usize>) -> Result<(), Problem> {
        let axes = || self.axes.iter().map(|axis| axis.name.as_str());
        let unknown = only.names().find(|name| !axes().any(|axis| axis == *name));
        unknown.map_or(Ok(()), |name| {
            Err(Problem::unknown(place.clone(), "axis", name, axes()))
        })
    }
}

fn check_metric<N: AsRef<str>>(name: &str, known: &[N], place: &Range<usize>) -> Result<(), Problem> {
    if known.iter().any(|known| known.as_ref() == name) {
        return Ok(());
    }
    let known = known.iter().map(AsRef::as_ref);
    Err(Problem::unknown(place.clone(), "metric", name, known))
}

fn check_keys(table: &Table<'_>, known: &[&str]) -> Result<(), Problem> {
    let unknown = table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
    unknown.map_or(Ok(()), |key| {
        Err(Problem::unknown(
            key.span(),
            "key",
            key.get_ref(),
            known.iter().copied(),
        ))
    })
}

/// The tables `[[key]]`.
fn elements<'t>(value: Option<Value<'t>>, key: &str) -> Result<Vec<(Table<'t>, Range<usize>)>, Problem> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let expected = |place| Problem::new(place, format_args!("expected tables `[[{key}]]`"));
    let place = value.span();
    let DeValue::Array(array) = value.into_inner() else {
        return Err(expected(place));
    };
    let element = |value: Value<'t>| {
        let place = value.span();
        match value.into_inner() {
            DeValue::Table(table) => Ok((table, place)),
            _ => Err(expected(place)),
        }
    };
    array.into_iter().map(element).collect()
}

fn variants_of<'t>(elements: Vec<(Table<'t>, Range<usize>)>) -> Result<Vec<Variant<'t>>, Problem> {
    let mut variants: Vec<Variant<'_>> = Vec::new();
    for (mut changes, place) in elements {
        let Some(name) = changes.remove("name") else {
            return Err(Problem::new(place, "a variant needs a `name`"));
        };
        let name: String = tree::read(name)?;
        check_keys(&changes, &[&["name"][..], &SETTING].concat())?;
        variants.push(Variant { name, changes, place });
    }
    if variants.is_empty() {
        variants.push(Variant {
            name: "base".into(),
            changes: Table::new(),
            place: 0..0,
        });
    }
    Ok(variants)
}

/// The axes of the sweeps, after the one of the drawn cells.
fn axes_of(draw: Option<&Draw<'_>>, sweep: Option<Value<'_>>) -> Result<Vec<Axis>, Problem> {
    let mut all = swept_axes(sweep)?;
    if let Some(draw) = draw {
        let keys: Vec<&str> = all.iter().flat_map(Axis::sets).collect();
        draw.check_keys(&keys)?;
        if let Some(axis) = all.iter().find(|axis| axis.name == axis::CELL) {
            let text = "the drawn cells are the axis `cell`; rename this sweep";
            return Err(Problem::new(axis.place(), text));
        }
        all.insert(0, Axis::of_cells(draw.numbers()));
    }
    Ok(all)
}

fn swept_axes(sweep: Option<Value<'_>>) -> Result<Vec<Axis>, Problem> {
    let Some(sweep) = sweep else {
        return Ok(Vec::new());
    };
    let DeValue::Table(tables) = sweep.get_ref() else {
        return Err(Problem::new(sweep.span(), "expected tables `[sweep.NAME]`"));
    };
    let axes = tables
        .iter()
        .map(|(name, value)| Axis::read(name.get_ref(), value));
    let axes: Vec<Axis> = axes.collect::<Result<_, _>>()?;
    axis::check_keys(&axes)?;
    axis::check_pairs(&axes)?;
    Ok(axes)
}

fn references_of<'t>(
    elements: Vec<(Table<'t>, Range<usize>)>,
) -> Result<Vec<(Reference, Table<'t>, Range<usize>)>, Problem> {
    let reference = |(table, place): (Table<'t>, Range<usize>)| {
        let (changes, own): (Vec<_>, Vec<_>) = table
            .into_iter()
            .partition(|(key, _)| SETTING.contains(&key.get_ref().as_ref()));
        let own: Table<'t> = own.into_iter().collect();
        let plan: ReferencePlan = tree::read(Spanned::new(place.clone(), DeValue::Table(own)))?;
        let origin = origin_of(&plan).map_err(|text| Problem::new(place.clone(), text))?;
        if let Some((key, _)) = changes
            .first()
            .filter(|_| !matches!(origin, Origin::SinglePath(_)))
        {
            return Err(Problem::new(
                key.span(),
                "only a reference with `single-path` or `subset` has runs; remove this key",
            ));
        }
        if matches!(origin, Origin::SinglePath(_)) && !plan.only.is_empty() {
            return Err(Problem::new(
                place,
                "a reference with `single-path` or `subset` applies everywhere; remove `where`",
            ));
        }
        let reference = Reference {
            name: plan.name,
            y: plan.y,
            origin,
            only: plan.only,
        };
        Ok((reference, changes.into_iter().collect(), place))
    };
    elements.into_iter().map(reference).collect()
}

fn origin_of(plan: &ReferencePlan) -> Result<Origin, String> {
    match (&plan.formula, &plan.points, &plan.single_path, &plan.subset) {
        (None, None, None, Some(subset)) => match subset.as_str() {
            "best" => Ok(Origin::SinglePath(SinglePath::BestSubset)),
            other => Err(format!("expected `subset = \"best\"`, found `{other}`")),
        },
        (_, _, _, Some(_)) => {
            Err("a reference with `subset` has no `formula`, `points` or `single-path`".into())
        }
        (Some(formula), None, None, None) => Formula::parse(formula).map(Origin::Formula),
        (None, Some(points), None, None) => {
            let point = |numbers: &Vec<f64>| match numbers[..] {
                [x, y] if x.is_finite() && y.is_finite() => Ok((x, y)),
                _ => Err("each of the `points` needs two finite numbers, x and y".into()),
            };
            points
                .iter()
                .map(point)
                .collect::<Result<_, _>>()
                .map(Origin::Points)
        }
        (None, None, Some(alone), None) => Ok(Origin::SinglePath(match alone.as_str() {
            "best" => SinglePath::Best,
            path => SinglePath::Path(path.to_owned()),
        })),
        _ => Err("a reference needs one of `formula`, `points`, `single-path` and `subset`".into()),
    }
}

fn plots_of(elements: Vec<(Table<'_>, Range<usize>)>) -> Result<Vec<(PlotPlan, Range<usize>)>, Problem> {
    let plot = |(table, place): (Table<'_>, Range<usize>)| {
        let plot = tree::read(Spanned::new(place.clone(), DeValue::Table(table)))?;
        Ok((plot, place))
    };
    elements.into_iter().map(plot).collect()
}

fn checks_of(elements: Vec<(Table<'_>, Range<usize>)>) -> Result<Vec<(Check, Range<usize>)>, Problem> {
    let check = |(table, place): (Table<'_>, Range<usize>)| {
        let check: Check = tree::read(Spanned::new(place.clone(), DeValue::Table(table)))?;
        if let Some(missing) = missing(&check) {
            let text = format!("this kind of check needs {missing}");
            return Err(Problem::new(place, text));
        }
        if let Some(key) = without_effect(&check) {
            let text = format!("`{key}` has no effect on this kind of check");
            return Err(Problem::new(place, text));
        }
        if let Some(text) = impossible(&check) {
            return Err(Problem::new(place, text));
        }
        Ok((check, place))
    };
    elements.into_iter().map(check).collect()
}

/// A key that has no effect on this kind of check.
fn without_effect(check: &Check) -> Option<&'static str> {
    use CheckKind::{First, Monotone, Peak, Ratio, Share, ShareOfPoints, Value};
    let compares: &[_] = &[Ratio, First, Peak, ShareOfPoints];
    let is_bounded: &[_] = &[Value, Ratio, Share, First, ShareOfPoints];
    let belongs = [
        ("to", check.to.is_some(), compares),
        ("to-y", check.to_y.is_some(), compares),
        ("at-least", check.at_least.is_some(), is_bounded),
        ("at-most", check.at_most.is_some(), is_bounded),
        ("between", check.between.is_some(), &[Share]),
        ("share", check.share.is_some(), &[ShareOfPoints]),
        ("counted", check.counted.is_some(), &[ShareOfPoints]),
        ("direction", check.direction.is_some(), &[Monotone]),
        ("tolerance", check.tolerance.is_some(), &[Monotone]),
    ];
    let mut misplaced = belongs
        .iter()
        .filter(|(_, is_there, kinds)| *is_there && !kinds.contains(&check.kind));
    misplaced.next().map(|(key, _, _)| *key)
}

/// A key that this kind of check requires.
fn missing(check: &Check) -> Option<&'static str> {
    let has_bound = check.at_least.is_some() || check.at_most.is_some();
    match check.kind {
        CheckKind::Monotone => check.direction.is_none().then_some("`direction`"),
        CheckKind::Peak => check
            .x
            .is_none()
            .then_some("`x`, the range in which the peak must lie"),
        _ if !has_bound => Some("`at-least` or `at-most`"),
        CheckKind::Ratio if check.to_y.is_some() => None,
        CheckKind::Ratio => check.to.is_none().then_some("`to`, the series to compare with"),
        CheckKind::First => check
            .x
            .is_none()
            .then_some("`x`, the range in which it must happen"),
        CheckKind::Share if check.y.is_none() => Some("`y`, the histogram"),
        CheckKind::Share => check
            .between
            .is_none()
            .then_some("`between`, the range of values to count"),
        CheckKind::ShareOfPoints => check
            .share
            .is_none()
            .then_some("`share`, the share of the points at which its bounds must hold"),
        CheckKind::Value => None,
    }
}
