//! Start and end of the supervised program. The supervisor ends with the program's exit code, after its last process.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Sender};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Resource, Signal, WaitOptions};

use super::{Supervisor, filter, sockets};
use crate::ffi::seccomp::{self, Blocked, Listener};

/// Set by `anabranch run`: the value of `LD_PRELOAD` for the program.
const VARIABLE: &str = "ANABRANCH_SUPERVISE";
const PRELOAD: &str = "LD_PRELOAD";
/// The exit code if the program cannot be run.
const NOT_RUN: i32 = 126;

/// Takes the process over, if `anabranch run` has started it for that.
pub(crate) fn start() {
    let Some(preload) = std::env::var_os(VARIABLE) else {
        return;
    };
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match arguments.split_first() {
        Some((program, arguments)) => run(program, arguments, &preload).unwrap_or_else(|error| {
            eprintln!("anabranch: {}: {error}", program.to_string_lossy());
            NOT_RUN
        }),
        None => NOT_RUN,
    };
    std::process::exit(code);
}

/// Runs a program, whose first argument is its name; returns its exit code.
fn run(program: &OsStr, arguments: &[OsString], preload: &OsStr) -> io::Result<i32> {
    if !std::path::Path::new("/proc/thread-self/children").exists() {
        return Err(io::Error::other(
            "this kernel does not list children (CONFIG_PROC_CHILDREN)",
        ));
    }
    // Orphans of the program become children of this process, below which all processes of the program are so.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let blocked = seccomp::hold_signals();
    let mut command = Command::new(program);
    if let Some((name, arguments)) = arguments.split_first() {
        command.arg0(name).args(arguments);
    }
    command.env_remove(VARIABLE);
    if preload.is_empty() {
        command.env_remove(PRELOAD);
    } else {
        command.env(PRELOAD, preload);
    }
    let (child, listener) = launch(command, blocked)?;
    // Each socket has several descriptors here and one in the program, whose limit stays as it is.
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = rustix::process::setrlimit(Resource::Nofile, limit);
    let (tell, status) = mpsc::channel();
    // Before it can be reaped: its number may belong to another process afterwards.
    let first = handle(child.cast_signed())?;
    std::thread::spawn(move || reap(child, &tell));
    std::thread::spawn(move || seccomp::forward(|signal| pass_on(&first, signal)));
    Supervisor::new(listener).run();
    Ok(status.recv().map_or(NOT_RUN, |status| {
        status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
            .unwrap_or(NOT_RUN)
    }))
}

/// Starts the program under the filter. It begins when this process has the listener.
fn launch(mut command: Command, blocked: Blocked) -> io::Result<(u32, Listener)> {
    let (mut told, tell) = io::pipe()?;
    let (wait, mut go) = io::pipe()?;
    let getter = std::thread::spawn(move || -> io::Result<Listener> {
        let mut numbers = [0; 8];
        told.read_exact(&mut numbers)?;
        let [process, listener] = [&numbers[..4], &numbers[4..]]
            .map(|number| number.first_chunk().copied().map_or(0, i32::from_ne_bytes));
        let listener = fetch(process, listener);
        // After a failure too: the child has a copy of this end, so it would not see that it is closed.
        go.write_all(&[listener.is_ok().into()])?;
        Ok(Listener::new(listener?))
    });
    let (tell, wait) = (OwnedFd::from(tell), OwnedFd::from(wait));
    seccomp::filtered(
        &mut command,
        &filter::program(),
        blocked,
        move |listener: RawFd| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            let own = rustix::process::getpid().as_raw_nonzero().get();
            let mut numbers = [0; 8];
            numbers[..4].copy_from_slice(&own.to_ne_bytes());
            numbers[4..].copy_from_slice(&listener.to_ne_bytes());
            rustix::io::write(&tell, &numbers)?;
            let mut begins = [0];
            rustix::io::read(&wait, &mut begins[..])?;
            match begins {
                [1] => Ok(()),
                _ => Err(io::ErrorKind::PermissionDenied.into()),
            }
        },
    );
    let spawned = command.spawn();
    // The child has copies of these: without them, the thread would wait forever after a failure.
    drop(command);
    let listener = getter.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
    match (spawned, listener) {
        (Ok(child), Ok(listener)) => Ok((child.id(), listener)),
        // The child has failed before it had a listener.
        (Err(error), Err(missing)) if missing.kind() == io::ErrorKind::UnexpectedEof => Err(error),
        (_, Err(error)) | (Err(error), Ok(_)) => Err(error),
    }
}

/// A process, also when another one has its number.
fn handle(process: i32) -> io::Result<OwnedFd> {
    let process = Pid::from_raw(process).ok_or(io::ErrorKind::InvalidData)?;
    Ok(rustix::process::pidfd_open(process, PidfdFlags::empty())?)
}

/// Passes a signal on to the program's first process, or to all others after its end.
fn pass_on(first: &OwnedFd, signal: Signal) {
    if rustix::process::pidfd_send_signal(first, signal) != Err(rustix::io::Errno::SRCH) {
        return;
    }
    let others = sockets::processes_of_the_program();
    for process in others.filter_map(|process| Pid::from_raw(process.cast_signed())) {
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// A descriptor of another process.
fn fetch(process: i32, number: RawFd) -> io::Result<OwnedFd> {
    let fetched = rustix::process::pidfd_getfd(handle(process)?, number, PidfdGetfdFlags::empty());
    fetched.map_err(|error| {
        let error = io::Error::from(error);
        io::Error::new(
            error.kind(),
            format!("its descriptors cannot be fetched: {error}"),
        )
    })
}

/// Waits for all children, and tells of the end of the first. Others than the program's may live for ever: a shell that was replaced by
/// this process may have started some.
fn reap(first: u32, tell: &Sender<ExitStatus>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((process, ended))) if process.as_raw_nonzero().get().cast_unsigned() == first => {
                let _ = tell.send(ExitStatus::from_raw(ended.as_raw()));
            }
            Err(rustix::io::Errno::INTR) | Ok(_) => {}
            Err(_) => return,
        }
    }
}
