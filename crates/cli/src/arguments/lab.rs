//! What can be asked of the lab?

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::output::{Form, Output};

const RUN_EXAMPLES: &str = "\
Examples:
  anabranch lab run experiments/sar-1.toml --quick
          in seconds, with fewer points and shorter runs
  anabranch lab run experiments/sar-1.toml
          as the paper did it; what was run before is not run again, so Ctrl-C costs nothing
  anabranch lab run experiments/sar-1.toml --quick --set policies.cc=lia --out lia
          with another mechanism, into another folder; then: anabranch lab compare target/lab/sar-1-quick lia
  anabranch lab run experiments/testbed-2.toml --quick
          on real hosts, as root: our stack, usrsctp, the kernel's TCP and MPTCP; --set backend=testbed does it to other plans that fit
  anabranch lab run experiments/*.toml --keep experiments/results
          all of them, as the papers did it, and keeps what docs/claims.md is made of; as root, for some run on real hosts

Each folder of results has a report, NAME.html, with the figure beside the paper's lines.
Exit codes: 0 the runs are complete, whatever they say of the claim; 1 some failed; 2 the plan is wrong; 130 interrupted.";

const REPORT_EXAMPLES: &str = "\
Examples:
  anabranch lab report
          every experiment: the results in target/lab, or what is kept in experiments/results; index.html lists them
  anabranch lab report experiments/sar-1.toml experiments/sar-6.toml --out pages
          two of them
  anabranch lab report lia
          the results in a folder that `anabranch lab run --out lia` wrote

Pages need nothing but themselves; figures lie beside them as SVG and PNG.
Exit codes: 0 written, 1 not, 2 a plan or a result cannot be read.";

const LIST_EXAMPLES: &str = "\
Examples:
  anabranch lab list
  anabranch lab list my-experiments --json

Exit codes: 0 listed, 1 not, 2 a plan cannot be read; the others are listed all the same.";

const SHOW_EXAMPLES: &str = "\
Examples:
  anabranch lab show experiments/sar-1.toml --quick
          lines and places, and how many runs that makes
  anabranch lab show experiments/sar-1.toml --json
          each run with everything that it depends on

Exit codes: 0 shown, 1 not, 2 the plan is wrong.";

const COMPARE_EXAMPLES: &str = "\
Example:
  anabranch lab compare target/lab/sar-1-quick lia --metric goodput
          differences with their 95 % confidence intervals; a star where zero lies outside

What is the same in all pairs is left out; what one side alone has is told after the differences.
Exit codes: 0 compared, whatever differs, 1 not, 2 there is nothing to compare.";

const CLAIMS_EXAMPLES: &str = "\
Example:
  anabranch lab claims > docs/claims.md

Exit codes: 0 printed, 1 not, 2 a plan or a summary cannot be read.";

/// Of `lab`.
#[derive(Args, Debug)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

/// What the lab is to do.
#[derive(Subcommand, Debug)]
pub(crate) enum LabVerb {
    /// Run experiments, and hold what comes out against their claims
    #[command(after_help = RUN_EXAMPLES)]
    Run(LabRunArguments),
    /// List the experiments of a folder
    #[command(after_help = LIST_EXAMPLES)]
    List(LabListArguments),
    /// Show what an experiment would run
    #[command(after_help = SHOW_EXAMPLES)]
    Show(LabShowArguments),
    /// Compare two folders of results, in pairs of the same point and seed
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(LabCompareArguments),
    /// Write pages with figures of results, and an index over them
    #[command(after_help = REPORT_EXAMPLES)]
    Report(LabReportArguments),
    /// Print what became of the claims, as Markdown: docs/claims.md
    #[command(after_help = CLAIMS_EXAMPLES)]
    Claims(LabClaimsArguments),
}

impl LabVerb {
    pub(crate) const fn output(&self) -> Output {
        match self {
            Self::Run(arguments) => arguments.output,
            Self::List(arguments) => Output::of(arguments.output.is_json()),
            Self::Show(arguments) => Output::of(arguments.output.is_json()),
            Self::Compare(arguments) => Output::of(arguments.output.is_json()),
            Self::Report(arguments) => arguments.output,
            Self::Claims(_) => Output::of(false),
        }
    }
}

/// How plans are read.
#[derive(Args, Debug)]
pub(crate) struct PlanArguments {
    /// In the quick size that plans have beside the full one
    #[arg(long)]
    pub(crate) quick: bool,

    /// Change the plan: time.measure=10s, association.send-buffer=1MiB, policies.cc=lia; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Of `lab run`.
#[derive(Args, Debug)]
pub(crate) struct LabRunArguments {
    /// Plans of experiments (experiments/README.md says how to write one)
    #[arg(value_name = "PLAN", required = true)]
    pub(crate) plans: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) plan_options: PlanArguments,

    /// How many runs at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,

    /// Folder for the results [default: target/lab/NAME, or NAME-quick]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Keep a small summary of the results here, and every run on real hosts; nothing if a run failed,
    /// and a quick one never in the place of a full one
    #[arg(long, value_name = "DIR", conflicts_with = "set")]
    pub(crate) keep: Option<PathBuf>,

    /// Folder of what was run before
    #[arg(long, value_name = "DIR", default_value = "target/lab/cache")]
    pub(crate) cache: PathBuf,

    /// Folder for a log of each SCTP run's events, as docs/event-log.md describes them; all points are run then;
    /// not of runs on real hosts
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,

    /// Folder for a capture of each run's packets, in pcapng format; all points are run then; not of runs on
    /// real hosts
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
    pub(crate) output: Form,
}

/// Of `lab show`.
#[derive(Args, Debug)]
pub(crate) struct LabShowArguments {
    /// Plan of the experiment
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    #[command(flatten)]
    pub(crate) plan_options: PlanArguments,

    #[command(flatten)]
    pub(crate) output: Form,
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
    pub(crate) output: Form,
}

/// Of `lab report`.
#[derive(Args, Debug)]
pub(crate) struct LabReportArguments {
    /// Plans or folders of results [default: every plan in experiments]
    #[arg(value_name = "PLAN|DIR")]
    pub(crate) what: Vec<PathBuf>,

    /// Folder for the pages
    #[arg(long, value_name = "DIR", default_value = "target/lab/report")]
    pub(crate) out: PathBuf,

    /// Folder in which the results of plans are looked for
    #[arg(long, value_name = "DIR", default_value = "target/lab")]
    pub(crate) results: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `lab claims`.
#[derive(Args, Debug)]
pub(crate) struct LabClaimsArguments {
    /// Folder with plans; what is kept of their results is in `results` inside it, and what tests show in `tested`
    #[arg(value_name = "DIR", default_value = "experiments")]
    pub(crate) folder: PathBuf,
}
