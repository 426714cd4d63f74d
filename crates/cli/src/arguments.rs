//! Command-line arguments: the verbs and their options.

mod dashboard;
#[cfg(test)]
mod documented;
mod lab;
#[cfg(target_os = "linux")]
mod run;
mod test;
#[cfg(target_os = "linux")]
mod testbed;
mod transfer;
mod tunnel;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use dashboard::DashboardArguments;
pub(crate) use lab::{
    LabArguments, LabClaimsArguments, LabCompareArguments, LabExportArguments, LabListArguments,
    LabReportArguments, LabRunArguments, LabShowArguments, LabTraceArguments, LabVerb, ModelArgument,
    PlanArguments,
};

#[cfg(target_os = "linux")]
pub(crate) use run::{EncryptionArguments, RunArguments};
#[cfg(target_os = "linux")]
pub(crate) use testbed::{TestbedArguments, TestbedDownArguments, TestbedUpArguments, TestbedVerb};

pub(crate) use test::TestArguments;
pub(crate) use transfer::{RecvArguments, SendArguments};
pub(crate) use tunnel::{TunnelArguments, TunnelInitArguments, TunnelVerb};

use transfer::{RECV_EXAMPLES, SEND_EXAMPLES};

use crate::output::{Output, remark};
use crate::parse::{
    Origins, PeerAddresses, ShapedPath, parse_duration, parse_from, parse_path, parse_size, parse_to,
};
use crate::settings::{Choices, Settings};

const EXAMPLES: &str = "\
Examples:
  anabranch demo
          compare two paths together with each path alone, on this machine
  anabranch recv inbox
          on the receiving host; then, on the sending host:
  anabranch send big.iso --to 192.0.2.1,198.51.100.1

More examples and exit codes: `anabranch <COMMAND> --help`
Pages in docs/: below /usr/share/doc/anabranch, and at https://github.com/anabranch/anabranch";

const LAB_EXAMPLES: &str = "\
Examples:
  anabranch lab list
  anabranch lab run experiments/sar-1.toml --quick

More examples and exit codes: `anabranch lab <COMMAND> --help`";

const TESTBED_EXAMPLES: &str = "\
Examples:
  anabranch testbed up --path 10Mbit,1ms --path 40Mbit,20ms
  anabranch testbed down

More examples and exit codes: `anabranch testbed <COMMAND> --help`";

const TRACE_EXAMPLES: &str = "\
Examples:
  anabranch trace list big.pcapng
  anabranch trace flow big.pcapng --from 2s --to 2500ms --svg loss.svg

More examples and exit codes: `anabranch trace <COMMAND> --help`";

const CHECK_EXAMPLES: &str = "\
Examples:
  anabranch recv inbox
          on the receiving host; then, on the sending host:
  anabranch check 192.0.2.1
          test all uplinks with a default route
  anabranch check server.example:9900 --from wwan0,192.168.1.5
          test a device and an address
  anabranch check --json 192.0.2.1
          with output for programs

Prints for each uplink the round-trip time, the largest packet that passes, and the address that the receiver sees; or what to do if it does not work.
Exit codes: 0 all uplinks work, 1 some do not, 2 invalid arguments, 130 interrupted.";

const DEMO_EXAMPLES: &str = "\
Examples:
  anabranch demo
          10 Mbit/s with 10 ms and 40 Mbit/s with 30 ms; takes a minute
  anabranch demo --path 5Mbit,20ms --path 20Mbit,60ms,0.1% --duration 5s
          other paths, shorter runs
  anabranch demo --cut
          with a run in which the fastest path fails after half of the file
  anabranch demo --set path-scheduler=round-robin
          another path scheduler
  anabranch demo --cut --tui
          with a live view of the paths in the terminal
  anabranch demo --cut --dashboard
          with a page that shows the paths live

Needs no privileges: the links are emulated in this process, around sockets on 127.0.0.1, 127.0.0.2, ...
Exit codes: 0 if all paths together are at least as fast as the best path alone and every SHA-256 matches, 1 otherwise; 2 invalid arguments; 130 interrupted.";

const POLICIES_EXAMPLES: &str = "\
Examples:
  anabranch policies
          all policies with their algorithms; a star marks the choices of the default profile
  anabranch policies path-scheduler
          one policy
  anabranch policies --profile freebsd-2017 --set cc=lia
          with stars at the resulting choices
  anabranch policies --json
          for programs

Each line is an assignment that --set accepts.
Exit codes: 0 printed, 1 cannot write, 2 unknown policy, profile or algorithm.";

const PROFILES_EXAMPLES: &str = "\
Examples:
  anabranch profiles
          list the profiles
  anabranch profiles dre-2010 > mine.policies
          print all choices of a profile as a file, to be edited and used:
  anabranch send big.iso --to 192.0.2.1 --policies mine.policies

Exit codes: 0 printed, 1 cannot write, 2 unknown profile.";

const FLOW_EXAMPLES: &str = "\
Examples:
  anabranch trace flow big.pcapng
  anabranch trace flow big.pcapng --keys secrets.txt
          in the terminal
  anabranch trace flow big.pcapng --from 2s --to 2500ms --svg loss.svg
          half a second as SVG for a browser: pointing at an acknowledgement highlights what it acknowledges

A truncated capture is shown up to its end.
Exit codes: 0 the whole capture is shown, 1 a file cannot be written, 2 nothing to show, or the capture is truncated.";

const LIST_EXAMPLES: &str = "\
Examples:
  anabranch trace list big.pcapng
  tcpdump -c 1000 -w - port 9899 | anabranch trace list -

Exit codes: as for `anabranch trace flow`, but an empty list is no error.";

const GAPS_EXAMPLES: &str = "\
Example:
  anabranch trace gaps big.pcapng --conversation 2

Exit codes: as for `anabranch trace flow`.";

const IDLE_EXAMPLES: &str = "\
Example:
  anabranch trace idle big.pcapng --longer 500ms

Exit codes: as for `anabranch trace flow`.";

/// Send files over several network paths at once: SCTP with Concurrent Multipath Transfer, in user space.
#[derive(Parser, Debug)]
#[command(name = "anabranch", version = crate::VERSION, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Verbs of the program.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Receive files and folders
    #[command(after_help = RECV_EXAMPLES)]
    Recv(RecvArguments),
    /// Send files and folders
    #[command(after_help = SEND_EXAMPLES)]
    Send(SendArguments),
    /// Test each uplink of this host against a receiver
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Measure what the paths to another host carry
    #[command(after_help = test::EXAMPLES)]
    Test(TestArguments),
    /// Carry TCP connections of this host through another one, over all paths between them
    #[command(after_help = tunnel::EXAMPLES)]
    Tunnel(TunnelArguments),
    /// Compare several paths together with each path alone, on this machine
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArguments),
    /// Run experiments in the simulator and check claims against them
    #[command(after_help = LAB_EXAMPLES)]
    Lab(LabArguments),
    /// Create two hosts on this machine connected by emulated links, for real programs
    #[cfg(target_os = "linux")]
    #[command(after_help = TESTBED_EXAMPLES)]
    Testbed(TestbedArguments),
    /// Run a program with SCTP sockets in user space
    #[cfg(target_os = "linux")]
    #[command(after_help = run::EXAMPLES)]
    Run(RunArguments),
    /// List the policies and algorithms that --set, --policies and --profile choose from
    #[command(after_help = POLICIES_EXAMPLES)]
    Policies(PoliciesArguments),
    /// List the profiles, or print one as a file for --policies
    #[command(after_help = PROFILES_EXAMPLES)]
    Profiles(ProfilesArguments),
    /// Analyse a packet capture of SCTP or TCP
    #[command(subcommand, after_help = TRACE_EXAMPLES)]
    Trace(TraceVerb),
    /// Print a new private key
    #[command(
        after_help = "Examples:\n  (umask 077; anabranch genkey > server.key)\n\nExit codes: 0 printed, 1 cannot write."
    )]
    Genkey,
    /// Print the public key of the private key on standard input
    #[command(
        after_help = "Examples:\n  anabranch pubkey < server.key\n\nExit codes: 0 printed, 1 cannot read or write, 2 not a key."
    )]
    Pubkey,
    /// Print a shell completion script
    #[command(
        after_help = "Examples:\n  anabranch completions bash > ~/.local/share/bash-completion/completions/anabranch\n\n\
                      Exit codes: 0 printed, 1 cannot write, 2 unknown shell."
    )]
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Write the manual pages, one for each verb, into a folder
    #[command(
        after_help = "Examples:\n  anabranch manual ~/.local/share/man/man1\n  man anabranch-send\n\n\
                      Exit codes: 0 written, 1 cannot write."
    )]
    Manual {
        /// Folder; created if it does not exist
        folder: PathBuf,
    },
}

impl Verb {
    pub(crate) fn output(&self) -> Output {
        match self {
            Self::Recv(arguments) => {
                let output = arguments.output.without_bars(arguments.dashboard.tui);
                output.aside(arguments.is_to_output())
            }
            Self::Send(arguments) => arguments.output.without_bars(arguments.dashboard.tui),
            Self::Check(arguments) => arguments.output,
            Self::Test(arguments) => arguments.output,
            Self::Tunnel(arguments) => arguments.output(),
            Self::Demo(arguments) => arguments.output.without_bars(arguments.dashboard.tui),
            Self::Lab(arguments) => arguments.verb.output(),
            #[cfg(target_os = "linux")]
            Self::Testbed(arguments) => arguments.verb.output(),
            Self::Policies(arguments) => Output::of(arguments.json),
            Self::Profiles(arguments) => Output::of(arguments.json),
            Self::Trace(verb) => Output::of(verb.is_json()),
            #[cfg(target_os = "linux")]
            Self::Run(_) => Output::default(),
            Self::Genkey | Self::Pubkey | Self::Completions { .. } | Self::Manual { .. } => Output::default(),
        }
    }

    /// The title of the live view, and where it is, of verbs that have one.
    pub(crate) fn live_view(&self) -> Option<(&'static str, DashboardArguments)> {
        let (title, arguments) = match self {
            Self::Recv(arguments) => ("anabranch recv", arguments.dashboard.clone()),
            Self::Send(arguments) => ("anabranch send", arguments.dashboard.clone()),
            Self::Tunnel(arguments) => ("anabranch tunnel", arguments.live_view()),
            Self::Demo(arguments) => ("anabranch demo", arguments.dashboard.clone()),
            _ => return None,
        };
        Some((title, arguments))
    }
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// Addresses of a host that runs `anabranch recv`, default port 9899
    #[arg(value_name = "[KEY@]HOST[:PORT],...", value_parser = parse_to)]
    pub(crate) to: PeerAddresses,

    /// Prove who this host is by the private key in this file (see genkey) [default: a new key each time]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// Check a receiver that receives in the clear
    #[arg(long, conflicts_with = "key")]
    pub(crate) insecure: bool,

    /// Uplinks to test: local addresses or devices [default: all devices with a default route]
    #[arg(long, value_name = "IP[:PORT]|DEVICE,...", value_parser = parse_from)]
    pub(crate) from: Option<Origins>,

    /// Wait this long for each answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArguments {
    /// Path: rate, one-way delay, optional jitter and loss rate; repeat for at least two [default: 10Mbit,10ms 40Mbit,30ms]
    #[arg(long = "path", value_name = "RATE,DELAY[~JITTER][,LOSS]", value_parser = parse_path)]
    pub(crate) paths: Vec<ShapedPath>,

    /// Send this file in each run, instead of random bytes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "duration"])]
    pub(crate) file: Option<PathBuf>,

    /// Number of bytes to send in each run
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "duration")]
    pub(crate) size: Option<u64>,

    /// Duration of each run at the upper bound of its goodput; determines the number of bytes
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) duration: Duration,

    /// Add a run in which path N fails half-way for good [default path: the fastest]
    #[arg(long, value_name = "N")]
    pub(crate) cut: Option<Option<usize>>,

    /// Write event logs (docs/event-log.md) to this file, with the number of the run before the extension
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) dashboard: DashboardArguments,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Arguments of `policies`.
#[derive(Args, Debug)]
pub(crate) struct PoliciesArguments {
    /// Print only this policy, such as cc or path-scheduler
    #[arg(value_name = "POLICY")]
    pub(crate) point: Option<String>,

    #[command(flatten)]
    pub(crate) choices: Choices,

    /// Print one JSON object (docs/cli-json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print docs/policies.md
    #[arg(long, conflicts_with = "json", hide = true)]
    pub(crate) markdown: bool,
}

/// Arguments of `profiles`.
#[derive(Args, Debug)]
pub(crate) struct ProfilesArguments {
    /// Print all choices of this profile
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print one JSON object for each profile (docs/cli-json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verbs of `trace`.
#[derive(Subcommand, Debug)]
pub(crate) enum TraceVerb {
    /// List the conversations
    #[command(after_help = LIST_EXAMPLES)]
    List {
        #[command(flatten)]
        capture: CaptureFile,
        /// Print one JSON object (docs/cli-json.md)
        #[arg(long)]
        json: bool,
    },
    /// Draw a flow graph: packets of each path in both directions, and what each acknowledgement acknowledges
    #[command(after_help = FLOW_EXAMPLES)]
    Flow(FlowArguments),
    /// Count what acknowledgements report in gap ack blocks (SCTP) or SACK blocks (TCP)
    #[command(after_help = GAPS_EXAMPLES)]
    Gaps {
        #[command(flatten)]
        capture: Capture,
        /// Print one JSON object (docs/cli-json.md)
        #[arg(long)]
        json: bool,
    },
    /// List the idle periods of each path
    #[command(after_help = IDLE_EXAMPLES)]
    Idle {
        #[command(flatten)]
        capture: Capture,
        /// Shortest idle period to report
        #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration)]
        longer: Duration,
        /// Print one JSON object (docs/cli-json.md)
        #[arg(long)]
        json: bool,
    },
}

impl TraceVerb {
    pub(crate) const fn capture(&self) -> &CaptureFile {
        match self {
            Self::List { capture, .. } => capture,
            Self::Gaps { capture, .. } | Self::Idle { capture, .. } => &capture.whole,
            Self::Flow(arguments) => &arguments.capture.whole,
        }
    }

    const fn is_json(&self) -> bool {
        match self {
            Self::List { json, .. } | Self::Gaps { json, .. } | Self::Idle { json, .. } => *json,
            Self::Flow(_) => false,
        }
    }
}

/// Capture file.
#[derive(Args, Debug)]
pub(crate) struct CaptureFile {
    /// Capture file (pcap or pcapng), or - for standard input
    #[arg(value_name = "CAPTURE")]
    pub(crate) file: PathBuf,

    /// Open encrypted packets with the secrets in this file, which `send` and `recv` have written if SSLKEYLOGFILE named it
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
}

/// Capture file and conversation.
#[derive(Args, Debug)]
pub(crate) struct Capture {
    #[command(flatten)]
    pub(crate) whole: CaptureFile,

    /// Number of the conversation in `anabranch trace list` [default: the one with the most packets]
    #[arg(long, value_name = "N")]
    pub(crate) conversation: Option<usize>,
}

/// Arguments of `trace flow`.
#[derive(Args, Debug)]
pub(crate) struct FlowArguments {
    #[command(flatten)]
    pub(crate) capture: Capture,

    /// Write an SVG to this file instead of text to the terminal
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Start time, after the first packet
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) from: Option<Duration>,

    /// End time, after the first packet
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) to: Option<Duration>,

    /// Maximum number of packets to draw
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) rows: NonZeroUsize,
}

/// Prints the answer of clap: help in full, errors on one line.
pub(crate) fn print_answer(answer: &clap::Error) -> ExitCode {
    if answer.use_stderr()
        && answer.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        remark(one_line(&answer.to_string()));
    } else {
        // Fails only if the terminal is closed.
        let _ = answer.print();
    }
    ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2))
}

/// The error and its hints on one line, without the usage.
fn one_line(text: &str) -> String {
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"));
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    format!("{}; see --help", lines.join(" "))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn refusal(line: &str) -> String {
        let refused = Arguments::try_parse_from(line.split_whitespace()).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        one_line(&refused.to_string())
    }

    #[test]
    fn argument_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn invalid_arguments_give_one_line_naming_the_argument() {
        for (line, culprit) in [
            ("anabranch send f", "--to"),
            ("anabranch send - --to ::1", "--name"),
            ("anabranch send f --to a:b", "a:b"),
            ("anabranch recv . --listen host", "host"),
            ("anabranch recv . --profile quic", "quic"),
            ("anabranch recv . --set cc", "KEY=VALUE"),
            ("anabranch demo --path 1Mbit", "RATE,DELAY"),
            ("anabranch demo --size 1MB --file f", "--file"),
            ("anabranch sned", "sned"),
            ("anabranch recv . --json --quiet", "--quiet"),
        ] {
            let text = refusal(line);
            assert!(
                text.contains(culprit) && !text.contains('\n') && text.starts_with("error: "),
                "{text}"
            );
        }
    }
}
