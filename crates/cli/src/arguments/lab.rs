//! Arguments of `anabranch lab` and its verbs.

use std::path::PathBuf;
use std::time::Duration;

use anabranch::Rate;
use clap::{Args, Subcommand, ValueEnum};

use crate::output::{Form, Output};
use crate::parse::{parse_duration, parse_rate};

const RUN_EXAMPLES: &str = "\
Examples:
  anabranch lab run experiments/sar-1.toml --quick
          quick size: fewer points and shorter runs, takes seconds
  anabranch lab run experiments/sar-1.toml
          full size, as in the paper; results are cached, so an interrupted run continues where it stopped
  anabranch lab run experiments/sar-1.toml --quick --set policies.cc=lia --out lia
          another congestion control, other output folder; then: anabranch lab compare target/lab/sar-1-quick lia
  anabranch lab run experiments/rule-1.toml --cell 17 --out cell-17
          one drawn cell alone
  anabranch lab run experiments/testbed-2.toml --quick
          on a test bed (as root): anabranch, usrsctp, the kernel's TCP and MPTCP; --set backend=testbed works for other plans
  anabranch lab run experiments/sar-1.toml --on dask://10.0.0.1:8786
          on the workers of a cluster: docs/clusters.md
  anabranch lab run experiments/*.toml --keep experiments/results
          all experiments in full size; keeps the result summaries for docs/claims.md (as root, because of the test beds)

Each folder of results contains a report, NAME.html, with the figure and the paper's values.
Exit codes: 0 all runs complete, whatever the verdict; 1 some runs failed; 2 invalid plan or arguments; 130 interrupted.";

const REPORT_EXAMPLES: &str = "\
Examples:
  anabranch lab report
          all experiments, from target/lab or else from experiments/results; index.html lists them
  anabranch lab report experiments/sar-1.toml experiments/sar-6.toml --out pages
          two experiments
  anabranch lab report lia
          the results written by `anabranch lab run --out lia`

Pages are self-contained; the figures are also written as SVG and PNG files.
Exit codes: 0 written, 1 not written, 2 a plan or a result summary cannot be read.";

const LIST_EXAMPLES: &str = "\
Examples:
  anabranch lab list
  anabranch lab list my-experiments --json

Exit codes: 0 listed, 1 cannot write, 2 a plan cannot be read (the others are listed).";

const SHOW_EXAMPLES: &str = "\
Examples:
  anabranch lab show experiments/sar-1.toml --quick
          series, points and the number of runs
  anabranch lab show experiments/sar-1.toml --json
          each run with its complete setting

Exit codes: 0 shown, 1 cannot write, 2 invalid plan.";

const COMPARE_EXAMPLES: &str = "\
Example:
  anabranch lab compare target/lab/sar-1-quick lia --metric goodput
          mean differences with 95 % confidence intervals; a star marks significant ones

Metrics that are equal in all pairs are omitted; runs and metrics of one side only are listed at the end.
Exit codes: 0 compared, whatever the differences; 1 cannot write; 2 nothing to compare.";

const TRACE_EXAMPLES: &str = "\
Examples:
  anabranch lab trace starlink --rate 100Mbit --out starlink.trace
          two minutes; in a plan: trace = { file = \"starlink.trace\" }, or the model itself without a file
  anabranch lab trace lte --rate 30Mbit --duration 10min --seed 7 > lte.trace

Each line is a time in milliseconds at which the link can carry 1,500 bytes: the format of Mahimahi. Equal arguments give equal
traces.
Exit codes: 0 written, 1 cannot write, 2 invalid arguments.";

const CLAIMS_EXAMPLES: &str = "\
Example:
  anabranch lab claims > docs/claims.md

Exit codes: 0 printed, 1 cannot write, 2 a plan or a result summary cannot be read.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  anabranch lab export
          writes target/lab/kept.parquet; in Python: polars.read_parquet(\"target/lab/kept.parquet\")
  anabranch lab export experiments --out kept.csv

A row is the value of a metric in one run, with its plan, series, coordinates and seed, the verdict on the claim, and the program's
commit. Results without the values of their runs have one row for each point, without seed, with mean or median and its range.
Exit codes: 0 written, 1 cannot write, 2 a plan or a result summary cannot be read, or there is none.";

/// Arguments of `lab`.
#[derive(Args, Debug)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

/// Verbs of `lab`.
#[derive(Subcommand, Debug)]
pub(crate) enum LabVerb {
    /// Run experiments and check their claims
    #[command(after_help = RUN_EXAMPLES)]
    Run(LabRunArguments),
    /// List the experiments in a folder
    #[command(after_help = LIST_EXAMPLES)]
    List(LabListArguments),
    /// Show the runs of an experiment without running them
    #[command(after_help = SHOW_EXAMPLES)]
    Show(LabShowArguments),
    /// Compare two folders of results, paired by point and seed
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(LabCompareArguments),
    /// Write HTML reports with figures, and an index
    #[command(after_help = REPORT_EXAMPLES)]
    Report(LabReportArguments),
    /// Generate a rate trace of an LTE, Starlink or Wi-Fi link
    #[command(after_help = TRACE_EXAMPLES)]
    Trace(LabTraceArguments),
    /// Print the verdicts on all claims as Markdown: docs/claims.md
    #[command(after_help = CLAIMS_EXAMPLES)]
    Claims(LabClaimsArguments),
    /// Write the values of all kept results into one Parquet or CSV file
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(LabExportArguments),
    /// Print the JSON schema of plans, for editors: docs/plan.schema.json
    #[command(
        after_help = "Examples:\n  anabranch lab schema > plan.schema.json\n          then begin a plan with: #:schema plan.schema.json\n\n\
                      Exit codes: 0 printed, 1 cannot write."
    )]
    Schema,
}

impl LabVerb {
    pub(crate) const fn output(&self) -> Output {
        match self {
            Self::Run(arguments) => arguments.output,
            Self::List(arguments) => Output::of(arguments.output.is_json()),
            Self::Show(arguments) => Output::of(arguments.output.is_json()),
            Self::Compare(arguments) => Output::of(arguments.output.is_json()),
            Self::Report(arguments) => arguments.output,
            Self::Trace(_) | Self::Claims(_) | Self::Export(_) | Self::Schema => Output::of(false),
        }
    }
}

/// Arguments of `lab trace`.
#[derive(Args, Debug)]
pub(crate) struct LabTraceArguments {
    /// The model of the access network
    #[arg(value_enum)]
    pub(crate) model: ModelArgument,

    /// Mean rate of the link
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Rate,

    /// Length of the trace, after which it repeats; in whole milliseconds
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2min")]
    pub(crate) duration: Duration,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// A model of an access network.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ModelArgument {
    /// Cellular: fading, shadowing, handovers
    Lte,
    /// Satellite: a hand-over every 15 s
    Starlink,
    /// Wireless LAN: contention, aggregation, interference
    Wifi,
}

/// Options for reading plans.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlanArguments {
    /// Use the quick size of the plan: shorter runs, fewer points and seeds
    #[arg(long)]
    pub(crate) quick: bool,

    /// Override a key of the plan: time.measure=10s, association.send-buffer=1MiB, policies.cc=lia; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Only this cell of a plan that draws cells; repeatable
    #[arg(long, value_name = "N")]
    pub(crate) cell: Vec<u64>,
}

/// Arguments of `lab run`.
#[derive(Args, Debug)]
pub(crate) struct LabRunArguments {
    /// Plan files of experiments (format: experiments/README.md)
    #[arg(value_name = "PLAN", required = true)]
    pub(crate) plans: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) plan_options: PlanArguments,

    /// Number of concurrent runs [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,

    /// Run on a Dask cluster, dask://HOST:PORT, through the Python package (docs/clusters.md); simulated runs only
    #[arg(long, value_name = "CLUSTER", value_parser = parse_cluster, conflicts_with_all = ["jobs", "events", "capture"])]
    pub(crate) on: Option<String>,

    /// Output folder [default: target/lab/NAME, or target/lab/NAME-quick]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Also store the result summary here, and all runs of a test bed; skipped if a run failed or if a quick
    /// result would replace a full one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["set", "cell"])]
    pub(crate) keep: Option<PathBuf>,

    /// Cache folder for the results of single runs
    #[arg(long, value_name = "DIR", default_value = "target/lab/cache")]
    pub(crate) cache: PathBuf,

    /// Write an event log (docs/event-log.md) of each run to this folder, bypassing the cache; simulated SCTP
    /// only
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,

    /// Write a packet capture (pcapng) of each run to this folder, bypassing the cache; simulated runs only
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// The address of a cluster's scheduler.
fn parse_cluster(text: &str) -> Result<String, String> {
    let is_whole = text
        .strip_prefix("dask://")
        .and_then(|rest| rest.rsplit_once(':'))
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    match is_whole {
        true => Ok(text.to_owned()),
        false => Err("expected the address of Dask's scheduler: dask://HOST:PORT".to_owned()),
    }
}

/// Arguments of `lab list`.
#[derive(Args, Debug)]
pub(crate) struct LabListArguments {
    /// Folder with plans
    #[arg(value_name = "DIR", default_value = "experiments")]
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) output: Form,
}

/// Arguments of `lab show`.
#[derive(Args, Debug)]
pub(crate) struct LabShowArguments {
    /// Plan file of the experiment
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    #[command(flatten)]
    pub(crate) plan_options: PlanArguments,

    #[command(flatten)]
    pub(crate) output: Form,
}

/// Arguments of `lab compare`.
#[derive(Args, Debug)]
pub(crate) struct LabCompareArguments {
    /// Folder with the baseline results
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// Folder with the results to compare
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// Only this metric, such as goodput; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Vec<String>,

    #[command(flatten)]
    pub(crate) output: Form,
}

/// Arguments of `lab report`.
#[derive(Args, Debug)]
pub(crate) struct LabReportArguments {
    /// Plan files or folders of results [default: all plans in experiments]
    #[arg(value_name = "PLAN|DIR")]
    pub(crate) what: Vec<PathBuf>,

    /// Output folder
    #[arg(long, value_name = "DIR", default_value = "target/lab/report")]
    pub(crate) out: PathBuf,

    /// Folder to search for the results of plans
    #[arg(long, value_name = "DIR", default_value = "target/lab")]
    pub(crate) results: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `lab claims`.
#[derive(Args, Debug)]
pub(crate) struct LabClaimsArguments {
    /// Folder with plans; it contains `results` (result summaries) and `tested` (claims shown by tests)
    #[arg(value_name = "DIR", default_value = "experiments")]
    pub(crate) folder: PathBuf,
}

/// Arguments of `lab export`.
#[derive(Args, Debug)]
pub(crate) struct LabExportArguments {
    /// Folder with plans; it contains `results` (result summaries)
    #[arg(value_name = "DIR", default_value = "experiments")]
    pub(crate) folder: PathBuf,

    /// The file to write; CSV if its name ends so, otherwise Parquet
    #[arg(long, value_name = "FILE", default_value = "target/lab/kept.parquet")]
    pub(crate) out: PathBuf,
}
