//! Live view of a running verb: a page that the program itself serves, or its terminal. Where is it, and who may look?

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anabranch_dashboard::{Dashboard, Note, Server, Severity, Token, url};

use crate::arguments::DashboardArguments;
use crate::failure::Failure;
use crate::history_file::HistoryFile;
use crate::network::bind_failure;
use crate::output::{Event, Live, Output, Reporter};
use crate::tui::{self, Tui};

/// Runs a verb with its live view, if the user wants one.
pub(crate) async fn with(
    arguments: DashboardArguments,
    output: Output,
    title: &str,
    reporter: &Arc<dyn Reporter>,
    verb: impl AsyncFnOnce(&Arc<dyn Reporter>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if arguments.dashboard.is_none() && !arguments.tui {
        if arguments.history.is_some() {
            return Err(Failure::usage(
                "--history keeps what the live view shows; add --dashboard or --tui",
            ));
        }
        return verb(reporter).await;
    }
    if arguments.tui {
        tui::check(output)?;
    }
    let dashboard = Dashboard::new(title, crate::VERSION);
    let tui = arguments
        .tui
        .then(|| Tui::new(dashboard.clone(), Arc::clone(reporter)))
        .transpose()
        .map_err(Failure::work)?;
    let live = Arc::new(Live::new(Arc::clone(reporter), dashboard.clone(), tui.clone()));
    let server = match arguments.dashboard {
        Some(address) => Some(serve(address, arguments.dashboard_token.as_deref(), &live, &dashboard).await?),
        None => None,
    };
    let reporter: Arc<dyn Reporter> = live;
    let history = arguments
        .history
        .map(|file| HistoryFile::open(file, dashboard.clone(), Arc::clone(&reporter)));
    let result = match &history {
        Some(history) => tokio::select! {
            result = verb(&reporter) => result,
            never = history.keep() => match never {},
        },
        None => verb(&reporter).await,
    };
    if let Err(failure) = &result {
        dashboard.note(Note {
            severity: Severity::Error,
            transfer: None,
            path: None,
            text: failure.to_string(),
        });
    }
    if let Some(history) = history {
        history.write();
    }
    if let Some(tui) = tui {
        tui.end().await;
    }
    if let Some(server) = server {
        server.close().await;
    }
    result
}

/// Serves the page, and tells where.
async fn serve(
    address: SocketAddr,
    token_file: Option<&Path>,
    live: &Arc<Live>,
    dashboard: &Dashboard,
) -> Result<Server, Failure> {
    let token = token(token_file)?;
    let status = Arc::clone(live);
    let server = Server::start(address, dashboard.clone(), token.clone(), move || status.status()).await;
    let server = server.map_err(|error| bind_failure(address, &error))?;
    live.report(&Event::Dashboard {
        url: &url(server.address(), &token),
    });
    warn_of_others(server.address(), &**live);
    Ok(server)
}

fn token(file: Option<&Path>) -> Result<Token, Failure> {
    let Some(file) = file else {
        return Token::generate().map_err(Failure::work);
    };
    let refused = |error: String| Failure::Usage(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    Token::parse(&text).map_err(|error| refused(error.to_string()))
}

fn warn_of_others(address: SocketAddr, reporter: &dyn Reporter) {
    if address.ip().is_loopback() {
        return;
    }
    let message = format!(
        "the live view at {address} is not on a loopback address, and its HTTP is not encrypted: others on the way can read it, and its token"
    );
    reporter.report(&Event::Warning {
        transfer: None,
        path: None,
        message: &message,
    });
}
