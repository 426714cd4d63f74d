//! Check of a capture by tshark.

use std::io;
use std::path::Path;
use std::process::Command;

/// Wireshark's severity "error".
const SEVERITY_ERROR: u32 = 0x0080_0000;

/// Fields of each packet: five for the checks, the rest for error messages.
const FIELDS: [&str; 8] = [
    "udp.srcport",
    "sctp.checksum",
    "sctp.checksum.status",
    "_ws.malformed",
    "_ws.expert.severity",
    "frame.number",
    "_ws.col.Info",
    "_ws.expert.message",
];

/// Status of a correct checksum.
const CHECKSUM_GOOD: &str = "1";

/// A checksum of zero.
const CHECKSUM_ZERO: &str = "0x00000000";

/// Findings of tshark in a capture, one line per packet.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TsharkReport {
    /// SCTP packets with a correct CRC32c.
    pub good_checksums: usize,
    /// SCTP packets with a checksum of zero, which peers may agree on (RFC 9653).
    pub zero_checksums: usize,
    /// Packets with a wrong or missing checksum, or that are not SCTP.
    pub bad_checksums: Vec<String>,
    /// Packets that cannot be dissected completely.
    pub malformed: Vec<String>,
    /// Packets from `own_port` with an expert error.
    pub expert_errors: Vec<String>,
}

impl TsharkReport {
    /// Runs tshark on `recording`, in which UDP port `own_port` is ours; 0 without UDP, in which case expert errors count
    /// for the peer's packets too.
    ///
    /// # Errors
    ///
    /// tshark does not start or fails.
    pub fn of(tshark: &Path, recording: &Path, own_port: u16) -> io::Result<Self> {
        let mut report = Self::default();
        let own = if own_port == 0 {
            String::new()
        } else {
            own_port.to_string()
        };
        for line in dissect(tshark, recording, own_port)?.lines() {
            report.add(line, &own);
        }
        Ok(report)
    }

    fn add(&mut self, line: &str, own_port: &str) {
        let mut columns = line.split('\t');
        let [port, checksum, status, malformed, severities] =
            std::array::from_fn(|_| columns.next().unwrap_or(""));
        match (checksum, status) {
            (_, CHECKSUM_GOOD) => self.good_checksums += 1,
            (CHECKSUM_ZERO, _) => self.zero_checksums += 1,
            _ => self.bad_checksums.push(line.to_owned()),
        }
        if !malformed.is_empty() {
            self.malformed.push(line.to_owned());
        }
        let severities = severities.split(',').filter_map(|severity| severity.parse().ok());
        let errors = severities
            .filter(|severity: &u32| *severity >= SEVERITY_ERROR)
            .count();
        // tshark does not know that the ends have agreed on a checksum of zero.
        let says_zero = checksum == CHECKSUM_ZERO && line.contains("Bad SCTP checksum");
        if port == own_port && errors > usize::from(says_zero) {
            self.expert_errors.push(line.to_owned());
        }
    }

    /// Whether there are no findings. Checksums of zero are none.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.bad_checksums.is_empty() && self.malformed.is_empty() && self.expert_errors.is_empty()
    }
}

/// One line per packet with the [`FIELDS`] separated by tabs.
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
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(error));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
