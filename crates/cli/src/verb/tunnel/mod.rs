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
//! | `quota.rs` | how much has each peer carried, and what if that is too much? |
//! | `tun` | how do packets of this host get into a tunnel? |
//! | `reload.rs` | what if the file is read again? |
//! | `status.rs` | what is told to `anabranch tunnel status`? |

mod carry;
mod check;
mod client;
mod config;
mod entrances;
mod init;
mod preferences;
mod quota;
mod reload;
mod server;
mod state;
mod status;
#[cfg(target_os = "linux")]
mod tun;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use self::config::Config;
use self::reload::{Asked, Changing};
use self::state::State;
use crate::arguments::{TunnelArguments, TunnelVerb};
use crate::failure::Failure;
use crate::interrupt::{Hangup, Interrupt};
use crate::keys;
use crate::output::{Event, Reporter};
use crate::service_manager::{self, ServiceState};

/// Requests for a reload that wait.
const REQUESTS: usize = 8;

/// What all parts of the running program share.
#[derive(Clone, Debug)]
struct Shared {
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
        (Some(TunnelVerb::Reload { file, form }), _) => status::reload(&file, form.is_json()).await,
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
    let (mut interrupt, hangup) = (Interrupt::without_hangup()?, Hangup::listen()?);
    let usage = quota::load(&config.file);
    let shared = Shared {
        state: Arc::new(State::new(config, usage.as_ref().unwrap_or(&BTreeMap::new()))),
        reporter: Arc::clone(reporter),
    };
    if let Err(text) = usage {
        shared.warn(&text);
    }
    for text in shared
        .state
        .config()
        .warnings
        .iter()
        .chain(&keys::key_log_warning())
    {
        shared.warn(text);
    }
    if let Some(live) = shared.reporter.live() {
        let state = Arc::clone(&shared.state);
        live.set_status(move || status::line(&state));
    }
    raise_open_files();
    let (ask, asked) = mpsc::channel(REQUESTS);
    let (mut parts, mut changing) = (JoinSet::new(), Changing::new(asked));
    let mut accepted = JoinSet::new();
    parts.spawn(reload_after(hangup, ask.clone()));
    parts.spawn(quota::run(shared.clone()));
    status::listen(&shared, ask, &mut parts);
    let result = interrupt
        .or(all_parts(&shared, &mut parts, &mut accepted, &mut changing))
        .await;
    service_manager::tell(ServiceState::Stopping);
    // What is dropped tells its peer by an ABORT, which the endpoints send before they are closed.
    parts.shutdown().await;
    accepted.shutdown().await;
    changing.shutdown().await;
    quota::store(&shared);
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

/// Starts everything, and waits for the first part that fails. `accepted` gets the tunnels that peers set up.
async fn all_parts(
    shared: &Shared,
    parts: &mut JoinSet<Result<Infallible, Failure>>,
    accepted: &mut JoinSet<()>,
    changing: &mut Changing,
) -> Result<Infallible, Failure> {
    let config = shared.state.config();
    // Before the first association: then the program's user need not wait to try it.
    let prepared = changing.entrances.prepare(&config.entrances)?;
    changing.entrances.replace(shared, prepared);
    // Before the first association, so that its sockets are bound to uplinks.
    #[cfg(target_os = "linux")]
    tun::open(shared, parts).await?;
    let endpoint = match &config.listen {
        Some(listen) => Some(server::open(shared, listen).await?),
        None => None,
    };
    let accepting = async {
        match &endpoint {
            Some(endpoint) => server::run(shared, endpoint, accepted).await,
            None => pending().await,
        }
    };
    changing.call(shared, shared.state.peers());
    service_manager::tell(ServiceState::Ready);
    tokio::select! {
        failed = accepting => failed,
        Some(ended) = parts.join_next() => ended.map_err(Failure::work)?,
        failed = changing.run(shared) => failed,
    }
}

/// Asks for a reload after each SIGHUP, and ends when the terminal of the program is gone.
async fn reload_after(mut hangup: Hangup, ask: mpsc::Sender<Asked>) -> Result<Infallible, Failure> {
    loop {
        hangup.recv().await?;
        let (asked, _) = oneshot::channel();
        // If many wait, one more does not matter.
        let _ = ask.try_send(asked);
    }
}
