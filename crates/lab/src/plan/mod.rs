//! Plan of an experiment: a TOML file, read into validated types.
//!
//! ```text
//! text ─▶ tables with positions ─▶ quick size, overrides ─▶ head: title, sweeps, variants, figure, checks
//!                                                        └▶ base setting
//! base ─▶ values of the axes ─▶ changes of the variant ─▶ Setting ─▶ validation ─▶ points, one for each seed
//! ```
//!
//! Every value keeps its position in the file, so that an invalid rate in a variant is reported where the variant sets it.

mod axis;
mod backend;
mod coverage;
mod digest;
mod draw;
mod error;
mod figure;
mod formula;
mod head;
mod inputs;
mod link;
mod mechanisms;
mod named;
mod names;
mod plot;
mod points;
mod processor;
mod quantity;
mod renamed;
mod repeat;
mod schema;
mod selection;
mod setting;
mod transport;
mod tree;
mod validate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use axis::{Axis, Coordinate};
pub use backend::{BackendPlan, KernelPlan, StackPlan, UsrsctpPlan};
pub use draw::{Cell, Drawn};
pub use error::PlanError;
pub use figure::{
    Check, CheckKind, Counted, Direction, Figure, FigureScale, Label, Metrics, Origin, Quantity, Reference,
    SeriesNames, SinglePath, Statement, Statistic,
};
pub use formula::Formula;
pub use link::{
    BatchPlan, ClocksPlan, CodelPlan, FqCodelPlan, ModelPlan, PiePlan, TablePlan, TracePlan, VariationPlan,
};
pub use mechanisms::Mechanisms;
pub use named::Named;
pub use plot::{PlotKind, PlotPlan};
pub use points::Point;
pub use processor::Processor;
pub use quantity::{Buffer, Rate, RateLimit, Share, Size, Time, Whole};
pub use repeat::{Repeat, cell_of};
pub use schema::plan_schema;
pub use selection::Selection;
pub use setting::{
    AppKind, AppPlan, AssociationPlan, BurstPlan, CrossTrafficPlan, End, HostPlan, Hosts, LinkPlan, LossPlan,
    QueuePlan, ReadingPlan, Record, RedPlan, ScriptStep, Setting, Timing,
};
pub use transport::{MptcpPlan, NrSackPlan, TcpPlan, TransportPlan};

use error::{CHANGES, Problem, Source};
use head::Head;
use inputs::Inputs;
use tree::Table;

/// An experiment, read from its plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The file.
    pub file: PathBuf,
    /// The file name without extension.
    pub name: String,
    /// Whether this is the quick size, and the plan has one.
    pub is_quick: bool,
    /// Digest of the plan in this size, without titles and claims.
    pub digest: String,
    /// Overrides `key=value` of the command line.
    pub changes: Vec<String>,
    /// Title in one line.
    pub title: String,
    /// The claim in words.
    pub claim: String,
    /// Source of the claim.
    pub source: String,
    /// The names of the variants, in the order of the plan.
    pub variants: Vec<String>,
    /// The axes of the sweep.
    pub axes: Vec<Axis>,
    /// The drawn cells, if the plan draws some.
    pub cells: Vec<Cell>,
    /// The reference series.
    pub references: Vec<Reference>,
    /// The figure.
    pub figure: Figure,
    /// Plots beside the figure.
    pub plots: Vec<PlotPlan>,
    /// The checks.
    pub checks: Vec<Check>,
    /// Known cause of a difference between results and claim; empty if there is none.
    pub cause: String,
    /// When repetitions end, if their number is not fixed.
    pub repeat: Option<Repeat>,
    /// The runs: with `repeat`, the least number of repetitions of each.
    pub points: Vec<Point>,
}

/// Options for reading a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanOptions {
    /// Read the quick size: shorter runs, fewer points and seeds.
    pub quick: bool,
    /// Overrides `key=value`.
    pub changes: Vec<String>,
}

impl Plan {
    /// Reads the plan in `file`.
    ///
    /// # Errors
    ///
    /// [`PlanError`], with file, line, and what was expected.
    pub fn load(file: &Path, options: &PlanOptions) -> Result<Self, PlanError> {
        let text = std::fs::read_to_string(file).map_err(|error| PlanError {
            place: file.display().to_string(),
            problem: error.to_string(),
        })?;
        Self::read(file, &text, options)
    }

    /// Reads `text` as the plan in `file`.
    ///
    /// # Errors
    ///
    /// As [`Plan::load`].
    pub fn read(file: &Path, text: &str, options: &PlanOptions) -> Result<Self, PlanError> {
        let source = Source::new(file, text, &options.changes);
        let mut inputs = Inputs::new(file);
        let mut resolved =
            |quick| resolve(&source, quick, &mut inputs).map_err(|problem| source.error(&problem));
        let plan = resolved(options.quick)?;
        if !options.quick && options.changes.is_empty() {
            // Report errors of the quick size before hours of full-size runs.
            resolved(true)?;
        }
        Ok(Self {
            name: file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            file: file.to_owned(),
            changes: options.changes.clone(),
            ..plan
        })
    }

    /// A place on an axis, such as `delay 10 ms`.
    pub(crate) fn in_words(&self, coordinate: &Coordinate) -> String {
        let axis = self.axes.iter().find(|axis| axis.name == coordinate.axis);
        let unit = axis.map_or("", |axis| &axis.unit);
        let parts = [&coordinate.axis, &coordinate.text, unit];
        parts.join(" ").trim_end().to_owned()
    }

    /// The plan with as many repetitions of each cell as `wanted` says, by its values on the axes; of others as before.
    #[must_use]
    pub fn repeated(&self, wanted: &BTreeMap<Vec<String>, u64>) -> Self {
        Self {
            points: repeat::extended(&self.points, wanted),
            ..self.clone()
        }
    }
}

fn resolve(source: &Source, quick: bool, inputs: &mut Inputs) -> Result<Plan, Problem> {
    let document = Table::parse(source.text()).map_err(|error| Problem::of_toml(&error))?;
    let whole = document.span();
    let mut root = document.into_inner();
    let is_quick = quick && root.contains_key("quick");
    let overlays = [("quick", quick), (CHANGES, true)];
    let mut changed = Vec::new();
    for (key, wanted) in overlays {
        let Some(overlay) = root.remove(key) else {
            continue;
        };
        let place = overlay.span();
        let toml::de::DeValue::Table(overlay) = overlay.into_inner() else {
            return Err(Problem::new(place, format_args!("expected a table `[{key}]`")));
        };
        tree::names_known(&root, &overlay)?;
        if key == CHANGES {
            changed = tree::leaves(&overlay);
        }
        if wanted {
            tree::merge(&mut root, &overlay);
        }
    }
    let (head, base) = Head::split(root, whole)?;
    head.check_changes(&changed)?;
    let cells = points::cells(&head, &base)?;
    let points = points::of(&head, &base, inputs)?;
    head.check_against(&points)?;
    if !is_quick && changed.is_empty() {
        head.check_coverage(&points)?;
    }
    Ok(Plan {
        file: PathBuf::new(),
        name: String::new(),
        digest: digest::digest(source.text(), is_quick).map_err(|error| Problem::of_toml(&error))?,
        is_quick,
        changes: Vec::new(),
        title: head.title,
        claim: head.claim,
        source: head.source,
        variants: head.variants.iter().map(|variant| variant.name.clone()).collect(),
        references: head
            .references
            .iter()
            .map(|(reference, _, _)| reference.clone())
            .collect(),
        axes: head.axes,
        cells,
        figure: head.figure,
        plots: head.plots.into_iter().map(|(plot, _)| plot).collect(),
        cause: head.cause,
        checks: head.checks.into_iter().map(|(check, _)| check).collect(),
        repeat: head.repeat,
        points,
    })
}

#[cfg(test)]
mod tests;
