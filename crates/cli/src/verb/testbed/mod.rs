//! How does one get two hosts and some paths between them? `testbed up`, and `down` when they are not needed any more.

mod down;
mod state;
mod status;
mod up;

use crate::arguments::TestbedVerb;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Does what was asked.
pub(crate) async fn run(verb: TestbedVerb) -> Result<(), Failure> {
    match verb {
        TestbedVerb::Up(arguments) if arguments.foreground => {
            up::stay(&arguments, &mut Interrupt::listen()?).await
        }
        TestbedVerb::Up(arguments) => up::leave(&arguments).await,
        TestbedVerb::Down(arguments) => down::run(&arguments),
        TestbedVerb::Status { output } => status::run(output),
    }
}
