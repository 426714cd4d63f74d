//! What can be asked of the program? Its verbs with their options.

#[cfg(test)]
mod documented;
mod lab;
#[cfg(target_os = "linux")]
mod testbed;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use lab::{
    LabArguments, LabClaimsArguments, LabCompareArguments, LabListArguments, LabReportArguments,
    LabRunArguments, LabShowArguments, LabVerb, PlanArguments,
};

#[cfg(target_os = "linux")]
pub(crate) use testbed::{TestbedArguments, TestbedDownArguments, TestbedUpArguments, TestbedVerb};

use crate::output::{Output, remark};
use crate::parse::{
    Locals, Places, ShapedPath, parse_duration, parse_from, parse_listen, parse_path, parse_size, parse_to,
};
use crate::settings::{Choices, Settings};

const EXAMPLES: &str = "\
Examples:
  anabranch demo
          two paths together and each of them alone, on this machine
  anabranch recv inbox
          on one host; then, on another one with a link or two of its own:
  anabranch send big.iso --to 192.0.2.1,198.51.100.1

`anabranch <COMMAND> --help` has more of them, and the exit codes.";

const LAB_EXAMPLES: &str = "\
Examples:
  anabranch lab list
  anabranch lab run experiments/sar-1.toml --quick

`anabranch lab <COMMAND> --help` has more of them, and the exit codes.";

const TESTBED_EXAMPLES: &str = "\
Examples:
  anabranch testbed up --path 10Mbit,1ms --path 40Mbit,20ms
  anabranch testbed down

`anabranch testbed <COMMAND> --help` has more of them, and the exit codes.";

const TRACE_EXAMPLES: &str = "\
Examples:
  anabranch trace list big.pcapng
  anabranch trace flow big.pcapng --from 2s --to 2500ms --svg loss.svg

`anabranch trace <COMMAND> --help` has more of them, and the exit codes.";

const SEND_EXAMPLES: &str = "\
Examples:
  anabranch send big.iso --to 192.0.2.1
          to one address; the peer may tell more of them
  anabranch send big.iso --to 192.0.2.1,198.51.100.1
          to both addresses of a server, over both at once
  anabranch send big.iso --to server.example:9900 --from 192.168.1.5,10.0.0.7
          from both uplinks of this host
  tar c folder | anabranch send - --name folder.tar --to 192.0.2.1
          what a pipe gives

The receiver confirms the SHA-256 of what it has stored: exit code 0 means that the file is there.
Exit codes: 0 stored, 1 not stored or not known to be, 2 wrong arguments, 130 interrupted.
SCTP does not encrypt: what others must not read needs a secure layer below, such as a VPN.";

const RECV_EXAMPLES: &str = "\
Examples:
  anabranch recv downloads
          take files at all addresses of this host, port 9899, until Ctrl-C
  anabranch recv --once --listen 192.0.2.1,198.51.100.1 .
          take one file, over these two addresses
  anabranch recv --json --max-size 1GB downloads
          for programs

A file appears under its name only when it is complete and on the disk, with the sender's SHA-256. A file that exists is not overwritten without --force: the sender is told so before it sends.
Anybody who reaches the port can send files: use --listen and a firewall to choose who that is.
Exit codes: 0 stored (--once), 1 failed, 2 wrong arguments, 130 interrupted.";

const DEMO_EXAMPLES: &str = "\
Examples:
  anabranch demo
          10 Mbit/s with 10 ms and 40 Mbit/s with 30 ms; takes a minute
  anabranch demo --path 5Mbit,20ms --path 20Mbit,60ms,0.1% --duration 5s
          other paths, shorter runs
  anabranch demo --cut
          also cuts the fastest path when half of the file has arrived
  anabranch demo --set path-scheduler=round-robin
          another scheduler

No privilege is needed: the links are emulated in this process, around sockets on 127.0.0.1, 127.0.0.2, ...
Exit codes: 0 if all paths together are not slower than the best of them alone and every SHA-256 is equal, else 1; 2 wrong arguments; 130 interrupted.";

const POLICIES_EXAMPLES: &str = "\
Examples:
  anabranch policies
          all questions with their answers, and a star at what the default profile chooses
  anabranch policies path-scheduler
          one of them
  anabranch policies --profile freebsd-2017 --set cc=lia
          with stars at the choices that this makes
  anabranch policies --json
          for programs

Each line is an assignment that --set takes.
Exit codes: 0 printed, 1 not, 2 no such question, profile or choice.";

const PROFILES_EXAMPLES: &str = "\
Examples:
  anabranch profiles
          the list
  anabranch profiles dre-2010 > mine.policies
          all choices of one; change them, and use the file
  anabranch send big.iso --to 192.0.2.1 --policies mine.policies

Exit codes: 0 printed, 1 not, 2 no such profile.";

const FLOW_EXAMPLES: &str = "\
Examples:
  anabranch trace flow big.pcapng
          in the terminal
  anabranch trace flow big.pcapng --from 2s --to 2500ms --svg loss.svg
          half a second as a picture for a browser: pointing at an acknowledgement marks what it covers

A capture that is cut off is shown up to there.
Exit codes: 0 the whole capture is shown, 1 a file cannot be written, 2 there is nothing to show, or the capture is cut off.";

const LIST_EXAMPLES: &str = "\
Examples:
  anabranch trace list big.pcapng
  tcpdump -c 1000 -w - port 9899 | anabranch trace list -

Exit codes: as of `anabranch trace flow`, but an empty list is one, too.";

const GAPS_EXAMPLES: &str = "\
Example:
  anabranch trace gaps big.pcapng --conversation 2

Exit codes: as of `anabranch trace flow`.";

const IDLE_EXAMPLES: &str = "\
Example:
  anabranch trace idle big.pcapng --longer 500ms

Exit codes: as of `anabranch trace flow`.";

/// Send files over several network paths at once: SCTP with Concurrent Multipath Transfer, in user space.
#[derive(Parser, Debug)]
#[command(name = "anabranch", version = crate::VERSION, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Receive files
    #[command(after_help = RECV_EXAMPLES)]
    Recv(RecvArguments),
    /// Send a file
    #[command(after_help = SEND_EXAMPLES)]
    Send(SendArguments),
    /// Compare several paths together with each of them alone, on this machine
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArguments),
    /// Run experiments on the simulated network, and hold them against claims
    #[command(after_help = LAB_EXAMPLES)]
    Lab(LabArguments),
    /// Two hosts on this machine with links of the simulator between them, for real programs
    #[cfg(target_os = "linux")]
    #[command(after_help = TESTBED_EXAMPLES)]
    Testbed(TestbedArguments),
    /// List the mechanisms that --set, --policies and --profile choose from
    #[command(after_help = POLICIES_EXAMPLES)]
    Policies(PoliciesArguments),
    /// List the profiles, or print one of them as a file for --policies
    #[command(after_help = PROFILES_EXAMPLES)]
    Profiles(ProfilesArguments),
    /// Show what a capture of SCTP or TCP holds
    #[command(subcommand, after_help = TRACE_EXAMPLES)]
    Trace(TraceVerb),
    /// Print a script that completes commands in a shell
    #[command(
        after_help = "Examples:\n  anabranch completions bash > ~/.local/share/bash-completion/completions/anabranch\n\n\
                      Exit codes: 0 printed, 1 not, 2 no such shell."
    )]
    Completions {
        /// For which shell
        shell: Shell,
    },
}

impl Verb {
    pub(crate) fn output(&self) -> Output {
        match self {
            Self::Recv(arguments) => arguments.output,
            Self::Send(arguments) => arguments.output,
            Self::Demo(arguments) => arguments.output,
            Self::Lab(arguments) => arguments.verb.output(),
            #[cfg(target_os = "linux")]
            Self::Testbed(arguments) => arguments.verb.output(),
            Self::Policies(arguments) => Output::of(arguments.json),
            Self::Profiles(arguments) => Output::of(arguments.json),
            Self::Trace(verb) => Output::of(verb.is_json()),
            Self::Completions { .. } => Output::default(),
        }
    }
}

/// Of `recv`.
#[derive(Args, Debug)]
pub(crate) struct RecvArguments {
    /// Folder to store files in; it must exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Addresses to listen on; port 9899 unless given [default: all addresses of this host]
    #[arg(long, value_name = "IP[:PORT],...", value_parser = parse_listen)]
    pub(crate) listen: Option<Locals>,

    /// End after the first transfer
    #[arg(long)]
    pub(crate) once: bool,

    /// Overwrite files that exist
    #[arg(long)]
    pub(crate) force: bool,

    /// Refuse larger files
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,

    /// Give up a transfer when nothing is heard from the sender for so long
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `send`.
#[derive(Args, Debug)]
pub(crate) struct SendArguments {
    /// File to send, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Addresses of the receiver; port 9899 unless given
    #[arg(long, value_name = "HOST[:PORT],...", value_parser = parse_to)]
    pub(crate) to: Places,

    /// Addresses of this host to send from [default: the system chooses for each address of the receiver]
    #[arg(long, value_name = "IP[:PORT],...", value_parser = parse_from)]
    pub(crate) from: Option<Locals>,

    /// Name for the receiver, if not that of the file
    #[arg(long, required_if_eq("file", "-"))]
    pub(crate) name: Option<String>,

    /// Give up when nothing is heard from the receiver for so long
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,

    /// Log events into this file, as docs/event-log.md describes them
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArguments {
    /// A path: rate, delay in one direction, and loss if any; at least two [default: 10Mbit,10ms 40Mbit,30ms]
    #[arg(long = "path", value_name = "RATE,DELAY[,LOSS]", value_parser = parse_path)]
    pub(crate) paths: Vec<ShapedPath>,

    /// Send this file in each run, instead of random bytes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "duration"])]
    pub(crate) file: Option<PathBuf>,

    /// Send so many bytes in each run
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "duration")]
    pub(crate) size: Option<u64>,

    /// Size each run so that it would take so long at the ceiling
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) duration: Duration,

    /// One more run, in which path N is cut half-way and stays cut; without N, the fastest
    #[arg(long, value_name = "N")]
    pub(crate) cut: Option<Option<usize>>,

    /// Log events into this file, as docs/event-log.md describes them; the number of the run goes before its ending
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of `policies`.
#[derive(Args, Debug)]
pub(crate) struct PoliciesArguments {
    /// Only this question, such as cc or path-scheduler
    #[arg(value_name = "QUESTION")]
    pub(crate) point: Option<String>,

    #[command(flatten)]
    pub(crate) choices: Choices,

    /// Print one JSON object (docs/cli-json.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the page of the documentation
    #[arg(long, conflicts_with = "json", hide = true)]
    pub(crate) markdown: bool,
}

/// Of `profiles`.
#[derive(Args, Debug)]
pub(crate) struct ProfilesArguments {
    /// Print all choices of this one
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print one JSON object for each profile (docs/cli-json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with a capture.
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
    /// Draw a flow graph: a column for each direction, a lane for each path, what each acknowledgement covers
    #[command(after_help = FLOW_EXAMPLES)]
    Flow(FlowArguments),
    /// Count how much acknowledgements report in gap or SACK blocks
    #[command(after_help = GAPS_EXAMPLES)]
    Gaps {
        #[command(flatten)]
        capture: Capture,
        /// Print one JSON object (docs/cli-json.md)
        #[arg(long)]
        json: bool,
    },
    /// Find the pauses of each path
    #[command(after_help = IDLE_EXAMPLES)]
    Idle {
        #[command(flatten)]
        capture: Capture,
        /// Shortest pause that counts
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

/// Which capture.
#[derive(Args, Debug)]
pub(crate) struct CaptureFile {
    /// File in the format pcap or pcapng, or - for standard input
    #[arg(value_name = "CAPTURE")]
    pub(crate) file: PathBuf,
}

/// Which part of which capture.
#[derive(Args, Debug)]
pub(crate) struct Capture {
    #[command(flatten)]
    pub(crate) whole: CaptureFile,

    /// Number of the conversation in `anabranch trace list` [default: the one with the most segments]
    #[arg(long, value_name = "N")]
    pub(crate) conversation: Option<usize>,
}

/// Of `trace flow`.
#[derive(Args, Debug)]
pub(crate) struct FlowArguments {
    #[command(flatten)]
    pub(crate) capture: Capture,

    /// Write a picture to this file, instead of letters to the terminal
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Begin so long after the first segment
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) from: Option<Duration>,

    /// End so long after the first segment
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) to: Option<Duration>,

    /// Draw so many segments at most
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) rows: NonZeroUsize,
}

/// Says what clap has to say: help at length, errors in one line.
pub(crate) fn answer(answer: &clap::Error) -> ExitCode {
    if answer.use_stderr()
        && answer.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        remark(one_line(&answer.to_string()));
    } else {
        // Only a closed terminal does not take it.
        let _ = answer.print();
    }
    ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2))
}

/// The error and the tips; the usage is in the help.
fn one_line(text: &str) -> String {
    let said = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"));
    let said: Vec<&str> = said
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    format!("{}; see --help", said.join(" "))
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
    fn the_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_refusal_is_one_line_that_names_the_culprit() {
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
