//! Link metrics. What happened at the links? The same metrics for every transport: each path's own link, then the
//! bottleneck.

use anabranch_netsim::link::{DropCause, LinkStats};
use anabranch_netsim::topology::Path;
use anabranch_netsim::{LinkId, Network};
use anabranch_sim::AnyHost;

use super::record::Record;
use crate::plan::{End, Setting};

/// Each path's own link in the direction of the data and in the reverse direction, then the bottleneck's.
pub(super) fn of(paths: &[Path], setting: &Setting) -> Vec<(LinkId, LinkId)> {
    let own = |path: &Path| Some((*path.forward.first()?, *path.reverse.last()?));
    let shared = |path: &Path| Some((*path.forward.last()?, *path.reverse.first()?));
    let bottleneck = setting.bottleneck.as_ref().and_then(|_| shared(paths.first()?));
    let all = paths.iter().filter_map(own).chain(bottleneck);
    all.map(|(forward, reverse)| match setting.data_sender() {
        End::Near => (forward, reverse),
        End::Far => (reverse, forward),
    })
    .collect()
}

/// Statistics of both directions of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted(LinkStats, LinkStats);

impl Counted {
    /// Creates them from the statistics of any kind of link.
    #[cfg(target_os = "linux")]
    pub(super) const fn new(forward: LinkStats, reverse: LinkStats) -> Self {
        Self(forward, reverse)
    }

    pub(super) fn at(network: &Network<AnyHost>, (forward, reverse): (LinkId, LinkId)) -> Self {
        let stats = |link| network.link(link).stats().clone();
        Self(stats(forward), stats(reverse))
    }
}

/// Writes the metrics of all links, named by their paths.
pub(super) fn write(
    record: &mut Record,
    setting: &Setting,
    before: &[Counted],
    after: &[Counted],
    seconds: f64,
) {
    let paths = setting.paths.names().map(|name| format!("path.{name}"));
    let bottleneck = setting.bottleneck.as_ref().map(|_| "bottleneck".to_owned());
    for (group, (before, after)) in paths.chain(bottleneck).zip(before.iter().zip(after)) {
        link(record, &group, before, after, seconds);
    }
}

fn link(record: &mut Record, group: &str, before: &Counted, after: &Counted, seconds: f64) {
    let causes = [
        ("queue", DropCause::QueueFull),
        ("early", DropCause::Early),
        ("loss", DropCause::Lost),
        ("cut", DropCause::Cut),
    ];
    for (name, cause) in causes {
        let drops = after.0.dropped(cause).packets - before.0.dropped(cause).packets;
        record.set(format!("{group}.drops.{name}"), drops as f64);
    }
    let bytes = after.0.delivered.bytes - before.0.delivered.bytes;
    record.set(format!("{group}.carried"), bytes as f64 * 8e-6 / seconds);
    let busy = after.0.busy.saturating_sub(before.0.busy).as_secs_f64();
    record.set(format!("{group}.idle"), (1.0 - busy / seconds).max(0.0));
    let reverse = after.1.dropped_in_total().packets - before.1.dropped_in_total().packets;
    record.set(format!("{group}.reverse.drops"), reverse as f64);
}
