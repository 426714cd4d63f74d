//! What comes out of a point whose data TCP carries, or Multipath TCP? One connection for each stream.

mod measure;
mod paths;
mod samples;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use anabranch_netsim::{LinkChange, LinkConfig};
use anabranch_sim::tcp::{MptcpConfig, TcpApp, TcpConfig, TcpScenario, TcpSimulation};
use anabranch_sim::{Rival, Side};
use anabranch_types::{Instant, Seed};

use super::record::{Record, TimeSeriesRow};
use super::samples::EVERY;
use super::scenario::{changes, reading, rival as any_rival, there_and_back};
use super::{OFF_THE_CLOCK, Recording, RunError, talker, unwritten};
use crate::plan::{
    AppKind, AppPlan, AssociationPlan, CrossTrafficPlan, End, Mechanisms, MptcpPlan, Named, Point,
    ScriptStep, Setting, TcpPlan, TransportPlan,
};
use measure::{Snapshot, Window, completed};
use samples::Samples;

/// Simulates a point over TCP or Multipath TCP.
pub(super) fn simulate(point: &Point, stop: &AtomicBool, recording: &Recording) -> Result<Record, RunError> {
    if recording.has_events() {
        let text = "only of SCTP events are written; a capture shows the packets of others";
        return Err(RunError::Files(text.into()));
    }
    let setting = &*point.setting;
    let begin = Instant::ZERO + setting.time.warm_up.0;
    let end = begin + setting.time.measure.0;
    let mut run = Run {
        simulation: start(point, recording)?,
        setting,
        stop,
        samples: Samples::default(),
        series: Vec::new(),
        next_row: setting.record.time_series.map(|_| Instant::ZERO),
        script: script(setting),
    };
    run.pass(begin)?;
    let before = Snapshot::take(&run.simulation, setting);
    let before = match setting.time.warm_up.0.is_zero() {
        true => before.with_the_first_syn(),
        false => before,
    };
    run.pass(end.min(begin + OFF_THE_CLOCK))?;
    while run.simulation.now() < end && !run.is_complete() {
        run.pass(end.min(run.simulation.now() + EVERY))?;
        run.samples.take(&run.simulation, setting);
    }
    let after = Snapshot::take(&run.simulation, setting);
    let mut record = Record::default();
    let window = Window {
        setting,
        simulation: &run.simulation,
        before: &before,
        after: &after,
    };
    window.write(&mut record);
    run.samples.write(setting, &mut record);
    run.simulation.finish_captures().map_err(unwritten)?;
    record.time_series = run.series;
    Ok(record)
}

/// A simulation that is under way.
struct Run<'a> {
    simulation: TcpSimulation,
    setting: &'a Setting,
    stop: &'a AtomicBool,
    samples: Samples,
    series: Vec<TimeSeriesRow>,
    /// When the next row of the time series is due, if there is one.
    next_row: Option<Instant>,
    /// What is still to happen, the last first.
    script: Vec<Happens>,
}

/// A change of a path.
struct Happens {
    at: Duration,
    path: usize,
    change: LinkChange,
}

impl Run<'_> {
    /// Lets time pass up to `end`; what is due on the way happens, and is written.
    fn pass(&mut self, end: Instant) -> Result<(), RunError> {
        while self.simulation.now() < end {
            if self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
            let now = self.simulation.now();
            self.happen(now);
            if let (Some(next), Some(every)) = (self.next_row, self.setting.record.time_series)
                && next <= now
            {
                samples::time_series_rows(&self.simulation, self.setting, &mut self.series);
                self.next_row = Some(next + every.0);
            }
            let next_change = self.script.last().map(|happens| Instant::ZERO + happens.at);
            let dates = [self.next_row, next_change, Some(now + EVERY), Some(end)];
            let until = dates.into_iter().flatten().min().unwrap_or(end);
            self.simulation.run_for(until - now);
        }
        Ok(())
    }

    /// Whether there is nothing more to measure.
    fn is_complete(&self) -> bool {
        self.setting.time.until_complete && completed(&self.simulation, self.setting).is_some()
    }

    fn happen(&mut self, now: Instant) {
        while let Some(happens) = self.script.pop_if(|happens| Instant::ZERO + happens.at <= now) {
            self.simulation.change_path(happens.path, &happens.change);
        }
    }
}

/// What happens to paths, the last first.
fn script(setting: &Setting) -> Vec<Happens> {
    let all = setting.script.iter();
    let mut script: Vec<Happens> = all.flat_map(|step| changes_of(step, setting)).collect();
    script.sort_by_key(|happens| happens.at);
    // Of one moment in the order of the plan.
    script.reverse();
    script
}

fn changes_of(step: &ScriptStep, setting: &Setting) -> Vec<Happens> {
    let path = step.path().and_then(|name| setting.paths.position(name));
    let what = match step {
        ScriptStep { cut: Some(_), .. } => vec![LinkChange::Cut],
        ScriptStep { restore: Some(_), .. } => vec![LinkChange::Heal],
        _ => changes(step),
    };
    let at = step.at.0;
    let each = |change| {
        Some(Happens {
            at,
            path: path?,
            change,
        })
    };
    what.into_iter().filter_map(each).collect()
}

/// The hosts; each connection carries its share.
fn scenario(setting: &Setting, seed: u64, connections: u64) -> Result<TcpScenario, RunError> {
    let mut paths = setting
        .paths
        .iter()
        .map(|(name, path)| there_and_back(path, name));
    let (there, back) = paths.next().ok_or(RunError::NoAssociation)?;
    let config = TcpConfig {
        mptcp: mptcp(setting),
        ..config(setting.association, setting.tcp, setting.policies)
    };
    let far = app(&setting.apps, End::Far, connections).reading(reading(setting.reading));
    let mut scenario = TcpScenario::new(Seed(seed), there)
        .with_way_back(back)
        .config(config)
        .near_talks(app(&setting.apps, End::Near, connections))
        .far_talks(far);
    for (there, back) in paths {
        scenario = scenario.path(there).with_way_back(back);
    }
    if let Some(bottleneck) = &setting.bottleneck {
        let (there, back) = there_and_back(bottleneck, "bottleneck");
        scenario = scenario.bottleneck(there, back);
    }
    for (_, rival) in setting.cross_traffic.iter() {
        scenario = scenario.rival(any_rival(rival, setting));
    }
    Ok(scenario)
}

/// The simulation, with the hosts connecting one after another as often as there are streams.
fn start(point: &Point, recording: &Recording) -> Result<TcpSimulation, RunError> {
    let setting = &*point.setting;
    let connections = connections(&setting.apps);
    let scenario = scenario(setting, point.seed, connections)?;
    let mut simulation = recording.capture_tcp(scenario).map_err(unwritten)?.build();
    if setting.record.overhead {
        for side in Side::BOTH {
            simulation.act(side, |host, _| host.count_overhead());
        }
    }
    simulation.connect_in_turn(connections);
    simulation.connect_rivals();
    Ok(simulation)
}

/// What Multipath TCP has beside TCP; the addresses are the scenario's.
fn mptcp(setting: &Setting) -> Option<MptcpConfig> {
    let MptcpPlan { nr_sack, checksum } = setting.mptcp;
    (setting.transport == TransportPlan::Mptcp).then(|| MptcpConfig {
        nr_sack: nr_sack.form(),
        checksum,
        ..MptcpConfig::default()
    })
}

/// Another pair of hosts, with one connection for each stream.
pub(super) fn rival(access: LinkConfig, plan: &CrossTrafficPlan) -> Rival {
    let config = config(plan.association, plan.tcp, plan.policies);
    let connections = connections(&plan.apps);
    Rival::tcp(access, config, app(&plan.apps, End::Near, connections)).with_connections(connections)
}

fn config(association: AssociationPlan, tcp: TcpPlan, policies: Mechanisms) -> TcpConfig {
    TcpConfig {
        policies: policies.0,
        send_buffer: association.send_buffer.0,
        receive_buffer: association.receive_buffer.0,
        mtu: u16::try_from(association.mtu.0).unwrap_or(u16::MAX),
        sack: tcp.sack,
        nr_sack: tcp.nr_sack,
        timestamps: tcp.timestamps,
        nagle: tcp.nagle,
        ..TcpConfig::default()
    }
}

/// As many as the application with the most streams has.
fn connections(apps: &Named<AppPlan>) -> u64 {
    let carriers = |(_, app): (&str, &AppPlan)| u64::from(app.stream_count());
    apps.iter().map(carriers).max().unwrap_or(1)
}

/// What an application sends on each connection.
fn sender(plan: &AppPlan, connections: u64) -> TcpApp {
    if plan.kind == AppKind::Download {
        let request = plan.request.map_or(0, |request| request.0);
        return TcpApp::sender(plan.object_bytes()).when_asked(request);
    }
    if let Some(every) = plan.interval {
        let burst = plan.burst.map_or(1, |burst| u64::from(burst.0));
        // In turn, so that each connection has whole messages to send.
        let turn = every.0 * u32::try_from(connections).unwrap_or(u32::MAX);
        return TcpApp::paced(burst * plan.message.0, turn);
    }
    match plan.messages {
        Some(messages) => TcpApp::sender(u64::from(messages.0) * plan.message.0 / connections),
        None => TcpApp::bulk(),
    }
}

/// What an end does on each connection. What is measured tells when it was handed over.
fn app(apps: &Named<AppPlan>, end: End, connections: u64) -> TcpApp {
    let at = |end| apps.iter().map(|(_, app)| app).find(|app| app.end() == end);
    let request = apps.iter().find_map(|(_, app)| app.request);
    let app = match at(end) {
        None => request.map_or_else(TcpApp::reader, |request| TcpApp::asking(request.0)),
        Some(plan) => sender(plan, connections).stamped(plan.message.0),
    };
    match at(end.other()) {
        Some(plan) => app.metered(plan.message.0),
        None => app,
    }
}
