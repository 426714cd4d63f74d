//! `anabranch testbed down`: stops the owning process and removes the hosts.

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
        let existed = bed::down(&name).map_err(failure)?;
        if arguments.output.is_json() {
            let object = serde_json::json!({ "event": "testbed-down", "name": name, "existed": existed });
            print(format!("{object}\n"))?;
        } else if !arguments.output.is_quiet() {
            let outcome = if existed { "removed" } else { "did not exist" };
            print(format!("{name}: {outcome}\n"))?;
        }
    }
    Ok(())
}
