//! How is a bed set up? By a process that stays with it: this one, or one that it starts.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anabranch_emu::bed::{self, Bed, Side};
use anabranch_emu::netsim::link::{Loss, QueueConfig};
use anabranch_emu::netsim::{LinkConfig, Probability};
use anabranch_types::Seed;

use super::state::{State, file};
use crate::arguments::TestbedUpArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::print;

/// How often the state is written down.
const TICK: Duration = Duration::from_secs(1);
/// How often is looked whether the other process is ready.
const LOOK: Duration = Duration::from_millis(20);

/// Sets the bed up and stays until interrupted.
pub(super) async fn stay(arguments: &TestbedUpArguments, interrupt: &mut Interrupt) -> Result<(), Failure> {
    bed::down(&arguments.name).map_err(failure)?;
    let links = arguments.paths.iter().map(|path| {
        let loss = match path.loss {
            none if none <= 0.0 => Loss::None,
            share => Loss::Bernoulli(Probability::of(share)),
        };
        let link = LinkConfig::new(path.rate, path.delay)
            .mtu(arguments.mtu)
            .loss(loss);
        let link = link.queue(QueueConfig::Packets(arguments.queue));
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
    tell(arguments, &bed);
    loop {
        tokio::select! {
            () = interrupt.wait() => return Ok(()),
            () = tokio::time::sleep(TICK) => note()?,
        }
    }
}

fn tell(arguments: &TestbedUpArguments, bed: &Bed) {
    let hosts = Side::BOTH.map(|side| bed.hosts().namespace(side));
    if arguments.output.is_json() {
        // The bed does not go away with who reads along.
        let _ = print(event(&arguments.name, &hosts));
    } else if !arguments.output.is_quiet() {
        let _ = print(format!("{} and {} are up, until Ctrl-C\n", hosts[0], hosts[1]));
    }
}

/// For programs.
fn event(name: &str, hosts: &[String; 2]) -> String {
    let object = serde_json::json!({ "event": "testbed-up", "name": name, "hosts": hosts });
    format!("{object}\n")
}

/// Starts a process that stays with the bed, and ends as soon as that is ready.
pub(super) async fn leave(arguments: &TestbedUpArguments) -> Result<(), Failure> {
    // Said here, where somebody reads it.
    bed::down(&arguments.name).map_err(failure)?;
    bed::folder().map_err(failure)?;
    let log = file(&arguments.name, "log");
    let output = File::create(&log).map_err(|error| Failure::work(format!("{}: {error}", log.display())))?;
    let program = std::env::current_exe().map_err(Failure::work)?;
    let mut process = Command::new(program)
        // What it has to say, this process passes on.
        .args(
            std::env::args_os()
                .skip(1)
                .filter(|argument| argument != "--json"),
        )
        .arg("--foreground")
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(Failure::work)?)
        .stderr(output)
        // Ctrl-C is for whoever is in the foreground.
        .process_group(0)
        .spawn()
        .map_err(Failure::work)?;
    while State::load(&arguments.name, process.id()).is_none() {
        if let Some(status) = process.try_wait().map_err(Failure::work)? {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let said = said.trim().trim_start_matches("error: ");
            return Err(match status.code() {
                Some(2) => Failure::usage(said),
                _ => Failure::work(said),
            });
        }
        tokio::time::sleep(LOOK).await;
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
        "{near} and {far} are up; put away by: anabranch testbed down --name {name}\n"
    ))
}

/// A name that is none is the user's fault.
pub(super) fn failure(error: std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::usage(error),
        _ => Failure::work(error),
    }
}
