//! Where is a TCP that nobody here wrote? In the kernel: a network namespace of its own, with TUN devices whose packets
//! come to us.
//!
//! The thread that makes a [`Kernel`] moves into the namespace, and so do its sockets; nothing else on the machine
//! is touched, and nothing is left behind. What leads the packets from a device to a socket of ours is `socat`, for a
//! program without `unsafe` cannot open such a device itself.

use std::io;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;

use crate::tools::{SOCAT, needed};

/// Longer than any device needs to appear.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kernel's side: a namespace with as many devices as there are lines.
#[derive(Debug)]
pub struct Kernel {
    /// What its devices send, and hear.
    pub lines: Vec<Line>,
    bridges: Vec<Child>,
    _sockets: TempDir,
}

/// What the kernel does so that a connection gets further flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MultipathRole {
    /// It connects, and begins flows to the addresses that it is told of.
    Begins,
    /// It is connected to, and tells the peer of its further addresses, to which that one begins flows.
    Tells,
}

/// One TUN device and the socket that its packets come to, one packet in each datagram.
#[derive(Debug)]
pub struct Line {
    /// Whole IP packets, to and from the device.
    pub socket: UnixDatagram,
    /// The kernel's address.
    pub theirs: Ipv4Addr,
    /// Ours.
    pub ours: Ipv4Addr,
}

impl Kernel {
    /// Moves this thread into a new network namespace with `count` devices. `None`, and a message, if that is not allowed
    /// on somebody's own machine.
    ///
    /// # Errors
    ///
    /// Those of the commands that set it up.
    ///
    /// # Panics
    ///
    /// If it is not allowed, or a program is missing, where CI runs (the variable `CI` is set): there, a test that is
    /// skipped is a lie.
    pub fn isolated(count: u8) -> io::Result<Option<Self>> {
        let moved = unshare(CloneFlags::CLONE_NEWNET).ok();
        if needed(moved, "a network namespace", "run as root").is_none() || SOCAT.find().is_none() {
            return Ok(None);
        }
        let sockets = TempDir::new()?;
        let mut kernel = Self {
            lines: Vec::new(),
            bridges: Vec::new(),
            _sockets: sockets,
        };
        run("ip", "link set lo up")?;
        for number in 0..count {
            kernel.add_line(number)?;
        }
        Ok(Some(kernel))
    }

    /// Lets the kernel use all its devices for each connection of Multipath TCP. `None`, and a message, if it cannot do that
    /// on somebody's own machine.
    ///
    /// # Errors
    ///
    /// Those of the commands that set it up.
    ///
    /// # Panics
    ///
    /// If it cannot be done where CI runs.
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
            MultipathRole::Begins => &[],
            MultipathRole::Tells => &self.lines[1..],
        };
        for line in told {
            run("ip", &format!("mptcp endpoint add {} signal", line.theirs))?;
        }
        Ok(Some(self))
    }

    fn add_line(&mut self, number: u8) -> io::Result<()> {
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
        let end = Instant::now() + PATIENCE;
        while socket.connect(&theirs).is_err()
            || run("ip", &format!("route get 10.213.{number}.2 from {address}")).is_err()
        {
            if Instant::now() > end {
                return Err(io::Error::other("socat has not made the device"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.lines.push(Line {
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
            // It may have ended by itself.
            let _ = bridge.kill();
            let _ = bridge.wait();
        }
    }
}

/// Runs a command to its end.
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
