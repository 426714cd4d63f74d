//! How is a file sent over several paths at once? `anabranch send`, `recv`, `demo` to see what it brings, and `lab` to
//! find out why.
//!
//! | folder | question |
//! |---|---|
//! | `arguments` | what can be asked? |
//! | `parse` | how are places, amounts and links written? |
//! | `verb` | what does each verb do? |
//! | `transfer` | how does a file get from one end to the other? |
//! | `output` | what does the program say, and to whom? |

mod arguments;
mod event_log;
mod failure;
mod interrupt;
mod network;
mod output;
mod parse;
mod same_file;
mod settings;
mod transfer;
mod verb;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;

use arguments::{Arguments, Verb};
use failure::Failure;
use interrupt::Interrupt;
use output::{Event, Reporter};

/// The version of the program, with the commit that it was built from if that is known.
const VERSION: &str = env!("ANABRANCH_VERSION");
/// That commit; empty if it is not known.
const COMMIT: &str = env!("ANABRANCH_COMMIT");

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => return arguments::answer(&answer),
    };
    let reporter = arguments.verb.output().reporter();
    match run(arguments.verb, &reporter) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (message, exit_code) = (failure.to_string(), failure.exit_code());
            reporter.report(&Event::Error {
                transfer: None,
                message: &message,
                exit_code: Some(exit_code),
            });
            ExitCode::from(exit_code)
        }
    }
}

/// The runtime ends before this returns, and waits for files that are being put away.
fn run(verb: Verb, reporter: &Arc<dyn Reporter>) -> Result<(), Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().build().map_err(Failure::work)?;
    runtime.block_on(async {
        // Who has something to put away listens; the others end at Ctrl-C as any program does.
        match verb {
            Verb::Recv(arguments) => verb::recv::run(arguments, reporter, &mut Interrupt::listen()?).await,
            Verb::Send(arguments) => verb::send::run(arguments, reporter, &mut Interrupt::listen()?).await,
            Verb::Demo(arguments) => {
                Interrupt::listen()?
                    .or(verb::demo::run(arguments, reporter))
                    .await
            }
            Verb::Lab(arguments) => verb::lab::run(arguments.verb).await,
            #[cfg(target_os = "linux")]
            Verb::Testbed(arguments) => verb::testbed::run(arguments.verb).await,
            Verb::Policies(arguments) => verb::policies::run(&arguments),
            Verb::Profiles(arguments) => verb::profiles::run(&arguments),
            Verb::Trace(verb) => verb::trace::run(&verb),
            Verb::Completions { shell } => verb::completions::print(shell),
        }
    })
}
