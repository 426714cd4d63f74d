//! What is the experiment? One TOML file, read into types that can only say what can be run.
//!
//! ```text
//! text ─▶ tables with places ─▶ quick? command line? ─▶ head: title, sweep, variants, figure, checks
//!                                                    └▶ base setting
//! base ─▶ axis values put in ─▶ variant laid over ─▶ Setting ─▶ valid? ─▶ points, one for each seed
//! ```
//!
//! Every value keeps its place in the file through all of this, so that a rate that a variant sets wrongly is reported
//! where the variant sets it.

mod axis;
mod backend;
mod coverage;
mod digest;
mod error;
mod figure;
mod formula;
mod head;
mod mechanisms;
mod named;
mod names;
mod plot;
mod points;
mod processor;
mod quantity;
mod renamed;
mod selection;
mod setting;
mod transport;
mod tree;
mod validate;

use std::path::{Path, PathBuf};

pub use axis::{Axis, Coordinate};
pub use backend::{BackendPlan, KernelPlan, StackPlan, UsrsctpPlan};
pub use error::PlanError;
pub use figure::{
    Check, CheckKind, Direction, Figure, FigureScale, Label, Metrics, Origin, Reference, SinglePath,
    Statistic,
};
pub use formula::Formula;
pub use mechanisms::Mechanisms;
pub use named::Named;
pub use plot::{PlotKind, PlotPlan};
pub use points::Point;
pub use processor::Processor;
pub use quantity::{Rate, RateLimit, Share, Size, Time, Whole};
pub use selection::Selection;
pub use setting::{
    AppKind, AppPlan, AssociationPlan, BurstPlan, CrossTrafficPlan, End, HostPlan, Hosts, LinkPlan, LossPlan,
    QueuePlan, ReadingPlan, Record, RedPlan, ScriptStep, Setting, Timing,
};
pub use transport::{MptcpPlan, NrSackPlan, TcpPlan, TransportPlan};

use error::{CHANGES, Problem, Source};
use head::Head;
use tree::Table;

/// An experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The file.
    pub file: PathBuf,
    /// Its name without its ending.
    pub name: String,
    /// Whether this is the quick size, and differs from the full one.
    pub is_quick: bool,
    /// The digest of what it says in this size, words for people aside.
    pub digest: String,
    /// Changes `key=value` to what the file says.
    pub changes: Vec<String>,
    /// What the experiment is, in one line.
    pub title: String,
    /// The claim that it belongs to, in words.
    pub claim: String,
    /// Where the claim was made.
    pub source: String,
    /// The names of the variants, in the order of the plan.
    pub variants: Vec<String>,
    /// What is swept over.
    pub axes: Vec<Axis>,
    /// The lines beside the variants.
    pub references: Vec<Reference>,
    /// What is drawn.
    pub figure: Figure,
    /// What is drawn beside the figure.
    pub plots: Vec<PlotPlan>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// Why what comes out differs from the claim, as far as it is known; empty if there is nothing to say.
    pub cause: String,
    /// The runs.
    pub points: Vec<Point>,
}

/// How a plan is to be read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanOptions {
    /// In the quick size: shorter, fewer points, fewer seeds, as the plan says.
    pub quick: bool,
    /// Changes `key=value`, after everything that the plan says.
    pub changes: Vec<String>,
}

impl Plan {
    /// Reads the plan in `file`.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: the file, the line, what is wrong there and what was expected.
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
        let resolved = |quick| resolve(&source, quick).map_err(|problem| source.error(&problem));
        let plan = resolved(options.quick)?;
        if !options.quick && options.changes.is_empty() {
            // What is wrong with the quick size is better told before hours of the full one.
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
}

fn resolve(source: &Source, quick: bool) -> Result<Plan, Problem> {
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
    let points = points::of(&head, &base)?;
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
        figure: head.figure,
        plots: head.plots.into_iter().map(|(plot, _)| plot).collect(),
        cause: head.cause,
        checks: head.checks.into_iter().map(|(check, _)| check).collect(),
        points,
    })
}

#[cfg(test)]
mod tests;
