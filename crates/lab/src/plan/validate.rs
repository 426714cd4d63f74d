//! Validation of a setting: names that must exist, values out of range, parts that cannot be combined. Can this setting run?

mod apps;
mod clocks;
mod links;

use anabranch_policy::catalog::Choice as _;

use self::apps::{check_app, check_tcp_apps};
use self::clocks::check_clocks;
use self::links::{check_link, impossible_loss};
use super::error::unknown_name;
use super::setting::{AppKind, AssociationPlan, CrossTrafficPlan, End, Hosts, LinkPlan, ScriptStep, Setting};
use super::transport::TransportPlan;
use super::{BackendPlan, KernelPlan, ReadingPlan, StackPlan};

/// A problem with a setting, and the key that it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    /// The path of keys to it.
    pub(super) path: Vec<String>,
    pub(super) text: String,
}

/// Smallest MTU that is accepted; RFC 791 §3.1 requires every host to accept datagrams of 576 octets.
const SMALLEST_MTU: u32 = 576;
/// Largest IP packet.
const LARGEST_MTU: u32 = 65_535;
/// Number of address pairs that the simulated topology has.
const MAX_PATHS: usize = 64;

pub(super) fn check(setting: &Setting) -> Result<(), Fault> {
    if setting.time.measure.0.is_zero() {
        return fault(["time", "measure"], "expected a time above zero");
    }
    if setting.paths.is_empty() || setting.paths.len() > MAX_PATHS {
        return fault(["paths"], "expected between 1 and 64 paths `[paths.NAME]`");
    }
    for (name, link) in setting.paths.iter() {
        check_link(link, &["paths", name])?;
        if link.rate.is_none() && link.trace.is_none() && setting.bottleneck.is_none() {
            let text = "a path needs a `rate`, such as \"10Mbit\" or \"unlimited\", or a `trace`";
            return fault(["paths", name], text);
        }
    }
    if let Some(link) = &setting.bottleneck {
        check_link(link, &["bottleneck"])?;
    }
    check_clocks(setting)?;
    for (index, step) in setting.script.iter().enumerate() {
        check_step(step, setting).map_err(|text| Fault {
            path: vec!["script".into(), index.to_string()],
            text,
        })?;
    }
    match setting.backend {
        BackendPlan::Sim => {
            check_no_testbed(setting)?;
            check_transport(setting)?;
            check_packets_fit(setting)?;
        }
        BackendPlan::Testbed => check_testbed(setting)?,
    }
    check_joining(setting)?;
    check_mtu(setting.association.mtu.0, &["association", "mtu"])?;
    if setting.apps.is_empty() {
        return fault(["apps"], "no application sends data: expected `[apps.NAME]`");
    }
    for (name, app) in setting.apps.iter() {
        check_app(app, &setting.association, &["apps", name])?;
    }
    for (name, flow) in setting.cross_traffic.iter() {
        check_cross_traffic(name, flow, setting)?;
    }
    match setting.record.time_series {
        Some(every) if every.0.is_zero() => fault(["record", "time-series"], "expected a time above zero"),
        _ => Ok(()),
    }
}

fn fault<const N: usize>(path: [&str; N], text: &str) -> Result<(), Fault> {
    Err(Fault {
        path: path.map(str::to_owned).into(),
        text: text.to_owned(),
    })
}

/// A fault at `key` in the table at `path`.
fn below(path: &[&str], key: &str, text: impl Into<String>) -> Result<(), Fault> {
    let path = path.iter().chain([&key]).map(|key| (*key).to_owned());
    Err(Fault {
        path: path.collect(),
        text: text.into(),
    })
}

fn check_mtu(mtu: u32, path: &[&str]) -> Result<(), Fault> {
    if (SMALLEST_MTU..=LARGEST_MTU).contains(&mtu) {
        return Ok(());
    }
    below(
        path,
        "",
        format!("expected between {SMALLEST_MTU} and {LARGEST_MTU} bytes, found {mtu}"),
    )
}

/// Packets larger than a link's MTU are dropped without an ICMP message, so the sender must search for the path MTU or be
/// configured for it.
fn check_packets_fit(setting: &Setting) -> Result<(), Fault> {
    let searches = setting.transport == TransportPlan::Sctp && setting.policies.0.path_mtu.name() != "fixed";
    let mtu = setting.association.mtu.0;
    let narrower = |link: &LinkPlan| link.mtu.filter(|own| own.0 < mtu);
    for (name, link) in setting.paths.iter().filter(|_| !searches) {
        let reverse = link.reverse.as_deref();
        if let Some(own) = narrower(link).or_else(|| narrower(reverse?)) {
            let text = format!(
                "packets of {mtu} bytes exceed the MTU of {} bytes: reduce `association.mtu`, or set \
                 `policies.pmtu = \"search\"` (SCTP only)",
                own.0
            );
            return below(&["paths", name], "mtu", text);
        }
    }
    Ok(())
}

fn check_cross_traffic(name: &str, flow: &CrossTrafficPlan, setting: &Setting) -> Result<(), Fault> {
    match &flow.through {
        Some(path) if setting.paths.get(path).is_none() => {
            let text = unknown_name("path", path, setting.paths.names());
            return below(&["cross-traffic", name], "through", text);
        }
        None if setting.bottleneck.is_none() => {
            let text = "cross traffic needs a `[bottleneck]` to share, or a path to go `through`";
            return fault(["cross-traffic"], text);
        }
        _ => {}
    }
    check_link(&flow.access, &["cross-traffic", name, "access"])?;
    if flow.access.reverse.is_some() {
        let text = "the access link of cross traffic is the same in both directions; remove `reverse`";
        return below(&["cross-traffic", name, "access"], "reverse", text);
    }
    if let Some((app, _)) = flow.apps.iter().find(|(_, app)| app.end() == End::Far) {
        return below(
            &["cross-traffic", name, "apps"],
            app,
            "cross traffic is sent by the near end; remove `end = \"far\"`",
        );
    }
    check_mtu(
        flow.association.mtu.0,
        &["cross-traffic", name, "association", "mtu"],
    )?;
    for (app, plan) in flow.apps.iter() {
        check_app(plan, &flow.association, &["cross-traffic", name, "apps", app])?;
    }
    if flow.transport == TransportPlan::Mptcp {
        return below(
            &["cross-traffic", name],
            "transport",
            "cross traffic has one path; expected \"sctp\" or \"tcp\"",
        );
    }
    if flow.transport == TransportPlan::Tcp {
        check_tcp_apps(&flow.apps, &["cross-traffic", name, "apps"])?;
    }
    Ok(())
}

/// Addresses change only with dynamic address reconfiguration (RFC 5061), and the first path is the primary path from the
/// start.
fn check_joining(setting: &Setting) -> Result<(), Fault> {
    let changes_addresses = |step: &ScriptStep| step.join.is_some() || step.leave.is_some();
    let Some(first_change) = setting.script.iter().position(changes_addresses) else {
        return Ok(());
    };
    if setting.policies.0.add_ip.name() == "off" {
        let index = first_change.to_string();
        return fault(
            ["script", &index],
            "`join` and `leave` need `policies.add-ip = \"on\"`",
        );
    }
    match setting.paths.names().next() {
        Some(first) if setting.joins_later(first) => fault(
            ["paths", first],
            "the first path must exist from the start; choose another one to `join`",
        ),
        _ => Ok(()),
    }
}

/// Keys that apply to test beds only.
fn check_no_testbed(setting: &Setting) -> Result<(), Fault> {
    const TESTBED_ONLY: &str =
        "the simulator runs only the project's own stacks; other stacks need `backend = \"testbed\"`";
    if setting.stack.is_some_and(|stack| stack != StackPlan::Anabranch) {
        return fault(["stack"], TESTBED_ONLY);
    }
    if !setting.usrsctp.is_empty() {
        return fault(["usrsctp"], TESTBED_ONLY);
    }
    if setting.kernel != KernelPlan::default() {
        return fault(["kernel"], TESTBED_ONLY);
    }
    Ok(())
}

/// The internal state of real hosts is not recorded, and their runs have a fixed length.
fn check_testbed_records(setting: &Setting) -> Result<(), Fault> {
    if setting.record.time_series.is_some() || setting.record.histograms {
        return fault(
            ["record"],
            "time series and histograms are recorded in the simulator only",
        );
    }
    if setting.record.overhead {
        return fault(
            ["record", "overhead"],
            "`overhead` is recorded in the simulator only",
        );
    }
    if setting.time.until_complete {
        return fault(
            ["time", "until-complete"],
            "`until-complete` works in the simulator only; on a test bed, runs have a fixed length",
        );
    }
    if setting.reading != ReadingPlan::Eager {
        return fault(
            ["reading"],
            "on a test bed the receiving application always reads at once; expected `reading = \"eager\"`",
        );
    }
    Ok(())
}

/// Restrictions of test beds, whose hosts are real.
fn check_testbed(setting: &Setting) -> Result<(), Fault> {
    if setting.hosts != Hosts::default() {
        return fault(
            ["hosts"],
            "`processor` works in the simulator only; hosts of a test bed are as fast as this machine",
        );
    }
    if setting.bottleneck.is_some() || !setting.cross_traffic.is_empty() {
        return fault(
            ["bottleneck"],
            "`[bottleneck]` and `[cross-traffic]` work in the simulator only; paths of a test bed share no link",
        );
    }
    let changes_addresses = |step: &ScriptStep| step.join.is_some() || step.leave.is_some();
    if setting.script.iter().any(changes_addresses) {
        return fault(["script"], "`join` and `leave` work in the simulator only");
    }
    check_testbed_records(setting)?;
    match setting.apps.iter().collect::<Vec<_>>()[..] {
        [(_, app)] if app.kind == AppKind::Bulk && app.end() == End::Near && app.stream.is_none() => {}
        _ => {
            return fault(
                ["apps"],
                "a test bed runs exactly one application: `bulk`, at the near end, without `stream`",
            );
        }
    }
    if setting.stack() != StackPlan::Anabranch {
        check_third_party(setting)?;
    }
    let fits = match setting.transport {
        TransportPlan::Sctp => setting.stack() != StackPlan::Kernel,
        TransportPlan::Tcp | TransportPlan::Mptcp => setting.stack() == StackPlan::Kernel,
    };
    if !fits {
        let text =
            "on a test bed, SCTP needs `stack = \"anabranch\"` or \"usrsctp\", TCP and MPTCP need \"kernel\"";
        return fault(["stack"], text);
    }
    if setting.transport == TransportPlan::Tcp && setting.paths.len() > 1 {
        return fault(
            ["transport"],
            "TCP uses a single path; use `transport = \"mptcp\"` or \"sctp\" for several",
        );
    }
    Ok(())
}

/// Third-party stacks are configured with buffer sizes, streams and message sizes only.
fn check_third_party(setting: &Setting) -> Result<(), Fault> {
    let defaults = AssociationPlan::default();
    let association = &setting.association;
    for (key, is_default) in [
        ("mtu", association.mtu == defaults.mtu),
        (
            "max-retransmits",
            association.max_retransmits == defaults.max_retransmits,
        ),
    ] {
        if !is_default {
            return fault(
                ["association", key],
                "on a test bed, only the stack `anabranch` can be configured with this; remove it for other stacks",
            );
        }
    }
    for (name, app) in setting.apps.iter() {
        if app.unordered {
            return fault(
                ["apps", name, "unordered"],
                "on a test bed, only the stack `anabranch` sends unordered messages",
            );
        }
        if setting.stack() == StackPlan::Usrsctp && app.message.0 < MIN_USRSCTP_MESSAGE {
            return fault(
                ["apps", name, "message"],
                "messages over usrsctp start with a 4-byte number: expected at least 4 bytes",
            );
        }
    }
    if setting.stack() == StackPlan::Usrsctp && setting.paths.len() > MAX_USRSCTP_PATHS {
        return fault(["paths"], "expected at most 16 paths over usrsctp");
    }
    Ok(())
}

/// Bytes of the number at the start of each message of `interop/peers/usrsctp_peer.c`.
const MIN_USRSCTP_MESSAGE: u64 = 4;
/// Addresses for which that program has space.
const MAX_USRSCTP_PATHS: usize = 16;

/// Restrictions of TCP and Multipath TCP.
fn check_transport(setting: &Setting) -> Result<(), Fault> {
    match setting.transport {
        TransportPlan::Sctp => return Ok(()),
        TransportPlan::Tcp if setting.paths.len() > 1 => {
            return fault(
                ["transport"],
                "TCP uses a single path; use `transport = \"sctp\"` or \"mptcp\" for several",
            );
        }
        TransportPlan::Mptcp if setting.tcp.nr_sack => {
            return fault(["tcp", "nr-sack"], "over Multipath TCP, use `mptcp.nr-sack`");
        }
        TransportPlan::Mptcp if !setting.tcp.sack => {
            return fault(["tcp", "sack"], "subflows of Multipath TCP always use SACK");
        }
        TransportPlan::Tcp | TransportPlan::Mptcp => {}
    }
    let changes_addresses = |step: &ScriptStep| step.join.is_some() || step.leave.is_some();
    if let Some(index) = setting.script.iter().position(changes_addresses) {
        let text = "`join` and `leave` need `transport = \"sctp\"`";
        return fault(["script", &index.to_string()], text);
    }
    if setting.hosts != Hosts::default() {
        return fault(["hosts"], "`processor` works with `transport = \"sctp\"` only");
    }
    let has_many = setting.apps.iter().any(|(_, app)| app.stream_count() > 1);
    if setting.record.time_series.is_some() && has_many {
        return fault(
            ["record"],
            "a time series needs a single TCP connection; expected one stream or object",
        );
    }
    check_tcp_apps(&setting.apps, &["apps"])
}

fn check_step(step: &ScriptStep, setting: &Setting) -> Result<(), String> {
    let Some(path) = step.path() else {
        return Err(
            "expected exactly one of `cut`, `restore`, `join`, `leave` and `change`, with the name of a path"
                .into(),
        );
    };
    if setting.paths.get(path).is_none() {
        return Err(unknown_name("path", path, setting.paths.names()));
    }
    let changes = step.rate.is_some() || step.delay.is_some() || step.loss.is_some();
    if changes != step.change.is_some() {
        return Err("a `change` needs a new `rate`, `delay` or `loss`; other steps have none of them".into());
    }
    step.loss.as_ref().and_then(impossible_loss).map_or(Ok(()), Err)
}
