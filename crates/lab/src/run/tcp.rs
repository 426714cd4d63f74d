//! TCP and Multipath TCP scenarios. How is a setting turned into a scenario? With one connection for each stream.

use anabranch_netsim::LinkConfig;
use anabranch_sim::CrossTraffic;
use anabranch_sim::tcp::{MptcpConfig, TcpApp, TcpConfig, TcpScenario};
use anabranch_types::Seed;

use super::connections;
use super::scenario::{on_network, reading};
use crate::plan::{
    AppKind, AppPlan, AssociationPlan, CrossTrafficPlan, End, Mechanisms, MptcpPlan, Named, Setting, TcpPlan,
    TransportPlan,
};

/// Builds the scenario of a run; the data are divided evenly among the connections.
pub(super) fn scenario(setting: &Setting, seed: u64) -> TcpScenario {
    let connections = connections(&setting.apps);
    let config = TcpConfig {
        mptcp: mptcp(setting),
        ..config(setting.association, setting.tcp, setting.policies)
    };
    let far = app(&setting.apps, End::Far, connections).reading(reading(setting.reading));
    let scenario = TcpScenario::tcp(Seed(seed))
        .offload_checksums()
        .config(config)
        .near_app(app(&setting.apps, End::Near, connections))
        .far_app(far);
    on_network(scenario, setting, Seed(seed))
}

/// Options of Multipath TCP beyond TCP's; the addresses come from the scenario.
fn mptcp(setting: &Setting) -> Option<MptcpConfig> {
    let MptcpPlan { nr_sack, checksum } = setting.mptcp;
    (setting.transport == TransportPlan::Mptcp).then(|| MptcpConfig {
        nr_sack: nr_sack.form(),
        checksum,
        ..MptcpConfig::default()
    })
}

/// Another pair of hosts, with one connection for each stream.
pub(super) fn cross_traffic(access: LinkConfig, plan: &CrossTrafficPlan) -> CrossTraffic {
    let config = config(plan.association, plan.tcp, plan.policies);
    let connections = connections(&plan.apps);
    CrossTraffic::tcp(access, config, app(&plan.apps, End::Near, connections)).with_connections(connections)
}

fn config(association: AssociationPlan, tcp: TcpPlan, policies: Mechanisms) -> TcpConfig {
    TcpConfig {
        policies: policies.0,
        send_buffer: association.send_buffer.bytes(),
        receive_buffer: association.receive_buffer.bytes(),
        mtu: u16::try_from(association.mtu.0).unwrap_or(u16::MAX),
        sack: tcp.sack,
        nr_sack: tcp.nr_sack,
        timestamps: tcp.timestamps,
        nagle: tcp.nagle,
        ..TcpConfig::default()
    }
}

/// The application that sends data on each connection.
fn sender(plan: &AppPlan, connections: u64) -> TcpApp {
    if plan.kind == AppKind::Download {
        let request = plan.request.map_or(0, |request| request.0);
        return TcpApp::sender(plan.object_bytes()).when_asked(request);
    }
    if let Some(every) = plan.interval {
        let burst = plan.burst.map_or(1, |burst| u64::from(burst.0));
        // Bursts rotate over the connections, so that each connection sends whole messages.
        let turn = every.0 * u32::try_from(connections).unwrap_or(u32::MAX);
        return TcpApp::paced(burst * plan.message.0, turn);
    }
    match plan.messages {
        Some(messages) => TcpApp::sender(u64::from(messages.0) * plan.message.0 / connections),
        None => TcpApp::bulk(),
    }
}

/// The application of one end on each connection. Measured data carry a time stamp of when they were handed over.
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
