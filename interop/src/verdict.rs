//! What does a dissector that is not ours think of a recording?

use std::io;
use std::path::Path;
use std::process::Command;

/// Wireshark's severity "error" and what is graver.
const SEVERITY_ERROR: u32 = 0x0080_0000;

/// What is asked of each packet: four things to decide, the rest to understand a complaint.
const FIELDS: [&str; 7] = [
    "udp.srcport",
    "sctp.checksum.status",
    "_ws.malformed",
    "_ws.expert.severity",
    "frame.number",
    "_ws.col.Info",
    "_ws.expert.message",
];

/// The status of a checksum that was verified.
const CHECKSUM_GOOD: &str = "1";

/// Findings in a recording. Each is what the dissector says of a packet, in one line.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// SCTP packets whose CRC32c is right.
    pub good_checksums: usize,
    /// Packets with a wrong checksum, or none, or that are no SCTP at all.
    pub bad_checksums: Vec<String>,
    /// Packets that cannot be dissected to their end.
    pub malformed: Vec<String>,
    /// Packets from `own_port` that break the protocol in the eyes of the dissector.
    pub expert_errors: Vec<String>,
}

impl Verdict {
    /// Lets tshark look at `recording`, in which the UDP port `own_port` is ours; 0 if there is no UDP in it, and then
    /// the peer's packets are held to the standard of ours.
    ///
    /// # Errors
    ///
    /// It does not start, or it ends with an error.
    pub fn of(tshark: &Path, recording: &Path, own_port: u16) -> io::Result<Self> {
        let mut verdict = Self::default();
        let own = if own_port == 0 {
            String::new()
        } else {
            own_port.to_string()
        };
        for line in dissect(tshark, recording, own_port)?.lines() {
            verdict.add(line, &own);
        }
        Ok(verdict)
    }

    fn add(&mut self, line: &str, own_port: &str) {
        let mut columns = line.split('\t');
        let [port, checksum, malformed, severities] = std::array::from_fn(|_| columns.next().unwrap_or(""));
        match checksum {
            CHECKSUM_GOOD => self.good_checksums += 1,
            _ => self.bad_checksums.push(line.to_owned()),
        }
        if !malformed.is_empty() {
            self.malformed.push(line.to_owned());
        }
        let severities = severities
            .split(',')
            .filter_map(|severity| severity.parse::<u32>().ok());
        if port == own_port && severities.max() >= Some(SEVERITY_ERROR) {
            self.expert_errors.push(line.to_owned());
        }
    }

    /// Whether there is nothing to complain about.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.bad_checksums.is_empty() && self.malformed.is_empty() && self.expert_errors.is_empty()
    }
}

/// A line for each packet, the fields of [`FIELDS`] between tabs.
fn dissect(tshark: &Path, recording: &Path, port: u16) -> io::Result<String> {
    let output = Command::new(tshark)
        .args(["-n", "-r"])
        .arg(recording)
        .args((port != 0).then(|| format!("-dudp.port=={port},sctp")))
        .args(["-o", "sctp.checksum:CRC 32c"])
        .args(["-T", "fields"])
        .args(FIELDS.iter().flat_map(|field| ["-e", field]))
        .output()?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(complaint));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
