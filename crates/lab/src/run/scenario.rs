//! Scenario construction. How is a setting turned into a scenario of the simulator?

use anabranch_netsim::{LinkChange, LinkConfig};
use anabranch_sim::app::{
    Bulk, Client, Conversation, Even, Objects, Paced, Reading, Requests, Server, Streams, Workload,
};
use anabranch_sim::{
    AssociationConfig, CrossTraffic, DEFAULT_PORT, OwnPolicies, PacketCounts, SackWalks, Scenario, Side,
    Step, Transport,
};
use anabranch_types::Seed;

use super::link::{Clocks, both_directions, loss};
use super::tcp;
use crate::plan::{
    AppKind, AppPlan, AssociationPlan, CrossTrafficPlan, End, Mechanisms, Named, RateLimit, ReadingPlan,
    ScriptStep, Setting, TransportPlan,
};

/// Builds the scenario of a run, with `own` policies of both ends if there are any.
pub(super) fn scenario(setting: &Setting, own: Option<&OwnPolicies>, seed: u64) -> Scenario {
    let association = AssociationConfig {
        own_policies: own.cloned(),
        ..config(setting.association, setting.policies)
    };
    let mut scenario = Scenario::new(Seed(seed))
        .offload_checksums()
        .untraced()
        .config(association)
        .encapsulation_port(port(setting.association))
        .near_app(conversation(&setting.apps, End::Near))
        .far_app(conversation(&setting.apps, End::Far).reading(reading(setting.reading)));
    let hosts = [(Side::Near, setting.hosts.near), (Side::Far, setting.hosts.far)];
    for (side, host) in hosts {
        if let Some(processor) = host.processor {
            scenario = scenario.processor(side, processor.model);
        }
    }
    on_network(scenario, setting, Seed(seed))
}

/// Adds the parts common to all transports: paths, bottleneck, cross traffic and the script.
pub(super) fn on_network<T: Transport>(
    mut scenario: Scenario<T>,
    setting: &Setting,
    seed: Seed,
) -> Scenario<T> {
    let clocks = Clocks::new(setting, seed);
    for (name, path) in setting.paths.iter() {
        let (forward, reverse) = both_directions(path, name, clocks);
        scenario = scenario.asymmetric_path(forward, reverse);
        if setting.joins_later(name) {
            scenario = scenario.with_last_path_spare();
        }
    }
    if let Some(bottleneck) = &setting.bottleneck {
        let (forward, reverse) = both_directions(bottleneck, "bottleneck", clocks);
        scenario = scenario.asymmetric_bottleneck(forward, reverse);
    }
    for (name, plan) in setting.cross_traffic.iter() {
        let (access, _) = both_directions(&plan.access, "", clocks.of_cross_traffic(name));
        scenario = scenario.cross_traffic(cross_traffic(plan, access, setting));
    }
    if setting.record.overhead {
        scenario = scenario.count_overhead();
    }
    let steps = setting.script.iter();
    steps.fold(scenario, |scenario, step| happen(scenario, step, setting))
}

const fn port(association: AssociationPlan) -> u16 {
    if association.udp { DEFAULT_PORT } else { 0 }
}

/// Another pair of hosts.
fn cross_traffic(plan: &CrossTrafficPlan, access: LinkConfig, setting: &Setting) -> CrossTraffic {
    let cross_traffic = match plan.transport {
        TransportPlan::Sctp => {
            let config = config(plan.association, plan.policies);
            CrossTraffic::sctp(access, config, conversation(&plan.apps, End::Near))
                .encapsulation_port(port(plan.association))
        }
        TransportPlan::Tcp | TransportPlan::Mptcp => tcp::cross_traffic(access, plan),
    };
    let crossed = plan.through.as_ref().and_then(|name| {
        let place = setting.paths.names().position(|path| path == name)?;
        u8::try_from(place).ok()
    });
    let cross_traffic = cross_traffic.offload_checksums();
    match crossed {
        Some(path) => cross_traffic.through_path(path),
        None => cross_traffic,
    }
}

pub(super) fn config(plan: AssociationPlan, policies: Mechanisms) -> AssociationConfig {
    AssociationConfig {
        send_buffer: plan.send_buffer.size(),
        receive_buffer: plan.receive_buffer.size(),
        mtu: narrow(plan.mtu.0),
        max_retransmits: narrow(plan.max_retransmits.0),
        max_message: plan
            .send_buffer
            .bytes()
            .min(plan.receive_buffer.bytes())
            .min(1 << 20) as usize,
        policies: policies.0,
        // The simulator's clock advances by the counted number of visited elements, so the walks themselves can be
        // skipped.
        sack_walks: SackWalks::Counted,
        // The stacks of the papers negotiate nothing, and in a simulation both ends are ours.
        packet_counts: PacketCounts::Assumed,
        ..AssociationConfig::default()
    }
}

fn narrow(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn happen<T: Transport>(scenario: Scenario<T>, step: &ScriptStep, setting: &Setting) -> Scenario<T> {
    let position = |name: &Option<String>| setting.paths.position(name.as_ref()?);
    let at = step.at.0;
    if let Some(path) = position(&step.cut) {
        return scenario.at(at, Step::Cut(path));
    }
    if let Some(path) = position(&step.restore) {
        return scenario.at(at, Step::Heal(path));
    }
    if let Some(path) = position(&step.join) {
        return both_ends(scenario, |side| Step::Join(side, path), at);
    }
    if let Some(path) = position(&step.leave) {
        return both_ends(scenario, |side| Step::Leave(side, path), at);
    }
    let Some(path) = position(&step.change) else {
        return scenario;
    };
    changes(step).into_iter().fold(scenario, |scenario, change| {
        scenario.at(at, Step::Change(path, change))
    })
}

/// Changes that a script step makes to the links of a path.
pub(super) fn changes(step: &ScriptStep) -> Vec<LinkChange> {
    let rate = step.rate.map(|rate| match rate {
        RateLimit::At(rate) => LinkChange::Rate(Some(rate.0)),
        RateLimit::Unlimited => LinkChange::Rate(None),
    });
    let delay = step.delay.map(|delay| LinkChange::Delay(delay.0));
    let loss = step.loss.as_ref().map(|plan| LinkChange::Loss(loss(plan)));
    [rate, delay, loss].into_iter().flatten().collect()
}

fn both_ends<T: Transport>(
    scenario: Scenario<T>,
    step: impl Fn(Side) -> Step,
    at: core::time::Duration,
) -> Scenario<T> {
    let sides = Side::BOTH.into_iter();
    sides.fold(scenario, |scenario, side| scenario.at(at, step(side)))
}

fn conversation(apps: &Named<AppPlan>, end: End) -> Conversation {
    let here = apps.iter().filter(|(_, app)| app.end() == end);
    let here = here.map(|(_, app)| workload(app));
    let forward = apps.iter().filter(|(_, app)| app.end() != end);
    let asked = forward.filter_map(|(_, app)| {
        let request = app.request?;
        let requests = Requests::new(narrow(app.stream_count()), request.0 as usize);
        Some(Workload::Requests(requests))
    });
    Conversation::new(here.chain(asked)).metered()
}

fn workload(app: &AppPlan) -> Workload {
    let bytes = app.message.0 as usize;
    let count = app.streams.map_or(1, |streams| narrow(streams.0));
    let first = app.stream.map_or(0, |stream| narrow(stream.0));
    let streams = match app.stream {
        Some(_) => Streams::one(first),
        None if count == 1 => Streams::one(0),
        None => Streams::in_turn(count),
    };
    match app.kind {
        AppKind::Bulk => {
            let bulk = Bulk::new(bytes, streams);
            let bulk = match app.messages {
                Some(messages) => bulk.messages(u64::from(messages.0)),
                None => bulk,
            };
            Workload::Bulk(if app.unordered { bulk.unordered() } else { bulk })
        }
        AppKind::Balanced => Workload::Even(Even::new(bytes, count)),
        AppKind::Periodic => {
            let every = app
                .interval
                .map_or(core::time::Duration::from_secs(1), |every| every.0);
            let burst = app.burst.map_or(1, |burst| u64::from(burst.0));
            let paced = Paced::new(bytes, every, streams).in_bursts(burst);
            Workload::Paced(if app.unordered { paced.unordered() } else { paced })
        }
        AppKind::Client => {
            let thinks = app
                .think_time
                .map_or(core::time::Duration::ZERO, |thinks| thinks.0);
            Workload::Client(Client::new(bytes, first, thinks))
        }
        AppKind::Server => Workload::Server(Server::new(bytes)),
        AppKind::Download => {
            let objects = Objects::new(narrow(app.stream_count()), app.object_bytes(), bytes);
            Workload::Objects(match app.request {
                Some(_) => objects.when_asked(),
                None => objects,
            })
        }
    }
}

pub(super) const fn reading(plan: ReadingPlan) -> Reading {
    match plan {
        ReadingPlan::Eager => Reading::Eager,
        ReadingPlan::Paused => Reading::Paused,
        ReadingPlan::AtRate(rate) => Reading::AtRate(rate.0),
    }
}
