//! How is a bed put away? Its process is asked to end, its hosts are removed with all that runs on them.

use anabranch_emu::bed;

use super::up::failure;
use crate::arguments::TestbedDownArguments;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn run(arguments: &TestbedDownArguments) -> Result<(), Failure> {
    let all = || bed::list().into_iter().map(|bed| bed.name).collect();
    let names: Vec<String> = if arguments.all {
        all()
    } else {
        vec![arguments.name.clone()]
    };
    for name in names {
        let was_there = bed::down(&name).map_err(failure)?;
        if arguments.output.is_json() {
            let object = serde_json::json!({ "event": "testbed-down", "name": name, "was_there": was_there });
            print(format!("{object}\n"))?;
        } else if !arguments.output.is_quiet() {
            let became = if was_there { "put away" } else { "there was none" };
            print(format!("{name}: {became}\n"))?;
        }
    }
    Ok(())
}
