//! Linux' TCP and MPTCP in a separate network namespace, with TUN devices whose packets come to us.
//!
//! The thread that creates a [`Kernel`] moves into the namespace with its sockets; the rest of the machine is not
//! affected, and nothing remains. `socat` relays packets between a device and a socket of ours, because opening a TUN
//! device needs `unsafe`.

use std::io;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;

use crate::tools::{SOCAT, needed};

/// How long to wait for a device.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The kernel's side: a namespace with TUN devices.
#[derive(Debug)]
pub struct Kernel {
    /// Its devices.
    pub devices: Vec<Device>,
    bridges: Vec<Child>,
    _sockets: TempDir,
}

/// How the kernel adds subflows to an MPTCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MultipathRole {
    /// It connects, and opens subflows to the addresses that the peer announces (ADD_ADDR).
    InitiatesSubflows,
    /// It accepts, and announces further addresses (ADD_ADDR), to which the peer opens subflows.
    AnnouncesAddresses,
}

/// A TUN device and the socket that exchanges its packets, one per datagram.
#[derive(Debug)]
pub struct Device {
    /// Whole IP packets, to and from the device.
    pub socket: UnixDatagram,
    /// The kernel's address.
    pub theirs: Ipv4Addr,
    /// Ours.
    pub ours: Ipv4Addr,
}

impl Kernel {
    /// Moves this thread into a new network namespace with `count` devices. `None`, with a message, if that is not
    /// allowed outside CI.
    ///
    /// # Errors
    ///
    /// Those of the commands that set it up.
    ///
    /// # Panics
    ///
    /// If it is not allowed, or a program is missing, in CI (the variable `CI` is set), where tests must not be skipped.
    pub fn isolated(count: u8) -> io::Result<Option<Self>> {
        let moved = unshare(CloneFlags::CLONE_NEWNET).ok();
        if needed(moved, "a network namespace", "run as root").is_none() || SOCAT.find().is_none() {
            return Ok(None);
        }
        let sockets = TempDir::new()?;
        let mut kernel = Self {
            devices: Vec::new(),
            bridges: Vec::new(),
            _sockets: sockets,
        };
        run("ip", "link set lo up")?;
        for number in 0..count {
            kernel.add_device(number)?;
        }
        Ok(Some(kernel))
    }

    /// Lets the kernel use all devices for each MPTCP connection. `None`, with a message, if it cannot do that outside CI.
    ///
    /// # Errors
    ///
    /// Those of the commands that set it up.
    ///
    /// # Panics
    ///
    /// If it cannot be done in CI.
    pub fn with_multipath(self, role: MultipathRole) -> io::Result<Option<Self>> {
        let limits = run("ip", "mptcp limits set subflows 8 add_addr_accepted 8").ok();
        if needed(
            limits,
            "Multipath TCP in the kernel",
            "build it with CONFIG_MPTCP",
        )
        .is_none()
        {
            return Ok(None);
        }
        let told = match role {
            MultipathRole::InitiatesSubflows => &[],
            MultipathRole::AnnouncesAddresses => &self.devices[1..],
        };
        for device in told {
            run("ip", &format!("mptcp endpoint add {} signal", device.theirs))?;
        }
        Ok(Some(self))
    }

    fn add_device(&mut self, number: u8) -> io::Result<()> {
        let path = |name: &str| self._sockets.path().join(format!("{name}{number}"));
        let (ours, theirs) = (path("ours"), path("theirs"));
        let socket = UnixDatagram::bind(&ours)?;
        let address = Ipv4Addr::new(10, 213, number, 1);
        let bridge = Command::new("socat")
            .arg(format!(
                "UNIX-SENDTO:{},bind={}",
                ours.display(),
                theirs.display()
            ))
            .arg(format!("TUN:{address}/24,tun-name=ana{number},iff-no-pi,up"))
            .stdin(Stdio::null())
            .spawn()?;
        self.bridges.push(bridge);
        let end = Instant::now() + TIMEOUT;
        while socket.connect(&theirs).is_err()
            || run("ip", &format!("route get 10.213.{number}.2 from {address}")).is_err()
        {
            if Instant::now() > end {
                return Err(io::Error::other("socat has not made the device"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.devices.push(Device {
            socket,
            theirs: address,
            ours: Ipv4Addr::new(10, 213, number, 2),
        });
        Ok(())
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        for bridge in &mut self.bridges {
            // It may already have ended.
            let _ = bridge.kill();
            let _ = bridge.wait();
        }
    }
}

/// Runs a command and waits for it.
fn run(program: &str, arguments: &str) -> io::Result<()> {
    let output = Command::new(program)
        .args(arguments.split_whitespace())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{program} {arguments}: {said}")))
}
