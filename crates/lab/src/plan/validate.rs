//! Can this setting be run? What the types cannot say: names that must exist, parts that belong together.

mod apps;

use anabranch_policy::catalog::Choice as _;

use self::apps::{check_app, check_tcp_apps};
use super::error::unknown_name;
use super::setting::{
    AppKind, AssociationPlan, End, Happening, Hosts, LinkPlan, LossPlan, QueuePlan, RedPlan, RivalPlan,
    Setting,
};
use super::transport::TransportPlan;
use super::{BackendPlan, KernelPlan, ReadingPlan, StackPlan};

/// What is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    /// The keys that lead there.
    pub(super) path: Vec<String>,
    pub(super) text: String,
}

/// Packets smaller than this carry next to nothing (RFC 791 asks every link for 576).
const SMALLEST_MTU: u32 = 576;
/// The largest IP packet.
const LARGEST_MTU: u32 = 65_535;
/// What addresses are there for.
const MOST_PATHS: usize = 64;

pub(super) fn check(setting: &Setting) -> Result<(), Fault> {
    if setting.time.measure.0.is_zero() {
        return fault(["time", "measure"], "expected a time above zero");
    }
    if setting.paths.is_empty() || setting.paths.len() > MOST_PATHS {
        return fault(["paths"], "expected between 1 and 64 paths `[paths.NAME]`");
    }
    for (name, link) in setting.paths.iter() {
        check_link(link, &["paths", name])?;
        if link.rate.is_none() && setting.bottleneck.is_none() {
            let text = "a path needs a `rate`, such as \"10Mbit\" or \"unlimited\"";
            return fault(["paths", name], text);
        }
    }
    if let Some(link) = &setting.bottleneck {
        check_link(link, &["bottleneck"])?;
    }
    for (index, happening) in setting.script.iter().enumerate() {
        check_happening(happening, setting).map_err(|text| Fault {
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
        return fault(
            ["apps"],
            "expected an application `[apps.NAME]`, or nothing would be sent",
        );
    }
    for (name, app) in setting.apps.iter() {
        check_app(app, &setting.association, &["apps", name])?;
    }
    for (name, rival) in setting.rivals.iter() {
        check_rival(name, rival, setting)?;
    }
    match setting.record.series {
        Some(every) if every.0.is_zero() => fault(["record", "series"], "expected a time above zero"),
        _ => Ok(()),
    }
}

fn fault<const N: usize>(path: [&str; N], text: &str) -> Result<(), Fault> {
    Err(Fault {
        path: path.map(str::to_owned).into(),
        text: text.to_owned(),
    })
}

/// A fault at a key below `path`.
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

fn check_red(red: &RedPlan, path: &[&str]) -> Result<(), Fault> {
    let (minimum, maximum) = (red.minimum.unwrap_or(5.0), red.maximum.unwrap_or(15.0));
    let is_length = |length: f64| (0.0..1e9).contains(&length);
    if !is_length(minimum) || !is_length(maximum) || minimum >= maximum {
        return below(
            path,
            "queue",
            "expected `minimum` below `maximum`, both lengths in packets",
        );
    }
    if red.weight.is_some_and(|weight| !(weight > 0.0 && weight <= 1.0)) {
        return below(path, "queue", "expected a `weight` above 0 and up to 1");
    }
    Ok(())
}

/// Why nothing can be lost in this way. A burst ends before the next one begins: of more than half, single losses are no bursts.
fn impossible_loss(loss: &LossPlan) -> Option<String> {
    let LossPlan::Bursts(bursts) = loss else {
        return None;
    };
    let (share, length) = (bursts.loss.0, bursts.length);
    if !(1.0..1e9).contains(&length) || share >= 1.0 {
        return Some("expected a `loss` below 100% and a `length` of at least 1".into());
    }
    let shortest = share / (1.0 - share);
    let text = || {
        format!(
            "bursts of {length} packets cannot lose that many, expected a `length` of {shortest:.2} or more"
        )
    };
    (length < shortest).then(text)
}

fn check_link(link: &LinkPlan, path: &[&str]) -> Result<(), Fault> {
    if let Some(mtu) = link.mtu {
        check_mtu(mtu.0, &[path, &["mtu"]].concat())?;
    }
    if let Some(QueuePlan::Red(red)) = &link.queue {
        check_red(red, path)?;
    }
    if let Some(text) = link.loss.as_ref().and_then(impossible_loss) {
        return below(path, "loss", text);
    }
    match &link.back {
        Some(back) if back.back.is_some() => below(path, "back", "the way back has no way back of its own"),
        Some(back) => check_link(back, &[path, &["back"]].concat()),
        None => Ok(()),
    }
}

/// What a link does not let through, nobody tells of: the sender has to find it out, or to know.
fn check_packets_fit(setting: &Setting) -> Result<(), Fault> {
    let finds_out = setting.transport == TransportPlan::Sctp && setting.policies.0.path_mtu.name() != "fixed";
    let mtu = setting.association.mtu.0;
    let narrower = |link: &LinkPlan| link.mtu.filter(|own| own.0 < mtu);
    for (name, link) in setting.paths.iter().filter(|_| !finds_out) {
        let back = link.back.as_deref();
        if let Some(own) = narrower(link).or_else(|| narrower(back?)) {
            let text = format!(
                "no packet of {mtu} bytes gets through {} bytes: expected a smaller `association.mtu`, or \
                 `policies.pmtu = \"search\"` over SCTP",
                own.0
            );
            return below(&["paths", name], "mtu", text);
        }
    }
    Ok(())
}

fn check_rival(name: &str, rival: &RivalPlan, setting: &Setting) -> Result<(), Fault> {
    match &rival.through {
        Some(path) if setting.paths.get(path).is_none() => {
            let text = unknown_name("path", path, setting.paths.names());
            return below(&["rivals", name], "through", text);
        }
        None if setting.bottleneck.is_none() => {
            let text = "rivals need a `[bottleneck]` to compete for, or a path that they go `through`";
            return fault(["rivals"], text);
        }
        _ => {}
    }
    check_link(&rival.access, &["rivals", name, "access"])?;
    if rival.access.back.is_some() {
        let text = "the link of a rival is the same in both directions";
        return below(&["rivals", name, "access"], "back", text);
    }
    if let Some((app, _)) = rival.apps.iter().find(|(_, app)| app.end() == End::Far) {
        return below(&["rivals", name, "apps"], app, "a rival sends from its near end");
    }
    check_mtu(rival.association.mtu.0, &["rivals", name, "association", "mtu"])?;
    for (app, plan) in rival.apps.iter() {
        check_app(plan, &rival.association, &["rivals", name, "apps", app])?;
    }
    if rival.transport == TransportPlan::Mptcp {
        return below(
            &["rivals", name],
            "transport",
            "a rival has one path, so it speaks SCTP or TCP",
        );
    }
    if rival.transport == TransportPlan::Tcp {
        check_tcp_apps(&rival.apps, &["rivals", name, "apps"])?;
    }
    Ok(())
}

/// The association needs a path to begin with, and the first one is its primary path; addresses come and go only in
/// associations that know how.
fn check_joining(setting: &Setting) -> Result<(), Fault> {
    let moves = |happening: &Happening| happening.join.is_some() || happening.leave.is_some();
    let Some(first_move) = setting.script.iter().position(moves) else {
        return Ok(());
    };
    if setting.policies.0.add_ip.name() == "off" {
        let index = first_move.to_string();
        return fault(
            ["script", &index],
            "addresses `join` and `leave` only with `policies.add-ip = \"on\"`",
        );
    }
    match setting.paths.names().next() {
        Some(first) if setting.joins_later(first) => fault(
            ["paths", first],
            "the first path is there from the start; let another one `join`",
        ),
        _ => Ok(()),
    }
}

/// What there is on a test bed only.
fn check_no_testbed(setting: &Setting) -> Result<(), Fault> {
    const ELSEWHERE: &str = "the simulator has our own stacks; others run with `backend = \"testbed\"`";
    if setting.stack.is_some_and(|stack| stack != StackPlan::Anabranch) {
        return fault(["stack"], ELSEWHERE);
    }
    if !setting.usrsctp.is_empty() {
        return fault(["usrsctp"], ELSEWHERE);
    }
    if setting.kernel != KernelPlan::default() {
        return fault(["kernel"], ELSEWHERE);
    }
    Ok(())
}

/// Nobody sees what is inside a real host, and it never stops.
fn check_testbed_sight(setting: &Setting) -> Result<(), Fault> {
    if setting.record.series.is_some() || setting.record.histograms {
        return fault(
            ["record"],
            "series and histograms are recorded by the simulator only",
        );
    }
    if setting.record.overhead {
        return fault(
            ["record", "overhead"],
            "the simulator alone looks into packets: no `overhead`",
        );
    }
    if setting.time.until_complete {
        return fault(
            ["time", "until-complete"],
            "what a test bed sends has no end: `until-complete` is for the simulator",
        );
    }
    if setting.reading != ReadingPlan::Eager {
        return fault(["reading"], "on a test bed the far application reads at once");
    }
    Ok(())
}

/// A test bed has real hosts: they take the time that they take, and what is inside them stays there.
fn check_testbed(setting: &Setting) -> Result<(), Fault> {
    if setting.hosts != Hosts::default() {
        return fault(
            ["hosts"],
            "the hosts of a test bed are as fast as this machine; a `processor` is for the simulator",
        );
    }
    if setting.bottleneck.is_some() || !setting.rivals.is_empty() {
        return fault(
            ["bottleneck"],
            "a test bed has paths that share nothing; `[bottleneck]` and rivals are for the simulator",
        );
    }
    for (name, link) in setting.paths.iter() {
        if link.tick.is_some_and(|tick| !tick.0.is_zero()) {
            return fault(
                ["paths", name, "tick"],
                "a `tick` that is not the kernel's own is for the simulator",
            );
        }
    }
    let moves = |happening: &Happening| happening.join.is_some() || happening.leave.is_some();
    if setting.script.iter().any(moves) {
        return fault(["script"], "addresses `join` and `leave` in the simulator only");
    }
    check_testbed_sight(setting)?;
    match setting.apps.iter().collect::<Vec<_>>()[..] {
        [(_, app)] if app.kind == AppKind::Bulk && app.end() == End::Near && app.stream.is_none() => {}
        _ => {
            return fault(
                ["apps"],
                "a test bed has one application: `bulk`, at the near end",
            );
        }
    }
    if setting.stack() != StackPlan::Anabranch {
        check_foreign(setting)?;
    }
    let fits = match setting.transport {
        TransportPlan::Sctp => setting.stack() != StackPlan::Kernel,
        TransportPlan::Tcp | TransportPlan::Mptcp => setting.stack() == StackPlan::Kernel,
    };
    if !fits {
        let text =
            "on a test bed, SCTP is spoken by `anabranch` and `usrsctp`, TCP and MPTCP by the `kernel`";
        return fault(["stack"], text);
    }
    if setting.transport == TransportPlan::Tcp && setting.paths.len() > 1 {
        return fault(
            ["transport"],
            "TCP has one path; lay several over with `transport = \"mptcp\"` or \"sctp\"",
        );
    }
    Ok(())
}

/// A stack of others is told of its buffers, its streams and its messages, and of nothing else in a plan.
fn check_foreign(setting: &Setting) -> Result<(), Fault> {
    let usual = AssociationPlan::default();
    let association = &setting.association;
    for (key, is_usual) in [
        ("mtu", association.mtu == usual.mtu),
        (
            "max-retransmits",
            association.max_retransmits == usual.max_retransmits,
        ),
    ] {
        if !is_usual {
            return fault(
                ["association", key],
                "on a test bed, only our own stack is told of this; let the others have their own",
            );
        }
    }
    for (name, app) in setting.apps.iter() {
        if app.unordered {
            return fault(
                ["apps", name, "unordered"],
                "on a test bed, only our own stack sends unordered messages",
            );
        }
        if setting.stack() == StackPlan::Usrsctp && app.message.0 < SHORTEST_OF_USRSCTP {
            return fault(
                ["apps", name, "message"],
                "usrsctp's messages begin with their number: 4 bytes at least",
            );
        }
    }
    if setting.stack() == StackPlan::Usrsctp && setting.paths.len() > MOST_PATHS_OF_USRSCTP {
        return fault(
            ["paths"],
            "the program that talks through usrsctp has 16 addresses at most",
        );
    }
    Ok(())
}

/// The number that each message of `interop/peers/usrsctp_peer.c` begins with.
const SHORTEST_OF_USRSCTP: u64 = 4;
/// The addresses that it has room for.
const MOST_PATHS_OF_USRSCTP: usize = 16;

/// TCP has one path, neither has streams that need names; whatever a setting says must have a meaning.
fn check_transport(setting: &Setting) -> Result<(), Fault> {
    match setting.transport {
        TransportPlan::Sctp => return Ok(()),
        TransportPlan::Tcp if setting.paths.len() > 1 => {
            return fault(
                ["transport"],
                "TCP has one path; lay several over with `transport = \"sctp\"` or `\"mptcp\"`",
            );
        }
        TransportPlan::Mptcp if setting.tcp.nr_sack => {
            return fault(["tcp", "nr-sack"], "Multipath TCP has `mptcp.nr-sack`");
        }
        TransportPlan::Mptcp if !setting.tcp.sack => {
            return fault(["tcp", "sack"], "flows of Multipath TCP have SACKs");
        }
        TransportPlan::Tcp | TransportPlan::Mptcp => {}
    }
    let moves = |happening: &Happening| happening.join.is_some() || happening.leave.is_some();
    if let Some(index) = setting.script.iter().position(moves) {
        let text = "addresses `join` and `leave` only with `transport = \"sctp\"`";
        return fault(["script", &index.to_string()], text);
    }
    if setting.hosts != Hosts::default() {
        return fault(["hosts"], "over TCP nothing takes time");
    }
    let has_many = setting.apps.iter().any(|(_, app)| app.carriers() > 1);
    if setting.record.series.is_some() && has_many {
        return fault(["record"], "of several connections no series is recorded");
    }
    check_tcp_apps(&setting.apps, &["apps"])
}

fn check_happening(happening: &Happening, setting: &Setting) -> Result<(), String> {
    let Some(path) = happening.path() else {
        return Err(
            "expected one of `cut`, `heal`, `join`, `leave` and `change`, with the name of a path".into(),
        );
    };
    if setting.paths.get(path).is_none() {
        return Err(unknown_name("path", path, setting.paths.names()));
    }
    let changes = happening.rate.is_some() || happening.delay.is_some() || happening.loss.is_some();
    if changes != happening.change.is_some() {
        return Err("a `change` needs a new `rate`, `delay` or `loss`; nothing else has one".into());
    }
    happening
        .loss
        .as_ref()
        .and_then(impossible_loss)
        .map_or(Ok(()), Err)
}
