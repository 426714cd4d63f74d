//! What can be asked of the lab?

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::output::Output;

const RUN_EXAMPLES: &str = "\
Examples:
  anabranch lab run experiments/sar-1.toml --quick
          in minutes, with fewer points and shorter runs
  anabranch lab run experiments/sar-1.toml
          as the paper did it; what was run before is not run again, so Ctrl-C costs nothing
  anabranch lab run experiments/sar-1.toml --quick --set policies.cc=lia --out lia
          with another mechanism, into another folder; then: anabranch lab compare target/lab/sar-1-quick lia

Exit codes: 0 the runs are complete, whatever they say of the claim; 1 some failed; 2 the plan is wrong; 130 interrupted.";

/// Of `lab`.
#[derive(Args, Debug)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

/// What the lab is to do.
#[derive(Subcommand, Debug)]
pub(crate) enum LabVerb {
    /// Run an experiment, and hold what comes out against its claim
    #[command(after_help = RUN_EXAMPLES)]
    Run(LabRunArguments),
    /// List the experiments of a folder
    List(LabListArguments),
    /// Show what an experiment would run
    Show(LabShowArguments),
    /// Compare two folders of results, in pairs of the same point and seed
    Compare(LabCompareArguments),
}

impl LabVerb {
    pub(crate) const fn output(&self) -> Output {
        match self {
            Self::Run(arguments) => arguments.output,
            Self::List(arguments) => arguments.output,
            Self::Show(arguments) => arguments.output,
            Self::Compare(arguments) => arguments.output,
        }
    }
}

/// Which plan, and how it is read.
#[derive(Args, Debug)]
pub(crate) struct PlanArguments {
    /// Plan of the experiment (experiments/README.md says how to write one)
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    /// In the quick size that the plan has beside the full one
    #[arg(long)]
    pub(crate) quick: bool,

    /// Change the plan: time.measure=10s, paths.south.rate=50Mbit, policies.cc=lia; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Of `lab run`.
#[derive(Args, Debug)]
pub(crate) struct LabRunArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,

    /// How many runs at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,

    /// Folder for the results [default: target/lab/NAME, or NAME-quick]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Folder of what was run before
    #[arg(long, value_name = "DIR", default_value = "target/lab/cache")]
    pub(crate) cache: PathBuf,

    /// Folder for a log of each run's events, as docs/event-log.md describes them; all points are run then
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,

    /// Folder for a capture of each run's packets, in pcapng format; all points are run then
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `lab list`.
#[derive(Args, Debug)]
pub(crate) struct LabListArguments {
    /// Folder with plans
    #[arg(value_name = "DIR", default_value = "experiments")]
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `lab show`.
#[derive(Args, Debug)]
pub(crate) struct LabShowArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `lab compare`.
#[derive(Args, Debug)]
pub(crate) struct LabCompareArguments {
    /// Folder of the first results
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// Folder of the second results
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// Only this metric, such as goodput; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Vec<String>,

    #[command(flatten)]
    pub(crate) output: Output,
}
