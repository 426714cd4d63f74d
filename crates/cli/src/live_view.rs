//! Live view of a running verb: a page that the program itself serves. Where is it, and who may look?

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anabranch_dashboard::{Dashboard, Note, Server, Severity, Token, url};

use crate::arguments::DashboardArguments;
use crate::failure::Failure;
use crate::network::bind_failure;
use crate::output::{Event, Live, Reporter};

/// Runs a verb with its live view, if the user wants one.
pub(crate) async fn with(
    arguments: DashboardArguments,
    title: &str,
    reporter: &Arc<dyn Reporter>,
    verb: impl AsyncFnOnce(&Arc<dyn Reporter>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(address) = arguments.dashboard else {
        return verb(reporter).await;
    };
    let token = token(arguments.dashboard_token.as_deref())?;
    let dashboard = Dashboard::new(title, crate::VERSION);
    let live = Arc::new(Live::new(Arc::clone(reporter), dashboard.clone()));
    let status = Arc::clone(&live);
    let server = Server::start(address, dashboard.clone(), token.clone(), move || status.status()).await;
    let server = server.map_err(|error| bind_failure(address, &error))?;
    reporter.report(&Event::Dashboard {
        url: &url(server.address(), &token),
    });
    warn_of_others(server.address(), &**reporter);
    let reporter: Arc<dyn Reporter> = live;
    let result = verb(&reporter).await;
    if let Err(failure) = &result {
        dashboard.note(Note {
            severity: Severity::Error,
            transfer: None,
            path: None,
            text: failure.to_string(),
        });
    }
    server.close().await;
    result
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
