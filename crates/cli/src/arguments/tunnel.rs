//! Arguments of `anabranch tunnel` and its verbs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DashboardArguments;
use crate::output::{Form, Output};
use crate::parse::{PeerAddresses, parse_to};

pub(super) const EXAMPLES: &str = "\
Examples:
  anabranch tunnel init --server 192.0.2.1 --server 198.51.100.1 office
          write office/server.conf and office/client.conf, each with its key
  anabranch tunnel office/server.conf
          on the server; then, on the client:
  anabranch tunnel office/client.conf
          and any program through it, over all uplinks of the client:
  curl --proxy socks5h://127.0.0.1:1080 https://example.org/
  anabranch tunnel status office/client.conf
  anabranch tunnel office/client.conf --dashboard
          with a page that shows the paths live; --tui shows them in the terminal

Programs connect to SOCKS5 or HTTP CONNECT proxies, or to forwarded ports, on this host; the far side makes the connections. Needs no privileges, except for a TUN device (init --tun), by which all programs of the client use the tunnel without knowing it. Everything between the two hosts is encrypted, and only peers that the file names are served. docs/tunnel.md explains the file.
Exit codes: 1 failed, 2 invalid arguments or file, 130 interrupted.";

const INIT_EXAMPLES: &str = "\
Examples:
  anabranch tunnel init --server 192.0.2.1 --server 198.51.100.1 office
  anabranch tunnel init --server server.example:9900 office
  anabranch tunnel init office
          on the server itself: its addresses are found
  anabranch tunnel init --tun --server 192.0.2.1 office
          the client, as root, will send everything through the server

Existing files are not overwritten.
Exit codes: 0 written, 1 cannot write, 2 invalid arguments, or a file exists.";

const CHECK_EXAMPLES: &str = "\
Examples:
  anabranch tunnel check office/client.conf

Exit codes: 0 the file is valid, 1 cannot write, 2 the file is not valid; the error names the line.";

const STATUS_EXAMPLES: &str = "\
Examples:
  anabranch tunnel status office/client.conf
  anabranch tunnel status office/client.conf --json

Exit codes: 0 shown, 1 the tunnel does not run or cannot be asked, 2 invalid arguments.";

const RELOAD_EXAMPLES: &str = "\
Examples:
  anabranch tunnel reload office/server.conf

New peers are accepted at once, removed ones lose their associations. SIGHUP does the same.
Exit codes: 0 read; what needs a restart is named, 1 the tunnel does not run or cannot be asked, 2 the file is not valid, and nothing has changed.";

/// Arguments of `tunnel`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TunnelArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<TunnelVerb>,

    /// Configuration file
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) dashboard: DashboardArguments,

    /// Keep the history of the live view in this file, so that it goes on after a restart; with --dashboard or --tui
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

impl TunnelArguments {
    /// Its live view.
    pub(crate) fn live_view(&self) -> DashboardArguments {
        DashboardArguments {
            history: self.history.clone(),
            ..self.dashboard.clone()
        }
    }

    /// How the verb reports.
    pub(crate) fn output(&self) -> Output {
        match &self.verb {
            Some(TunnelVerb::Status { form, .. } | TunnelVerb::Reload { form, .. }) => {
                Output::of(form.is_json())
            }
            Some(TunnelVerb::Init(_) | TunnelVerb::Check { .. }) => Output::default(),
            None => self.output.without_bars(self.dashboard.tui),
        }
    }
}

/// Verbs of `tunnel`.
#[derive(Subcommand, Debug)]
pub(crate) enum TunnelVerb {
    /// Write the files of a server and a client that know each other
    #[command(after_help = INIT_EXAMPLES)]
    Init(TunnelInitArguments),
    /// Say what a file would do
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        /// Configuration file
        file: PathBuf,
    },
    /// Show the peers and paths of a running tunnel
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// Configuration file that it runs with
        file: PathBuf,
        #[command(flatten)]
        form: Form,
    },
    /// Have a running tunnel read its file again
    #[command(after_help = RELOAD_EXAMPLES)]
    Reload {
        /// Configuration file that it runs with
        file: PathBuf,
        #[command(flatten)]
        form: Form,
    },
}

/// Arguments of `tunnel init`.
#[derive(Args, Debug)]
pub(crate) struct TunnelInitArguments {
    /// Addresses at which the client reaches the server, default port 9899; repeatable [default: those of this host]
    #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_server)]
    pub(crate) server: Vec<PeerAddresses>,

    /// Have the client route everything through the server by a TUN device, which needs root there
    #[arg(long)]
    pub(crate) tun: bool,

    /// Folder to write into; created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

fn parse_server(text: &str) -> Result<PeerAddresses, String> {
    let addresses = parse_to(text)?;
    match addresses.key {
        Some(_) => Err("a key is made; give the address alone".to_owned()),
        None => Ok(addresses),
    }
}
