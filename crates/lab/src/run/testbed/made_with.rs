//! Provenance of a test bed run: kernel, stacks and timing of the links.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use anabranch_emu::bed::{Hosts, Scheduling, Side};

use crate::plan::{Setting, StackPlan};

/// Everything that can differ on another machine.
pub(super) fn made_with(
    setting: &Setting,
    hosts: &Hosts,
    scheduling: Scheduling,
) -> BTreeMap<String, String> {
    let mut made_with = BTreeMap::from([
        ("backend".to_owned(), "testbed".to_owned()),
        ("kernel".to_owned(), kernel()),
        ("cores".to_owned(), cores().to_string()),
        ("forwarder".to_owned(), format!("{scheduling:?}").to_lowercase()),
    ]);
    let stack = match setting.stack() {
        StackPlan::Anabranch => ("anabranch", env!("CARGO_PKG_VERSION").to_owned()),
        StackPlan::Usrsctp => ("usrsctp", usrsctp()),
        StackPlan::Kernel => (
            "tcp",
            hosts
                .within(Side::Near, || congestion(setting))
                .unwrap_or_default(),
        ),
    };
    made_with.insert(stack.0.to_owned(), stack.1);
    made_with
}

/// The part that is known before the run, as text for the cache key. Another kernel or library requires a new run.
pub(in crate::run) fn machine(setting: &Setting) -> String {
    let stack = match setting.stack() {
        StackPlan::Anabranch => String::new(),
        StackPlan::Usrsctp => usrsctp(),
        // The hosts inherit the machine's default congestion control.
        StackPlan::Kernel => congestion(setting),
    };
    format!("{}, {} cores, {stack}", kernel(), cores())
}

fn kernel() -> String {
    let system = rustix::system::uname();
    let parts = [system.sysname(), system.release(), system.machine()];
    parts.map(std::ffi::CStr::to_string_lossy).join(" ")
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The machine's load average over the last minute.
pub(super) fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Version of the Debian package; the library does not report its version.
fn usrsctp() -> String {
    /// Every point needs the version, and it does not change while the program runs.
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut query = Command::new("dpkg-query");
        query.args(["--show", "--showformat=${Version}", "libusrsctp-dev"]);
        let output = query.output().ok().filter(|output| output.status.success());
        output.map_or_else(
            || "of unknown version".to_owned(),
            |output| String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    });
    VERSION.clone()
}

fn congestion(setting: &Setting) -> String {
    let usual = || fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    let chosen = setting.kernel.congestion.clone();
    chosen.unwrap_or_else(usual).trim().to_owned()
}
