//! `anabranch test`: measures what the paths between two hosts carry. docs/test.md describes the measurements and the protocol.
//!
//! | file | question |
//! |---|---|
//! | `task.rs` | what is to be measured? |
//! | `control.rs` | what do client and server tell each other? |
//! | `client.rs`, `server.rs` | who does what when? |
//! | `session.rs` | what do both ends do during the measurement? |
//! | `sending.rs`, `traffic.rs` | when is the next message sent? |
//! | `meter.rs`, `histogram.rs` | what has been sent and received so far, and how late? |
//! | `clock.rs` | how do the clocks of both ends differ? |
//! | `figures.rs`, `report.rs` | what is reported? |

mod client;
mod clock;
mod control;
mod figures;
mod histogram;
mod meter;
mod report;
mod sending;
mod server;
mod session;
mod task;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use anabranch::AssociationConfig;

use crate::arguments::TestArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Reporter;
use crate::settings::Settings;

/// Default port, of `recv` too: firewalls that let transfers through let tests through.
const PORT: u16 = 9899;

/// How long the results of the server may take to arrive.
const REPORT: Duration = Duration::from_secs(5);

/// How long an end waits for the other to end an association.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves tests, or carries one out.
pub(crate) async fn run(
    arguments: TestArguments,
    reporter: &Arc<dyn Reporter>,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    match arguments.to.clone() {
        Some(to) => client::run(arguments, to, &**reporter, interrupt).await,
        None => server::run(arguments, &**reporter, interrupt).await,
    }
}

/// Associations of tests: with any message, stream and reliability that a task may name.
fn association_config(settings: &Settings) -> Result<AssociationConfig, Failure> {
    let config = settings.association_config()?;
    Ok(AssociationConfig {
        partial_reliability: true,
        max_message: task::LONGEST as usize,
        partial_delivery_point: task::LONGEST as usize,
        ..config
    })
}
