//! How does a real stack behave on a network that we do not have? Two hosts on this machine, joined by links of the
//! simulator in real time.
//!
//! ```text
//!  namespace NEAR                   this process                      namespace FAR
//!  path0  10.0.0.1  ──TUN──▶  link there ─▶ ─▶ ─▶ ─▶  ──TUN──▶  path0  10.0.0.2
//!                   ◀─TUN───  ◀─ ◀─ ◀─ ◀─ link back  ◀─TUN───
//!  path1  10.1.0.1  …                                                 path1  10.1.0.2
//! ```
//!
//! Addresses are those of the simulator's [`topology`]. Needs root, `ip` and `/dev/net/tun`.

mod claim;
mod device;
mod forwarder;
mod frame;
mod hosts;

use core::time::Duration;
use std::fs;
use std::io;

use anabranch_netsim::link::LinkStats;
use anabranch_netsim::{Link, LinkChange, LinkConfig, topology};
use anabranch_types::Seed;

use claim::Claim;
pub use claim::{FOLDER, folder};
use device::Device;
use forwarder::Forwarder;
pub use forwarder::{Timing, Urgency};
pub use hosts::{Hosts, Side};

/// The most paths, by the addresses that there are.
const MOST_PATHS: usize = 64;

/// A test bed that is set up; put away when it is dropped.
#[derive(Debug)]
pub struct Bed {
    // In the order of putting away: first the devices, then the hosts, then the name.
    forwarder: Forwarder,
    hosts: Removed,
    _claim: Claim,
}

/// Hosts that are removed when this is dropped.
#[derive(Debug)]
struct Removed(Hosts);

impl Drop for Removed {
    fn drop(&mut self) {
        // What cannot be removed now will be by whoever sets the bed up next.
        let _ = self.0.remove();
    }
}

/// One direction of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The path, counted from 0.
    pub path: usize,
    /// The host that sends.
    pub from: Side,
}

impl Lane {
    const fn index(self) -> usize {
        2 * self.path + self.from as usize
    }
}

impl Bed {
    /// Sets up the bed `name`, with a path for each pair of a link from the near to the far host and one back. What another
    /// process left behind under this name is removed first.
    ///
    /// A device has the MTU that its link has now.
    ///
    /// # Errors
    ///
    /// - `PermissionDenied`, with an explanation, for anybody but root;
    /// - `ResourceBusy` if a process has the bed;
    /// - `InvalidInput` for a name with other characters than a-z, 0-9 and -, or for more than 64 paths;
    /// - what `ip` and the kernel say.
    pub fn up(name: &str, paths: &[(LinkConfig, LinkConfig)], seed: Seed) -> io::Result<Self> {
        check(name, paths.len())?;
        let claim = Claim::take(name)?;
        let hosts = Hosts::of(name);
        hosts.remove()?;
        let hosts = Removed(hosts);
        hosts.0.make()?;
        let devices = devices(&hosts.0, paths)?;
        let links = paths
            .iter()
            .flat_map(|(there, back)| [there.clone(), back.clone()]);
        Ok(Self {
            forwarder: Forwarder::start(devices, links.collect(), seed)?,
            hosts,
            _claim: claim,
        })
    }

    /// The two hosts.
    #[must_use]
    pub const fn hosts(&self) -> &Hosts {
        &self.hosts.0
    }

    /// Changes a link from now on.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    pub fn apply(&self, lane: Lane, change: LinkChange) {
        self.forwarder
            .act(lane.index(), |link, now| link.apply(now, change));
    }

    /// What a link has done up to now.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    #[must_use]
    pub fn statistics(&self, lane: Lane) -> LinkStats {
        self.look(lane, |link| link.stats().clone())
    }

    /// Packets that wait at a link now, without the one that is leaving.
    ///
    /// # Panics
    ///
    /// If there is no such path.
    #[must_use]
    pub fn waiting(&self, lane: Lane) -> u64 {
        self.look(lane, |link| link.waiting().packets)
    }

    fn look<T>(&self, lane: Lane, look: impl FnOnce(&Link<frame::Frame>) -> T) -> T {
        self.forwarder.act(lane.index(), |link, now| {
            link.settle(now);
            look(link)
        })
    }

    /// Whether the links still carry packets.
    ///
    /// # Errors
    ///
    /// If somebody has taken away a device of the bed.
    pub fn check(&self) -> io::Result<()> {
        if self.forwarder.is_over() {
            return Err(io::Error::other(
                "a device of the test bed has been taken away; run it again, and leave its hosts alone meanwhile",
            ));
        }
        Ok(())
    }

    /// How well the time was kept so far.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.forwarder.timing()
    }

    /// For how long the machine has stood still so far, and the links with it.
    #[must_use]
    pub fn stood_still(&self) -> Duration {
        self.forwarder.stood_still()
    }

    /// Packets that were lost before their link, because the forwarder did not take them in time; there should be none.
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

/// Puts the bed `name` away, whoever set it up and however that ended. Says whether there was one.
///
/// # Errors
///
/// `PermissionDenied` for anybody but root; what `ip` says.
pub fn down(name: &str) -> io::Result<bool> {
    check(name, 0)?;
    let is_there = list().iter().any(|bed| bed.name == name);
    if is_there {
        let _claim = Claim::wrest(name)?;
        Hosts::of(name).remove()?;
    }
    Ok(is_there)
}

/// A test bed that there is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// The process that has it; `None` if it was left behind.
    pub owner: Option<u32>,
}

/// All test beds of this machine, by name.
#[must_use]
pub fn list() -> Vec<Known> {
    let mut names = [hosts::beds(), claim::beds()].concat();
    names.sort();
    names.dedup();
    let known = |name: String| Known {
        owner: claim::owner(&name),
        name,
    };
    names.into_iter().map(known).collect()
}

fn devices(hosts: &Hosts, paths: &[(LinkConfig, LinkConfig)]) -> io::Result<Vec<Device>> {
    let mut devices = Vec::new();
    for (number, (there, back)) in (0_u8..).zip(paths) {
        let name = format!("path{number}");
        let ends = [
            (Side::Near, topology::near(number), there.mtu),
            (Side::Far, topology::far(number), back.mtu),
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
    if !is_name(name) || paths > MOST_PATHS {
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

/// Packets that devices of paths did not take, by the kernel's table of devices: the fourth number of the second half.
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
