//! What can be asked of a test bed?

use clap::{Args, Subcommand};

use crate::output::Output;
use crate::parse::{ShapedPath, parse_path};

const UP_EXAMPLES: &str = "\
Examples:
  anabranch testbed up --path 10Mbit,1ms --path 40Mbit,20ms,0.1%
          two hosts with two paths; then, on them:
  mkdir inbox
  ip netns exec anabranch-bed-far anabranch recv inbox &
  ip netns exec anabranch-bed-near anabranch send big.iso --to 10.0.0.2,10.1.0.2
  anabranch testbed up --path 10Mbit,1ms --foreground
          until Ctrl-C

Path n joins 10.n.0.1 on the host anabranch-NAME-near with 10.n.0.2 on anabranch-NAME-far, n counted from 0. A bed of the same name
that is up already, or was left behind by a crash, is put away first.

Needs root, iproute2 and /dev/net/tun.
Exit codes: 0 it is up (with --foreground: it was, and is put away), 1 it is not, 2 wrong arguments.";

const DOWN_EXAMPLES: &str = "\
Examples:
  anabranch testbed down
          the bed that `up` set up, with all programs that run on its hosts
  anabranch testbed down --all
          all beds of this machine: also those of `anabranch lab run` that a crash left behind

It is no error if there is none. Exit codes: 0 it is away, 1 it is not, 2 wrong arguments.";

const STATUS_EXAMPLES: &str = "\
Examples:
  anabranch testbed status
  anabranch testbed status --json

Exit codes: 0 shown, none being there included, 1 not, 2 wrong arguments.";

/// Of `testbed`.
#[derive(Args, Debug)]
pub(crate) struct TestbedArguments {
    #[command(subcommand)]
    pub(crate) verb: TestbedVerb,
}

/// What to do with test beds.
#[derive(Subcommand, Debug)]
pub(crate) enum TestbedVerb {
    /// Set up two hosts on this machine with links of the simulator between them, in real time
    #[command(after_help = UP_EXAMPLES)]
    Up(TestbedUpArguments),
    /// Put a test bed away
    #[command(after_help = DOWN_EXAMPLES)]
    Down(TestbedDownArguments),
    /// Show the test beds of this machine, and how well they keep the time
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

/// Of `testbed up`.
#[derive(Args, Debug)]
pub(crate) struct TestbedUpArguments {
    /// A path: rate, delay in one direction, and loss if any, the same in both directions
    #[arg(long = "path", value_name = "RATE,DELAY[,LOSS]", value_parser = parse_path, required = true)]
    pub(crate) paths: Vec<ShapedPath>,

    /// Packets that wait at most at each link
    #[arg(long, value_name = "PACKETS", default_value_t = 100)]
    pub(crate) queue: u32,

    /// The largest IP packet, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub(crate) mtu: u32,

    /// Of the losses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// What to call it, if there are several
    #[arg(long, default_value = "bed")]
    pub(crate) name: String,

    /// Stay until Ctrl-C, then put it away
    #[arg(long)]
    pub(crate) foreground: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `testbed down`.
#[derive(Args, Debug)]
pub(crate) struct TestbedDownArguments {
    /// Which one
    #[arg(long, default_value = "bed")]
    pub(crate) name: String,

    /// Every one of this machine
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}
