//! How does one machine become two? By network namespaces, made and removed with `ip`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// What the names of all namespaces begin with, so that those that a crash left behind are found.
const PREFIX: &str = "anabranch-";
/// Where `ip` keeps namespaces.
const FOLDER: &str = "/run/netns";

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The one that connects.
    Near,
    /// The other one.
    Far,
}

impl Side {
    /// Both, the near one first.
    pub const BOTH: [Self; 2] = [Self::Near, Self::Far];

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    const fn ending(self) -> &'static str {
        match self {
            Self::Near => "-near",
            Self::Far => "-far",
        }
    }
}

/// Two namespaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts {
    bed: String,
}

impl Hosts {
    pub(super) fn of(bed: &str) -> Self {
        Self { bed: bed.to_owned() }
    }

    /// The name of a host's namespace, for `ip netns exec`.
    #[must_use]
    pub fn namespace(&self, side: Side) -> String {
        format!("{PREFIX}{}{}", self.bed, side.ending())
    }

    /// Makes both, empty but for a loopback device, and without IPv6: its announcements would be traffic that nobody sent.
    pub(super) fn make(&self) -> io::Result<()> {
        for side in Side::BOTH {
            run("ip", &["netns", "add", &self.namespace(side)])?;
            self.within(side, || {
                for scope in ["all", "default"] {
                    // A kernel without IPv6 has nothing to switch off.
                    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
                }
            })?;
            self.configure(side, "link set lo up\n")?;
        }
        Ok(())
    }

    /// Runs commands of `ip`, one in each line, on a host.
    ///
    /// # Errors
    ///
    /// What `ip` said.
    pub fn configure(&self, side: Side, commands: &str) -> io::Result<()> {
        let mut ip = Command::new("ip")
            .args(["-n", &self.namespace(side), "-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| missing("ip", &error))?;
        if let Some(mut input) = ip.stdin.take() {
            input.write_all(commands.as_bytes())?;
        }
        let output = ip.wait_with_output()?;
        answer(output.status.success(), &output.stderr, "ip")
    }

    /// Moves the calling thread to a host, for good: sockets that it opens and programs that it starts are there.
    ///
    /// # Errors
    ///
    /// The namespace is gone, or this is not root.
    pub fn enter(&self, side: Side) -> io::Result<()> {
        let namespace = File::open(format!("{FOLDER}/{}", self.namespace(side)))?;
        Ok(move_into_link_name_space(
            namespace.as_fd(),
            Some(LinkNameSpaceType::Network),
        )?)
    }

    /// Does something on a host, in a thread of its own.
    ///
    /// # Errors
    ///
    /// As [`Hosts::enter`].
    ///
    /// # Panics
    ///
    /// If `work` does.
    pub fn within<T: Send>(&self, side: Side, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let result = thread::scope(|scope| scope.spawn(|| self.enter(side).map(|()| work())).join());
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Ends the programs that still run there and removes both. Nothing is wrong if there is nothing.
    pub(super) fn remove(&self) -> io::Result<()> {
        for side in Side::BOTH {
            let namespace = self.namespace(side);
            if !fs::exists(format!("{FOLDER}/{namespace}"))? {
                continue;
            }
            end_programs(&namespace)?;
            run("ip", &["netns", "delete", &namespace])?;
        }
        Ok(())
    }
}

/// The beds whose namespaces exist.
pub(super) fn beds() -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut beds: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let bed = name.strip_prefix(PREFIX)?;
            let side = Side::BOTH
                .into_iter()
                .find_map(|side| bed.strip_suffix(side.ending()));
            side.map(str::to_owned)
        })
        .collect();
    beds.sort();
    beds.dedup();
    beds
}

fn end_programs(namespace: &str) -> io::Result<()> {
    let output = Command::new("ip").args(["netns", "pids", namespace]).output()?;
    let pids = String::from_utf8_lossy(&output.stdout).into_owned();
    for pid in pids
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .filter_map(Pid::from_raw)
    {
        if pid != rustix::process::getpid() {
            // It may have ended by itself meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    Ok(())
}

/// Runs a program to its end.
pub(super) fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| missing(program, &error))?;
    answer(output.status.success(), &output.stderr, program)
}

fn missing(program: &str, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("{program} (Debian: apt-get install iproute2): {error}"),
    )
}

fn answer(is_good: bool, said: &[u8], program: &str) -> io::Result<()> {
    if is_good {
        return Ok(());
    }
    let said = String::from_utf8_lossy(said);
    Err(io::Error::other(format!("{program}: {}", said.trim())))
}
