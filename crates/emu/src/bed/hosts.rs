//! Hosts of a test bed: two network namespaces, created and removed with `ip`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::thread;

use anabranch_netsim::Side;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Prefix of all namespaces, so that those left by a crash are found.
const PREFIX: &str = "anabranch-";
/// Folder in which `ip` keeps named namespaces.
const FOLDER: &str = "/run/netns";

/// The two hosts' namespaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts {
    bed: String,
}

impl Hosts {
    pub(super) fn of(bed: &str) -> Self {
        Self { bed: bed.to_owned() }
    }

    /// Name of a host's namespace, for `ip netns exec`.
    #[must_use]
    pub fn namespace(&self, side: Side) -> String {
        format!("{PREFIX}{}-{}", self.bed, side.name())
    }

    /// Creates both, with only a loopback device, and without IPv6, whose neighbour discovery would add packets.
    pub(super) fn make(&self) -> io::Result<()> {
        for side in Side::BOTH {
            run("ip", &["netns", "add", &self.namespace(side)])?;
            self.within(side, || {
                for scope in ["all", "default"] {
                    // Fails on a kernel without IPv6, where there is nothing to disable.
                    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
                }
            })?;
            self.configure(side, "link set lo up\n")?;
        }
        Ok(())
    }

    /// Runs a batch of `ip` commands, one per line, on a host.
    ///
    /// # Errors
    ///
    /// Error output of `ip`.
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

    /// Moves the calling thread to a host permanently: its sockets and child processes belong to that host.
    ///
    /// # Errors
    ///
    /// The namespace does not exist, or the process is not root.
    pub fn enter(&self, side: Side) -> io::Result<()> {
        let namespace = File::open(format!("{FOLDER}/{}", self.namespace(side)))?;
        Ok(move_into_link_name_space(
            namespace.as_fd(),
            Some(LinkNameSpaceType::Network),
        )?)
    }

    /// Runs `work` on a host, in a separate thread.
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

    /// Kills the programs that still run on the hosts and removes both. Not an error if they do not exist.
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

/// Names of beds whose namespaces exist.
pub(super) fn beds() -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut beds: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let bed = name.strip_prefix(PREFIX)?;
            let side = Side::BOTH
                .into_iter()
                .find_map(|side| bed.strip_suffix(side.name())?.strip_suffix('-'));
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
            // It may already have ended.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    Ok(())
}

/// Runs a program and waits for it.
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
