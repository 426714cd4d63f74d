//! Other SCTP implementations in separate programs (`interop/peers`), built when needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::tools::{CC, GO, PYTHON, needed};

/// Another SCTP implementation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stack {
    /// usrsctp: FreeBSD's stack in user space (C).
    Usrsctp,
    /// pion: SCTP for WebRTC in Go.
    Pion,
    /// aiortc: SCTP for WebRTC in Python.
    Aiortc,
}

impl Stack {
    /// Returns the program, built or installed below `folder` if needed. `None`, with a message, if something is missing
    /// outside CI, for example access to Go or Python packages.
    ///
    /// # Panics
    ///
    /// If it cannot be built, or something is missing in CI.
    #[must_use]
    pub fn program(self, folder: &Path) -> Option<Command> {
        /// Tests run at the same time and may want the same program.
        static BUILDING: Mutex<()> = Mutex::new(());
        let guard = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        let program = match self {
            Self::Usrsctp => usrsctp(folder),
            Self::Pion => pion(folder),
            Self::Aiortc => aiortc(folder),
        };
        drop(guard);
        program
    }
}

fn usrsctp(folder: &Path) -> Option<Command> {
    let compiler = CC.find()?;
    let header = Path::new("/usr/include/usrsctp.h").is_file();
    needed(
        header.then_some(()),
        "usrsctp",
        "scripts/setup, or apt-get install libusrsctp-dev",
    )?;
    let (source, program) = (sources().join("usrsctp_peer.c"), folder.join("usrsctp_peer"));
    let options = sources().join("usrsctp_options.h");
    if is_older(&program, &source) || is_older(&program, &options) {
        let mut build = Command::new(compiler);
        build.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]);
        build.args([&program, &source]).args(["-lusrsctp", "-lpthread"]);
        let built = run(&mut build);
        assert!(built.is_ok(), "{built:?}");
    }
    Some(Command::new(program))
}

fn pion(folder: &Path) -> Option<Command> {
    let (sources, program) = (sources().join("pion"), folder.join("pion_peer"));
    let mut build = Command::new(compiler_of_go(folder)?);
    build.args(["build", "-buildvcs=false", "-o"]).arg(&program);
    fetched(run(build.current_dir(sources)), "pion")?;
    Some(Command::new(program))
}

/// The installed Go if it is new enough for `pion/go.mod`, else one from Python's packages: Debian 12 has 1.19.
fn compiler_of_go(folder: &Path) -> Option<PathBuf> {
    let own = GO.look();
    if let Some(go) = own.filter(|go| is_new_enough(go)) {
        return Some(go);
    }
    let packages = folder.join("go");
    install(&sources().join("pion"), &packages)?;
    Some(packages.join("go/bin/go"))
}

/// Parses output such as `go version go1.26.6 linux/amd64`.
fn is_new_enough(go: &Path) -> bool {
    const MINOR: u32 = 24; // of go.mod
    let said = Command::new(go)
        .env("GOTOOLCHAIN", "local")
        .arg("version")
        .output();
    let minor = said.ok().and_then(|said| {
        let said = String::from_utf8(said.stdout).ok()?;
        let (_, version) = said.split_once(" go1.")?;
        version
            .split(|message: char| !message.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    });
    minor >= Some(MINOR)
}

fn aiortc(folder: &Path) -> Option<Command> {
    let (sources, packages) = (sources().join("aiortc"), folder.join("aiortc"));
    install(&sources, &packages)?;
    let mut program = Command::new(PYTHON.find()?);
    program.arg(sources.join("peer.py"));
    program
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Some(program)
}

/// Installs the Python packages of `requirements.txt` in `sources`. A copy of the list marks a complete installation.
fn install(sources: &Path, packages: &Path) -> Option<()> {
    let name = sources.file_name().unwrap_or_default().to_string_lossy();
    let (wanted, installed) = (
        sources.join("requirements.txt"),
        packages.join("requirements.txt"),
    );
    if fs::read(&wanted).ok() != fs::read(&installed).ok() {
        // Remove an incomplete or outdated installation.
        let _ = fs::remove_dir_all(packages);
        let mut install = Command::new(PYTHON.find()?);
        install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
        install
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        install.arg(packages).arg("--requirement").arg(&wanted);
        fetched(run(&mut install), &name)?;
        fs::copy(&wanted, &installed).expect("room for a small file");
    }
    Some(())
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

fn is_older(made: &Path, source: &Path) -> bool {
    let time = |file: &Path| fs::metadata(file).and_then(|facts| facts.modified()).ok();
    time(made) < time(source)
}

/// A failed download skips the test outside CI.
fn fetched(result: Result<(), String>, name: &str) -> Option<()> {
    let why = result.as_ref().err().cloned().unwrap_or_default();
    needed(result.ok(), name, &why)
}

/// Runs a command; its error output if it failed.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    output
        .status
        .success()
        .then_some(())
        .ok_or_else(|| said.into_owned())
}
