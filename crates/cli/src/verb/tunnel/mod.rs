//! `anabranch tunnel`: TCP connections of this host through another one, over all paths between them. docs/tunnel.md describes it.
//!
//! | file | question |
//! |---|---|
//! | `config` | what does the file say? |
//! | `init.rs`, `check.rs` | how does a user come to a file, and what does it do? |
//! | `state.rs` | which tunnels are there at the moment? |
//! | `server.rs`, `client.rs` | how do tunnels come up? |
//! | `preferences.rs` | how is each uplink to be used? |
//! | `carry.rs` | what does one tunnel do until it ends? |
//! | `entrances.rs` | where do programs connect to? |
//! | `tun` | how do packets of this host get into a tunnel? |
//! | `status.rs` | what is told to `anabranch tunnel status`? |

mod carry;
mod check;
mod client;
mod config;
mod entrances;
mod init;
mod preferences;
mod server;
mod state;
mod status;
#[cfg(target_os = "linux")]
mod tun;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinSet;

use self::config::Config;
use self::state::State;
use crate::arguments::{TunnelArguments, TunnelVerb};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::keys;
use crate::output::{Event, Reporter};
use crate::service_manager::{self, ServiceState};

/// What all parts of the running program share.
#[derive(Clone, Debug)]
struct Shared {
    config: Arc<Config>,
    state: Arc<State>,
    reporter: Arc<dyn Reporter>,
}

impl Shared {
    fn warn(&self, message: &str) {
        self.reporter.report(&Event::Warning {
            transfer: None,
            path: None,
            message,
        });
    }
}

/// Runs a tunnel, or one of the verbs around it.
pub(crate) async fn run(arguments: TunnelArguments, reporter: &Arc<dyn Reporter>) -> Result<(), Failure> {
    match (arguments.verb, arguments.file) {
        (Some(TunnelVerb::Init(arguments)), _) => init::run(&arguments),
        (Some(TunnelVerb::Check { file }), _) => check::run(&load(&file)?),
        (Some(TunnelVerb::Status { file, form }), _) => status::show(&file, form.is_json()).await,
        (None, Some(file)) => up(load(&file)?, reporter).await,
        (None, None) => Err(Failure::usage(
            "name the file of the tunnel; `anabranch tunnel init` writes one",
        )),
    }
}

fn load(file: &Path) -> Result<Config, Failure> {
    Config::load(file).map_err(Failure::usage)
}

/// Runs the tunnels of a file until interrupted.
async fn up(config: Config, reporter: &Arc<dyn Reporter>) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen()?;
    let shared = Shared {
        state: Arc::new(State::new(&config)),
        config: Arc::new(config),
        reporter: Arc::clone(reporter),
    };
    for text in shared.config.warnings.iter().chain(&keys::key_log_warning()) {
        shared.warn(text);
    }
    if let Some(live) = shared.reporter.live() {
        let (config, state) = (Arc::clone(&shared.config), Arc::clone(&shared.state));
        live.set_status(move || status::line(&config, &state));
    }
    raise_open_files();
    let mut parts = JoinSet::new();
    let result = interrupt.or(all_parts(&shared, &mut parts)).await;
    service_manager::tell(ServiceState::Stopping);
    // What is dropped tells its peer by an ABORT, which the endpoints send before they are closed.
    parts.shutdown().await;
    shared.state.close_endpoints().await;
    #[cfg(target_os = "linux")]
    match &result {
        Err(Failure::Interrupted) => tun::close(&shared),
        _ => tun::leave(&shared),
    }
    result.map(|never| match never {})
}

/// Permits as many open files as the system does: each connection is one, and many systems begin with 1,024.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Without it, fewer connections are possible.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

/// Starts everything, and waits for the first part that fails.
async fn all_parts(
    shared: &Shared,
    parts: &mut JoinSet<Result<Infallible, Failure>>,
) -> Result<Infallible, Failure> {
    status::listen(shared, parts);
    // Before the first association: then the program's user need not wait to try it.
    entrances::open(shared, parts).await?;
    // Before the first association, so that its sockets are bound to uplinks.
    #[cfg(target_os = "linux")]
    tun::open(shared, parts).await?;
    if let Some(listen) = &shared.config.listen {
        let endpoint = server::open(shared, listen).await?;
        parts.spawn(server::run(shared.clone(), endpoint));
    }
    for (peer, _) in shared.config.called() {
        let shared = shared.clone();
        parts.spawn(async move { Ok(client::run(shared, peer).await) });
    }
    service_manager::tell(ServiceState::Ready);
    match parts.join_next().await {
        Some(ended) => ended.map_err(Failure::work)?,
        None => Err(Failure::work("there is nothing to do")),
    }
}
