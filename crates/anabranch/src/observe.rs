//! Who may watch an endpoint? An observer: it sees every packet, and what is known of all paths after each step.

use core::fmt;

use anabranch_policy::PathFacts;
use anabranch_proto::{Association, AssociationStatistics};
use anabranch_types::{AssociationId, Instant, PathAddr};

use crate::driver::State;

/// Which way a packet went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Out.
    Sent,
    /// In.
    Received,
}

/// Watches an endpoint, for logs. It is called by the endpoint's task, between packets, so it should not take long. Times count
/// from the endpoint's beginning.
pub trait Observer: Send + fmt::Debug {
    /// An SCTP packet came, or is about to go.
    fn on_packet(&mut self, at: Instant, way: Way, path: PathAddr, packet: &[u8]);

    /// This is how an association is after packets came or went. `facts` are of the same paths as in `statistics`.
    fn on_association(
        &mut self,
        at: Instant,
        id: AssociationId,
        statistics: &AssociationStatistics,
        facts: &[PathFacts],
    );
}

/// All associations at one moment.
pub(crate) struct Seen(Vec<(AssociationId, AssociationStatistics, Vec<PathFacts>)>);

impl State {
    /// What an observer is to see.
    pub(crate) fn look(&self) -> Seen {
        let of = |id: AssociationId| {
            let association: &Association = self.core.association(id)?;
            Some((id, association.statistics(), association.path_facts().to_vec()))
        };
        Seen(self.ids().filter_map(of).collect())
    }
}

/// Tells an observer of packets and of what became of them.
pub(crate) fn tell<'p>(
    observer: &mut dyn Observer,
    (at, way): (Instant, Way),
    packets: impl Iterator<Item = (PathAddr, &'p [u8])>,
    Seen(seen): &Seen,
) {
    for (path, packet) in packets {
        observer.on_packet(at, way, path, packet);
    }
    for (id, statistics, facts) in seen {
        observer.on_association(at, *id, statistics, facts);
    }
}
