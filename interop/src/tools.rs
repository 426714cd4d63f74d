//! Which foreign programs are there?

use std::net::UdpSocket;
use std::path::{Path, PathBuf};

/// The programs that the tests need. `scripts/setup` installs them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tools {
    /// usrsctp's test program, from Debian's `libusrsctp-examples`.
    pub tsctp: PathBuf,
    /// Wireshark's dissector for terminals.
    pub tshark: PathBuf,
}

impl Tools {
    /// Finds them. `None`, and a message, if one is missing on somebody's own machine.
    ///
    /// # Panics
    ///
    /// If one is missing where CI runs (the variable `CI` is set): there, a test that is skipped is a lie.
    #[must_use]
    pub fn find() -> Option<Self> {
        let wanted = [
            ("tsctp", "/usr/lib/usrsctp", "libusrsctp-examples"),
            ("tshark", "/usr/bin", "tshark"),
        ];
        let found = wanted.map(|(name, home, package)| {
            let found = search(name, home);
            if found.is_none() {
                let advice = format!("{name} is missing: run scripts/setup, or apt-get install {package}");
                assert!(std::env::var_os("CI").is_none(), "{advice}");
                eprintln!("skipped: {advice}");
            }
            found
        });
        let [tsctp, tshark] = found;
        Some(Self {
            tsctp: tsctp?,
            tshark: tshark?,
        })
    }
}

/// In the folder where Debian has it, or on the path.
fn search(name: &str, home: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(PathBuf::from(home)).chain(std::env::split_paths(&path));
    folders
        .map(|folder| folder.join(name))
        .find(|file| Path::is_file(file))
}

/// A UDP port that was free a moment ago, for a program that wants a number.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn free_udp_port() -> u16 {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a free port");
    socket.local_addr().expect("it is bound").port()
}
