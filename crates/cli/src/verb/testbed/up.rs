//! `anabranch testbed up`: creates a test bed, owned by this process or by a background process.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anabranch_emu::bed::{self, Bed, Side};
use anabranch_emu::netsim::link::QueueConfig;
use anabranch_types::Seed;

use super::state::{State, file};
use crate::arguments::TestbedUpArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::print;

/// Interval of writing the state file.
const TICK: Duration = Duration::from_secs(1);
/// Interval of checking whether the background process is ready.
const POLL: Duration = Duration::from_millis(20);

/// Creates the test bed and stays until interrupted.
pub(super) async fn stay(arguments: &TestbedUpArguments, interrupt: &mut Interrupt) -> Result<(), Failure> {
    bed::down(&arguments.name).map_err(failure)?;
    let links = arguments.paths.iter().map(|path| {
        let queue = QueueConfig::Packets(arguments.queue);
        let link = path.link().mtu(arguments.mtu).queue(queue);
        (link.clone(), link)
    });
    let links: Vec<_> = links.collect();
    let bed = Bed::up(&arguments.name, &links, Seed(arguments.seed)).map_err(failure)?;
    let paths: Vec<String> = arguments.paths.iter().map(ToString::to_string).collect();
    let note = || {
        State::of(&bed, &paths)
            .store(&arguments.name)
            .map_err(Failure::work)
    };
    note()?;
    print_hosts(arguments, &bed);
    loop {
        tokio::select! {
            () = interrupt.wait() => return Ok(()),
            () = tokio::time::sleep(TICK) => note()?,
        }
    }
}

fn print_hosts(arguments: &TestbedUpArguments, bed: &Bed) {
    let hosts = Side::BOTH.map(|side| bed.hosts().namespace(side));
    if arguments.output.is_json() {
        // A closed pipe does not end the test bed.
        let _ = print(event(&arguments.name, &hosts));
    } else if !arguments.output.is_quiet() {
        let _ = print(format!(
            "{} and {} are up; press Ctrl-C to remove them\n",
            hosts[0], hosts[1]
        ));
    }
}

/// The JSON event.
fn event(name: &str, hosts: &[String; 2]) -> String {
    let object = serde_json::json!({ "event": "testbed-up", "name": name, "hosts": hosts });
    format!("{object}\n")
}

/// Starts a background process that owns the test bed, and waits until it is ready.
pub(super) async fn detach(arguments: &TestbedUpArguments) -> Result<(), Failure> {
    // Report these errors in the foreground.
    bed::down(&arguments.name).map_err(failure)?;
    bed::folder().map_err(failure)?;
    let log = file(&arguments.name, "log");
    let output = File::create(&log).map_err(|error| Failure::work(format!("{}: {error}", log.display())))?;
    let program = std::env::current_exe().map_err(Failure::work)?;
    let mut process = Command::new(program)
        // This process prints its output.
        .args(
            std::env::args_os()
                .skip(1)
                .filter(|argument| argument != "--json"),
        )
        .arg("--foreground")
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(Failure::work)?)
        .stderr(output)
        // Ctrl-C must not reach the background process.
        .process_group(0)
        .spawn()
        .map_err(Failure::work)?;
    while State::load(&arguments.name, process.id()).is_none() {
        if let Some(status) = process.try_wait().map_err(Failure::work)? {
            let output = std::fs::read_to_string(&log).unwrap_or_default();
            let output = output.trim().trim_start_matches("error: ");
            return Err(match status.code() {
                Some(2) => Failure::usage(output),
                _ => Failure::work(output),
            });
        }
        tokio::time::sleep(POLL).await;
    }
    let name = &arguments.name;
    let hosts = ["near", "far"].map(|side| format!("anabranch-{name}-{side}"));
    if arguments.output.is_json() {
        return print(event(name, &hosts));
    }
    if arguments.output.is_quiet() {
        return Ok(());
    }
    let [near, far] = hosts;
    print(format!(
        "{near} and {far} are up; remove them with `anabranch testbed down --name {name}`\n"
    ))
}

/// An invalid name is a usage error.
pub(super) fn failure(error: std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::usage(error),
        _ => Failure::work(error),
    }
}
