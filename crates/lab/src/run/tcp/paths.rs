//! What do the connections of one end do on each path? TCP has one; flows of Multipath TCP are told apart by addresses.

use anabranch_netsim::topology::Path;
use anabranch_policy::PathFacts;
use anabranch_sim::Side;
use anabranch_sim::tcp::{Connection, State, TcpCounters, TcpSimulation};

/// One path, as the flows over it see it.
#[derive(Clone, Debug, Default)]
pub(super) struct PathView {
    /// What they counted, all together.
    pub(super) counters: TcpCounters,
    /// What is known by those that are not over.
    pub(super) facts: Vec<PathFacts>,
}

/// What each connection of a side does on each path.
pub(super) fn views(simulation: &TcpSimulation, side: Side) -> Vec<PathView> {
    let paths = simulation.paths();
    let mut views = vec![PathView::default(); paths.len()];
    for (_, connection) in simulation.host(side).endpoint().connections() {
        look(connection, paths, &mut views);
    }
    views
}

fn look(connection: &Connection, paths: &[Path], views: &mut [PathView]) {
    let mut has_flows = false;
    for subflow in connection.paths() {
        has_flows = true;
        let (local, remote) = (subflow.tuple.local.ip(), subflow.tuple.remote.ip());
        let is_it = |path: &Path| {
            [path.near, path.far] == [local, remote] || [path.far, path.near] == [local, remote]
        };
        if let Some(at) = paths.iter().position(is_it) {
            note(&mut views[at], subflow.counters, subflow.facts, subflow.state);
        }
    }
    if !has_flows && let Some(only) = views.first_mut() {
        let statistics = connection.statistics();
        note(only, statistics.counters, statistics.facts, statistics.state);
    }
}

fn note(view: &mut PathView, counters: TcpCounters, facts: PathFacts, state: State) {
    view.counters += counters;
    if state != State::Closed {
        view.facts.push(facts);
    }
}
