//! What does somebody else's dissector say? Wireshark's, in its command line form.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether tshark can be asked; where it must be there, that it is not is a failure.
pub(crate) fn is_here() -> bool {
    let here = Command::new("tshark")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !here {
        assert!(
            env::var("CI").is_err(),
            "tshark is missing (Debian package tshark)"
        );
        println!("skipped: tshark is missing (Debian package tshark)");
    }
    here
}

fn tshark(file: &Path, filter: &str) -> String {
    let output = Command::new("tshark")
        .args(["-n", "-d", "udp.port==9899,sctp"])
        .args([
            "-o",
            "sctp.checksum:CRC 32c",
            "-o",
            "udp.check_checksum:TRUE",
            "-o",
            "ip.check_checksum:TRUE",
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "mptcp.analyze_mappings:TRUE",
        ])
        .args(["-Y", filter, "-r"])
        .arg(file)
        .output()
        .expect("tshark runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Frames that a display filter lets through.
pub(crate) fn count(file: &Path, filter: &str) -> usize {
    tshark(file, filter).lines().count()
}

/// The first of them.
pub(crate) fn shown(file: &Path, filter: &str) -> String {
    tshark(file, filter)
        .lines()
        .take(5)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A file that goes when it is not needed any more.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Temporary {
    pub(crate) fn with(name: &str, content: &[u8]) -> Self {
        let path = env::temp_dir().join(name);
        fs::write(&path, content).expect("room in the temporary directory");
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
