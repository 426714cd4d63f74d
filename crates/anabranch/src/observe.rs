//! Observer of an endpoint: it sees every packet, and the facts of all paths after each step.

use core::fmt;

use anabranch_policy::PathFacts;
use anabranch_proto::{Association, AssociationStatistics};
use anabranch_types::{AssociationId, Instant, PathAddr};

use crate::driver::State;

/// The direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From this host.
    Sent,
    /// To this host.
    Received,
}

/// Observes an endpoint, for logs. Called by the endpoint's task, between packets, so it should return quickly. Times count
/// from the start of the endpoint.
pub trait Observer: Send + fmt::Debug {
    /// An SCTP packet arrived, or is about to be sent.
    fn on_packet(&mut self, at: Instant, direction: Direction, path: PathAddr, packet: &[u8]);

    /// The state of an association after packets were processed. `facts` are of the same paths as in `statistics`.
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
    /// The state that an observer is to see.
    pub(crate) fn look(&self) -> Seen {
        let of = |id: AssociationId| {
            let association: &Association = self.core.association(id)?;
            Some((id, association.statistics(), association.path_facts().to_vec()))
        };
        Seen(self.ids().filter_map(of).collect())
    }
}

/// Reports packets and the resulting state to an observer.
pub(crate) fn tell<'p>(
    observer: &mut dyn Observer,
    (at, direction): (Instant, Direction),
    packets: impl Iterator<Item = (PathAddr, &'p [u8])>,
    Seen(seen): &Seen,
) {
    for (path, packet) in packets {
        observer.on_packet(at, direction, path, packet);
    }
    for (id, statistics, facts) in seen {
        observer.on_association(at, *id, statistics, facts);
    }
}
