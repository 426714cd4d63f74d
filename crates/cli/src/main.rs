//! Command-line program: file transfer over several paths (`send`, `recv`), a test of uplinks (`check`) and of what they carry (`test`), a demonstration
//! (`demo`), TCP connections through another host (`tunnel`), keys (`genkey`, `pubkey`), sockets for other programs (`run`), and experiments in the simulator (`lab`).
//!
//! | folder | contents |
//! |---|---|
//! | `arguments` | command-line arguments |
//! | `parse` | parsers for addresses, quantities and links |
//! | `verb` | implementation of each verb |
//! | `transfer` | file transfer protocol |
//! | `output` | text and JSON output |
//! | `tui` | the live view in a terminal |

mod arguments;
mod certificates;
mod event_log;
mod failure;
mod first_use;
mod history_file;
mod interrupt;
mod kept_file;
mod keys;
mod known_peers;
mod listening;
mod live_view;
mod network;
mod output;
mod parse;
mod same_file;
mod service_manager;
mod settings;
mod transfer;
mod tui;
mod uplinks;
mod verb;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;

use arguments::{Arguments, Verb};
use failure::Failure;
use interrupt::Interrupt;
use output::{Event, Reporter};

/// Version of the program, with the commit that it was built from if known.
const VERSION: &str = env!("ANABRANCH_VERSION");
/// Commit that the program was built from; empty if unknown.
const COMMIT: &str = env!("ANABRANCH_COMMIT");

/// Interval at which the program checks whether its last lines were read.
const DRAIN_TIME: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => return arguments::print_answer(&answer),
    };
    let reporter = arguments.verb.output().reporter();
    let failure = run(arguments.verb, &reporter).err();
    if let Some(failure) = &failure {
        let message = failure.to_string();
        reporter.report(&Event::Error {
            transfer: None,
            message: &message,
            exit_code: Some(failure.exit_code()),
        });
    }
    let is_drained = reporter.drained(DRAIN_TIME);
    match failure {
        Some(Failure::Interrupted) => {}
        _ if is_drained => {}
        _ => drain(&*reporter),
    }
    ExitCode::from(failure.as_ref().map_or(0, Failure::exit_code))
}

/// Waits until the reader has read all output or the user interrupts.
fn drain(reporter: &dyn Reporter) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let waiting = async {
        let mut interrupt = Interrupt::listen()?;
        let drained = async {
            while !reporter.drained(Duration::ZERO) {
                tokio::time::sleep(DRAIN_TIME).await;
            }
            Ok(())
        };
        interrupt.or(drained).await
    };
    // Without a runtime, unread output is lost.
    let _ = runtime.map(|runtime| runtime.block_on(waiting));
}

/// Runs the verb, with its live view if the user wants one. The runtime ends before this returns, and waits for temporary files to be removed.
fn run(verb: Verb, reporter: &Arc<dyn Reporter>) -> Result<(), Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().build().map_err(Failure::work)?;
    let output = verb.output();
    runtime.block_on(async {
        match verb.live_view() {
            Some((title, arguments)) => {
                let verb = async |reporter: &Arc<dyn Reporter>| run_verb(verb, reporter).await;
                live_view::with(arguments, output, title, reporter, verb).await
            }
            None => run_verb(verb, reporter).await,
        }
    })
}

async fn run_verb(verb: Verb, reporter: &Arc<dyn Reporter>) -> Result<(), Failure> {
    // Verbs with cleanup handle Ctrl-C themselves; the others end by the default action of the signal.
    match verb {
        Verb::Recv(arguments) => verb::recv::run(arguments, reporter, &mut Interrupt::listen()?).await,
        Verb::Send(arguments) => verb::send::run(arguments, reporter, &mut Interrupt::listen()?).await,
        Verb::Check(arguments) => verb::check::run(arguments, reporter, &mut Interrupt::listen()?).await,
        Verb::Test(arguments) => verb::test::run(arguments, reporter, &mut Interrupt::listen()?).await,
        Verb::Tunnel(arguments) => verb::tunnel::run(arguments, reporter).await,
        Verb::Demo(arguments) => {
            Interrupt::listen()?
                .or(verb::demo::run(arguments, reporter))
                .await
        }
        Verb::Lab(arguments) => verb::lab::run(arguments.verb).await,
        #[cfg(target_os = "linux")]
        Verb::Testbed(arguments) => verb::testbed::run(arguments.verb).await,
        #[cfg(target_os = "linux")]
        Verb::Run(arguments) => verb::run::run(arguments).map(|never| match never {}),
        Verb::Policies(arguments) => verb::policies::run(&arguments),
        Verb::Profiles(arguments) => verb::profiles::run(&arguments),
        Verb::Trace(verb) => verb::trace::run(&verb),
        Verb::Genkey => verb::keys::generate(),
        Verb::Pubkey => verb::keys::print_public(),
        Verb::Completions { shell } => verb::completions::print(shell),
        Verb::Manual { folder } => verb::manual::write(&folder),
    }
}
