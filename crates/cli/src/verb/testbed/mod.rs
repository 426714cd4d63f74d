//! `anabranch testbed`: creates and removes two hosts connected by emulated links.

mod down;
mod state;
mod status;
mod up;

use crate::arguments::TestbedVerb;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Runs a verb of the test bed.
pub(crate) async fn run(verb: TestbedVerb) -> Result<(), Failure> {
    match verb {
        TestbedVerb::Up(arguments) if arguments.foreground => {
            up::stay(&arguments, &mut Interrupt::listen()?).await
        }
        TestbedVerb::Up(arguments) => up::detach(&arguments).await,
        TestbedVerb::Down(arguments) => down::run(&arguments),
        TestbedVerb::Status { output } => status::run(output),
    }
}
