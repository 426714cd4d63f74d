//! `anabranch run`: replaces this process by a program whose SCTP sockets are ours.
//!
//! The library is preloaded (docs/sockets.md); environment variables tell it what the options say.

mod library;
mod program;

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::arguments::RunArguments;
use crate::failure::Failure;

const PRELOAD: &str = "LD_PRELOAD";

/// Runs the program; returns only if that fails.
pub(crate) fn run(arguments: RunArguments) -> Result<Infallible, Failure> {
    let mut variables = arguments.choices.variables()?;
    if let Some(port) = arguments.udp_port {
        variables.push(("ANABRANCH_UDP_PORT", port.into()));
    }
    if let Some(file) = arguments.statistics {
        // The program may change its folder before it has the first socket.
        let file = std::path::absolute(file).map_err(Failure::usage)?;
        variables.push(("ANABRANCH_STATISTICS", file.into()));
    }
    let path = program::find(&arguments.program)?;
    program::check(&path)?;
    let library = library::find(arguments.library)?;
    let mut command = Command::new(&path);
    command
        .arg0(&arguments.program)
        .args(arguments.arguments)
        .envs(variables)
        .env(PRELOAD, preloaded(&library)?);
    let error = command.exec();
    Err(program::cannot_run(&path, &error.to_string()))
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
