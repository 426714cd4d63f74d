//! Two hosts with several links between them, made of network namespaces. Needs root and `ip`.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::tools::needed;

/// Two hosts connected by links; removed when dropped.
#[derive(Debug)]
pub struct Hosts {
    near: String,
    far: String,
}

impl Hosts {
    /// Creates hosts with `links` links of 80 Mbit/s. `None`, with a message, without root.
    ///
    /// # Panics
    ///
    /// If they cannot be created in CI.
    #[must_use]
    pub fn with_links(links: u8) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let hosts = Self {
            near: format!("interop-near-{unique}"),
            far: format!("interop-far-{unique}"),
        };
        let made = hosts.make(links);
        needed(
            made.then_some(hosts),
            "network namespaces",
            "run as root, with iproute2",
        )
    }

    /// Address of the near host at `link`, counted from 0.
    #[must_use]
    pub const fn near_address(link: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, link, 1)
    }

    /// Address of the far host at `link`, counted from 0.
    #[must_use]
    pub const fn far_address(link: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, link, 2)
    }

    fn make(&self, links: u8) -> bool {
        let names = [&self.near, &self.far];
        names.iter().all(|name| ip(&["netns", "add", name]))
            && names
                .iter()
                .all(|name| ip(&["-n", name, "link", "set", "lo", "up"]))
            && (0..links).all(|link| self.join(link))
    }

    fn join(&self, link: u8) -> bool {
        let [near, far] = ["near", "far"].map(|side| format!("{side}{link}"));
        let ends = [
            (&self.near, &near, Self::near_address(link)),
            (&self.far, &far, Self::far_address(link)),
        ];
        let between = [
            "link", "add", &near, "netns", &self.near, "type", "veth", "peer", "name", &far, "netns",
            &self.far,
        ];
        ip(&between)
            && ends.iter().all(|(host, device, address)| {
                ip(&[
                    "-n",
                    host,
                    "address",
                    "add",
                    &format!("{address}/24"),
                    "dev",
                    device,
                ]) && ip(&["-n", host, "link", "set", device, "up"])
                    && shape(host, device)
            })
    }

    /// Moves the calling thread to the near host permanently.
    ///
    /// # Errors
    ///
    /// Those of the operating system.
    pub fn enter_near(&self) -> io::Result<()> {
        let namespace = File::open(format!("/run/netns/{}", self.near))?;
        Ok(move_into_link_name_space(
            namespace.as_fd(),
            Some(LinkNameSpaceType::Network),
        )?)
    }

    /// Wraps a command so that it runs on the far host.
    #[must_use]
    pub fn on_far(&self, program: &Command) -> Command {
        let mut there = Command::new("ip");
        there
            .args(["netns", "exec", &self.far])
            .arg(program.get_program());
        there.args(program.get_args());
        there
    }
}

/// Limits the rate: one unlimited link would carry everything.
fn shape(host: &str, device: &str) -> bool {
    let place = ["netns", "exec", host, "tc", "qdisc", "add", "dev", device, "root"];
    let shape = ["tbf", "rate", "80mbit", "burst", "64kb", "latency", "30ms"];
    ip(&[&place[..], &shape[..]].concat())
}

fn ip(arguments: &[&str]) -> bool {
    let output = Command::new("ip").args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in [&self.near, &self.far] {
            ip(&["netns", "delete", name]);
        }
    }
}
