//! Provenance of a test bed run: which kernel, which stacks, and how the links kept the time.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use anabranch_emu::bed::{Hosts, Scheduling, Side};

use crate::plan::{Setting, StackPlan};

/// Everything that another machine may have otherwise.
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

/// What of it is known before, in one text: with another kernel or library a run is another run.
pub(in crate::run) fn machine(setting: &Setting) -> String {
    let stack = match setting.stack() {
        StackPlan::Anabranch => String::new(),
        StackPlan::Usrsctp => usrsctp(),
        // Its hosts begin with what is usual here.
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

/// The machine's mean load of the last minute.
pub(super) fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// As Debian calls the package; the library does not tell its version.
fn usrsctp() -> String {
    /// Every point asks for it, and it does not change under a program that runs.
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
