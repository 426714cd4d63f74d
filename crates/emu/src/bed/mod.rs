//! Test bed: two network namespaces joined by links of the simulator in real time. How do real stacks behave on them?
//!
//! ```text
//!  namespace NEAR                   this process                      namespace FAR
//!  path0  10.0.0.1  ──TUN──▶  forward link ─▶ ─▶ ─▶   ──TUN──▶  path0  10.0.0.2
//!                   ◀─TUN───  ◀─ ◀─ ◀─ reverse link   ◀─TUN───
//!  path1  10.1.0.1  …                                                 path1  10.1.0.2
//! ```
//!
//! Addresses are those of the simulator's [`topology`]. A test bed needs root, `ip` and `/dev/net/tun`.

mod device;
mod forwarder;
mod frame;
mod hosts;
mod lock;

use core::time::Duration;
use std::fs;
use std::io;

pub use anabranch_netsim::Side;
use anabranch_netsim::link::LinkStats;
use anabranch_netsim::{Link, LinkChange, LinkConfig, topology};
use anabranch_types::Seed;

use device::Device;
use forwarder::Forwarder;
pub use forwarder::{Scheduling, Timing};
pub use hosts::Hosts;
use lock::BedLock;
pub use lock::{FOLDER, folder};

/// Maximum number of paths.
const MAX_PATHS: usize = 64;

/// A running test bed; removed when dropped.
#[derive(Debug)]
pub struct Bed {
    // Fields drop in this order: first the devices, then the hosts, then the lock.
    forwarder: Forwarder,
    hosts: Removed,
    _lock: BedLock,
}

/// Removes the hosts when dropped.
#[derive(Debug)]
struct Removed(Hosts);

impl Drop for Removed {
    fn drop(&mut self) {
        // If this fails, the next process that sets up the bed removes them.
        let _ = self.0.remove();
    }
}

/// A link of the bed: one direction of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BedLink {
    /// The path, counted from 0.
    pub path: usize,
    /// The host that sends.
    pub from: Side,
}

impl BedLink {
    const fn index(self) -> usize {
        2 * self.path + self.from.index()
    }
}

impl Bed {
    /// Sets up the bed `name` with one path for each pair of links (near to far host, far to near host). Removes first
    /// what a crashed process left under this name.
    ///
    /// Devices take the initial MTU of their links.
    ///
    /// # Errors
    ///
    /// - `PermissionDenied`, with an explanation, without root;
    /// - `ResourceBusy` if another process owns the bed;
    /// - `InvalidInput` for a name with characters other than a-z, 0-9 and -, or for more than 64 paths;
    /// - errors of `ip` and of the kernel.
    pub fn up(name: &str, paths: &[(LinkConfig, LinkConfig)], seed: Seed) -> io::Result<Self> {
        check(name, paths.len())?;
        let lock = BedLock::take(name)?;
        let hosts = Hosts::of(name);
        hosts.remove()?;
        let hosts = Removed(hosts);
        hosts.0.make()?;
        let devices = devices(&hosts.0, paths)?;
        let links = paths
            .iter()
            .flat_map(|(forward, reverse)| [forward.clone(), reverse.clone()]);
        Ok(Self {
            forwarder: Forwarder::start(devices, links.collect(), seed)?,
            hosts,
            _lock: lock,
        })
    }

    /// The two hosts.
    #[must_use]
    pub const fn hosts(&self) -> &Hosts {
        &self.hosts.0
    }

    /// Applies a change to a link now.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    pub fn apply(&self, link: BedLink, change: LinkChange) {
        self.forwarder
            .act(link.index(), |link, now| link.apply(now, change));
    }

    /// Statistics of a link up to now.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    #[must_use]
    pub fn statistics(&self, link: BedLink) -> LinkStats {
        self.look(link, |link| link.stats().clone())
    }

    /// Current queue length of a link in packets, without the one in transmission.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    #[must_use]
    pub fn waiting(&self, link: BedLink) -> u64 {
        self.look(link, |link| link.waiting().packets)
    }

    fn look<T>(&self, link: BedLink, look: impl FnOnce(&Link<frame::Frame>) -> T) -> T {
        self.forwarder.act(link.index(), |link, now| {
            link.settle(now);
            look(link)
        })
    }

    /// Whether the links still carry packets.
    ///
    /// # Errors
    ///
    /// If a device of the bed was removed.
    pub fn check(&self) -> io::Result<()> {
        if self.forwarder.is_over() {
            return Err(io::Error::other(
                "a device of the test bed has been taken away; run it again, and leave its hosts alone meanwhile",
            ));
        }
        Ok(())
    }

    /// Lateness and stalls so far.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.forwarder.timing()
    }

    /// How long the machine, and with it the links' clock, has stalled so far.
    #[must_use]
    pub fn stalled(&self) -> Duration {
        self.forwarder.stalled()
    }

    /// Packets lost in front of their link because the forwarder did not read them in time. There should be none.
    ///
    /// # Errors
    ///
    /// As [`Hosts::within`].
    pub fn overflows(&self) -> io::Result<u64> {
        let mut sum = 0;
        for side in Side::BOTH {
            sum += self.hosts().within(side, || {
                fs::read_to_string("/proc/thread-self/net/dev").map(|table| dropped(&table))
            })??;
        }
        Ok(sum)
    }
}

/// Removes the bed `name`, whichever process set it up. Returns whether it existed.
///
/// # Errors
///
/// `PermissionDenied` without root; errors of `ip`.
pub fn down(name: &str) -> io::Result<bool> {
    check(name, 0)?;
    let is_there = list().iter().any(|bed| bed.name == name);
    if is_there {
        let _lock = BedLock::take_over(name)?;
        Hosts::of(name).remove()?;
    }
    Ok(is_there)
}

/// Name and owner of an existing test bed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BedStatus {
    /// Its name.
    pub name: String,
    /// Process that owns it; `None` if its process has ended.
    pub owner: Option<u32>,
}

/// All test beds of this machine, by name.
#[must_use]
pub fn list() -> Vec<BedStatus> {
    let mut names = [hosts::beds(), lock::beds()].concat();
    names.sort();
    names.dedup();
    let known = |name: String| BedStatus {
        owner: lock::owner(&name),
        name,
    };
    names.into_iter().map(known).collect()
}

fn devices(hosts: &Hosts, paths: &[(LinkConfig, LinkConfig)]) -> io::Result<Vec<Device>> {
    let mut devices = Vec::new();
    for (number, (forward, reverse)) in (0_u8..).zip(paths) {
        let name = format!("path{number}");
        let ends = [
            (Side::Near, topology::near_addr(number), forward.mtu),
            (Side::Far, topology::far_addr(number), reverse.mtu),
        ];
        for (side, address, mtu) in ends {
            devices.push(hosts.within(side, || Device::new(&name))?.map_err(without_tun)?);
            let commands = format!("address add {address}/24 dev {name}\nlink set {name} mtu {mtu} up\n");
            hosts.configure(side, &commands)?;
        }
    }
    Ok(devices)
}

fn check(name: &str, paths: usize) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(needs_root());
    }
    if !is_name(name) || paths > MAX_PATHS {
        let text = "a test bed has a name of at most 40 of a-z, 0-9 and -, and at most 64 paths";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=40).contains(&text.len()) && text.bytes().all(is_good)
}

fn needs_root() -> io::Error {
    let text = "a test bed is made of network namespaces and TUN devices, which only root can make: run this as root";
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

fn without_tun(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("/dev/net/tun: {error}; the kernel needs TUN (modprobe tun)"),
    )
}

/// Transmit drops of the paths' devices in the kernel's `net/dev` table: the twelfth number of a row.
fn dropped(table: &str) -> u64 {
    let lines = table.lines().filter_map(|line| line.trim().strip_prefix("path"));
    let numbers = lines.filter_map(|line| {
        line.split_once(':')?
            .1
            .split_whitespace()
            .nth(11)?
            .parse::<u64>()
            .ok()
    });
    numbers.sum()
}

#[cfg(test)]
mod tests;
