//! Arguments of `anabranch testbed` and its verbs.

use clap::{Args, Subcommand};

use crate::output::Output;
use crate::parse::{ShapedPath, parse_path};

const UP_EXAMPLES: &str = "\
Examples:
  anabranch testbed up --path 10Mbit,1ms --path 40Mbit,20ms,0.1%
          two hosts connected by two paths; then run programs on them:
  mkdir inbox
  ip netns exec anabranch-bed-far anabranch recv inbox &
  ip netns exec anabranch-bed-near anabranch send big.iso --to 10.0.0.2,10.1.0.2
  anabranch testbed up --path 10Mbit,1ms --foreground
          stays in the foreground until Ctrl-C

Path n (from 0) connects 10.n.0.1 on the host anabranch-NAME-near with 10.n.0.2 on anabranch-NAME-far. An existing test bed of the
same name, also one left by a crash, is removed first.

Requires root, iproute2 and /dev/net/tun.
Exit codes: 0 the test bed is up (with --foreground: it was up and has been removed), 1 failed, 2 invalid arguments.";

const DOWN_EXAMPLES: &str = "\
Examples:
  anabranch testbed down
          removes the test bed and stops all programs on its hosts
  anabranch testbed down --all
          removes all test beds of this machine, also those left by a crash of `anabranch lab run`

Succeeds if there is no test bed. Exit codes: 0 removed, 1 failed, 2 invalid arguments.";

const STATUS_EXAMPLES: &str = "\
Examples:
  anabranch testbed status
  anabranch testbed status --json

Exit codes: 0 shown, also if there is none; 1 cannot write; 2 invalid arguments.";

/// Arguments of `testbed`.
#[derive(Args, Debug)]
pub(crate) struct TestbedArguments {
    #[command(subcommand)]
    pub(crate) verb: TestbedVerb,
}

/// Verbs of `testbed`.
#[derive(Subcommand, Debug)]
pub(crate) enum TestbedVerb {
    /// Create two hosts (network namespaces) connected by emulated links
    #[command(after_help = UP_EXAMPLES)]
    Up(TestbedUpArguments),
    /// Remove a test bed
    #[command(after_help = DOWN_EXAMPLES)]
    Down(TestbedDownArguments),
    /// Show the test beds of this machine and the timing accuracy of their links
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        #[command(flatten)]
        output: Output,
    },
}

impl TestbedVerb {
    pub(crate) const fn output(&self) -> Output {
        match self {
            Self::Up(arguments) => arguments.output,
            Self::Down(arguments) => arguments.output,
            Self::Status { output } => *output,
        }
    }
}

/// Arguments of `testbed up`.
#[derive(Args, Debug)]
pub(crate) struct TestbedUpArguments {
    /// Path: rate, one-way delay, optional jitter (standard deviation) and loss rate; the same in both directions; repeatable
    #[arg(long = "path", value_name = "RATE,DELAY[~JITTER][,LOSS]", value_parser = parse_path, required = true)]
    pub(crate) paths: Vec<ShapedPath>,

    /// Queue length of each link
    #[arg(long, value_name = "PACKETS", default_value_t = 100)]
    pub(crate) queue: u32,

    /// MTU of the links, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub(crate) mtu: u32,

    /// Random seed for packet loss and jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Name of the test bed
    #[arg(long, default_value = "bed")]
    pub(crate) name: String,

    /// Stay in the foreground; Ctrl-C removes the test bed
    #[arg(long)]
    pub(crate) foreground: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `testbed down`.
#[derive(Args, Debug)]
pub(crate) struct TestbedDownArguments {
    /// Name of the test bed
    #[arg(long, default_value = "bed")]
    pub(crate) name: String,

    /// Remove all test beds of this machine
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}
