//! `anabranch run`: replaces this process by a program whose SCTP sockets are ours.
//!
//! The library is preloaded (docs/sockets.md); environment variables tell it what the options say. Where it cannot be preloaded, it is
//! preloaded into a second run of this program, where it supervises the other one.

mod encryption;
mod library;
mod program;

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::arguments::RunArguments;
use crate::failure::Failure;
use program::Way;

const PRELOAD: &str = "LD_PRELOAD";
/// Tells the library to supervise a program: the value of the variable above for that.
const SUPERVISE: &str = "ANABRANCH_SUPERVISE";

/// Runs the program; returns only if that fails.
pub(crate) fn run(arguments: RunArguments) -> Result<Infallible, Failure> {
    let mut variables = arguments.choices.variables()?;
    if let Some(port) = arguments.udp_port {
        variables.push(("ANABRANCH_UDP_PORT", port.into()));
    }
    if arguments.raw {
        variables.push(("ANABRANCH_RAW", "1".into()));
    }
    if let Some(system) = arguments.dialect {
        variables.push(("ANABRANCH_DIALECT", system.into()));
    }
    encryption::choose(arguments.encryption, &mut variables)?;
    if let Some(file) = arguments.statistics {
        // The program may change its folder before it has the first socket.
        let file = std::path::absolute(file).map_err(Failure::usage)?;
        variables.push(("ANABRANCH_STATISTICS", file.into()));
    }
    let path = program::find(&arguments.program)?;
    let is_supervised = program::check(&path)? == Way::Supervised || arguments.seccomp;
    if let Some(signal) = arguments.statistics_signal {
        if is_supervised {
            let reason = "--statistics-signal does not work under seccomp, and this program runs under it";
            return Err(Failure::usage(reason));
        }
        variables.push(("ANABRANCH_STATISTICS_SIGNAL", signal.into()));
    }
    let library = library::find(arguments.library)?;
    let mut command = if is_supervised {
        supervised(&path)?
    } else {
        Command::new(&path)
    };
    if is_supervised {
        command.arg(&path).arg(&arguments.program);
    } else {
        command.arg0(&arguments.program);
    }
    command
        .args(arguments.arguments)
        .envs(variables)
        .env(PRELOAD, preloaded(&library)?);
    let error = command.exec();
    Err(program::cannot_run(&path, &error.to_string()))
}

/// This program again, which the library takes over to run the other one (`supervise` in `crates/capi`).
fn supervised(path: &Path) -> Result<Command, Failure> {
    let own = std::env::current_exe();
    let own = own.map_err(|error| program::cannot_run(path, &error.to_string()))?;
    if program::check(&own)? != Way::Preloaded {
        let reason = "this build of anabranch is static, so the sockets library cannot be loaded into it; use a dynamically linked build";
        return Err(program::cannot_run(path, reason));
    }
    let mut command = Command::new(own);
    let preload = std::env::var_os(PRELOAD).unwrap_or_default();
    command.env(SUPERVISE, preload);
    Ok(command)
}

/// Our library comes first, so that others find its functions.
fn preloaded(library: &Path) -> Result<OsString, Failure> {
    let mut all = OsString::from(library);
    // The dynamic linker separates names so.
    if all.to_string_lossy().contains([' ', ':']) {
        let shown = library.display();
        return Err(Failure::Usage(format!(
            "{shown}: a library cannot be preloaded from a folder with a space or colon in its name; \
             copy it elsewhere and name it by --library"
        )));
    }
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    Ok(all)
}
