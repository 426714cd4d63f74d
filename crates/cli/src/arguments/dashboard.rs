//! Arguments of the live view, of all verbs that have one.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::parse::parse_dashboard;

/// Where the live view is, and who may look.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DashboardArguments {
    /// Serve a page that shows all paths live, and metrics (docs/dashboard.md) [default address: a free port of 127.0.0.1]
    #[arg(long, value_name = "IP[:PORT]|PORT", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0", value_parser = parse_dashboard)]
    pub(crate) dashboard: Option<SocketAddr>,

    /// Use the token in this file for the live view, so that its address stays the same [default: a new one each time]
    #[arg(long, value_name = "FILE", requires = "dashboard")]
    pub(crate) dashboard_token: Option<PathBuf>,

    /// Show all paths live in this terminal (docs/dashboard.md); q ends, ? lists the keys
    #[arg(long)]
    pub(crate) tui: bool,

    /// Of verbs that run for long: where the history is kept.
    #[arg(skip)]
    pub(crate) history: Option<PathBuf>,
}
