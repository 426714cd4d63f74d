//! usrsctp on loopback: its own test program, with UDP encapsulation.
//!
//! Debian's build prints several lines per packet, so the result is a lower bound, and CPU time is not reported.

use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::{Failure, Process, Work};

pub(crate) const NAME: &str = "usrsctp, logging each packet";
pub(crate) const PROGRAM: &str = "/usr/lib/usrsctp/tsctp";

/// Time for the server to open its socket, which it does not report.
const START: Duration = Duration::from_millis(300);

pub(crate) fn is_installed() -> bool {
    Path::new(PROGRAM).is_file()
}

/// Runs a transfer; the program accepts only whole seconds.
pub(crate) fn send(size: usize, seconds: f64) -> Result<Work, Failure> {
    let free_port = || UdpSocket::bind("0.0.0.0:0")?.local_addr();
    let (here, there) = (free_port()?.port(), free_port()?.port());
    let (size, seconds) = (size.to_string(), seconds.ceil().max(1.0).to_string());
    // It logs every packet and would block once a pipe is full, so it writes to a file.
    let path = std::env::temp_dir().join(format!("anabranch-loopback-{}", std::process::id()));
    let server = start(there, here, &["-l", &size], File::create(&path)?.into())?;
    std::thread::sleep(START);
    let options = ["-l", &size, "-n", "0", "-T", &seconds, "127.0.0.1"];
    start(here, there, &options, Stdio::null())?.0.wait()?;
    drop(server);
    let output = std::fs::read(&path)?;
    std::fs::remove_file(path)?;
    received(&output).ok_or_else(|| "tsctp did not say what it received".into())
}

fn start(own: u16, theirs: u16, options: &[&str], output: Stdio) -> Result<Process, Failure> {
    let mut command = Command::new(PROGRAM);
    let (own, theirs) = (own.to_string(), theirs.to_string());
    command.args(["-E", &own, "-U", &theirs]).args(options);
    Ok(Process(command.stdout(output).stderr(Stdio::null()).spawn()?))
}

/// Reads the result: after an association the server prints, among many lines, `length, messages, calls, bytes, seconds, …`.
fn received(output: &[u8]) -> Option<Work> {
    let cpu = f64::NAN;
    String::from_utf8_lossy(output).lines().find_map(|line| {
        let numbers = line.split(", ").map(|number| number.parse().ok());
        match numbers.collect::<Option<Vec<f64>>>()?[..] {
            [_, _, _, bytes, wall, _, _] => Some(Work { bytes, wall, cpu }),
            _ => None,
        }
    })
}
