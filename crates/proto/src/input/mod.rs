//! What happens when a packet arrives? Verify, dispatch each chunk, then think about acknowledging.

mod data;
mod dispatch;
mod error;
mod guard;
mod heartbeat;
mod sack;
mod shutdown;
mod verify;

pub(crate) use sack::begin_recovery;
pub(crate) use verify::contains_abort;

use anabranch_policy::{PathFacts, TailProbe};
use anabranch_types::{Instant, PathAddr, PathId};
use anabranch_wire::Packet;

pub(crate) use sack::find_losses;

use crate::association::{close, paths};
use crate::path::{Arrived, Path};
use crate::{Association, address, handshake};

pub(crate) fn handle_packet(
    association: &mut Association,
    now: Instant,
    arrival: PathAddr,
    packet: &Packet<'_>,
) {
    let Some(path) = verify::admits(association, arrival, packet)
        .then(|| locate(association, now, arrival, packet))
        .flatten()
    else {
        association.counters.packets_dropped += 1;
        return;
    };
    let counters = &mut association.paths.path_mut(path).counters;
    counters.packets_received += 1;
    counters.bytes_received += packet.len() as u64;
    association.policies.burst.on_transmission_opportunity();
    shutdown::heard(association, now);
    match dispatch::chunks(association, now, path, packet) {
        Ok(carried_data) if carried_data && !association.state.is_closed() => {
            data_came(association, path, now);
        }
        Ok(_) => {}
        Err(violation) => close::because_of(association, violation),
    }
    if association.state.is_closed() && contains_abort(packet) {
        // The peer ends it, too, and expects no answer (RFC 9260 §9.1).
        association.control.clear();
    }
}

/// All chunks of a packet with DATA were handled.
fn data_came(association: &mut Association, path: PathId, now: Instant) {
    let policy = &mut *association.policies.ack;
    let immediate = association.receiver.packet_done(path, policy, now);
    association.paths.fact_mut(path).data_since_sack = true;
    if immediate {
        association.paths.ask_sack(path);
    }
}

/// The path of a packet whose tag is right.
fn locate(
    association: &mut Association,
    now: Instant,
    arrival: PathAddr,
    packet: &Packet<'_>,
) -> Option<PathId> {
    match association.paths.arrived(arrival) {
        Arrived::On(path) => Some(path),
        Arrived::Rebound(path) => {
            // "The receiver updates the remote encapsulation port if the source port of a packet with a correct
            // verification tag is another one" (RFC 6951 §5.4).
            paths::rebind(association, path, arrival.remote, now);
            Some(path)
        }
        Arrived::Unknown => handshake::introduce(association, arrival, packet)
            .or_else(|| address::introduce(association, now, arrival, packet)),
    }
}

/// Brings facts and timers of all paths up to date with the sender.
pub(crate) fn publish(association: &mut Association, now: Instant) {
    association.publish_windows();
    for path in association.paths.ids() {
        follow_path(association, path, now);
    }
}

/// Brings facts and T3 timer of `path` up to date with the sender.
pub(crate) fn follow_path(association: &mut Association, path: PathId, now: Instant) {
    let Association {
        sender,
        paths,
        policies,
        ..
    } = association;
    let (facts, machinery) = paths.both_mut(path);
    facts.in_flight = sender.in_flight(path);
    facts.queued = sender.queued(path);
    let oldest = sender.earliest_outstanding(path);
    machinery.t3.follow(oldest, facts.rto, now);
    machinery
        .tail_probe
        .follow(tail_probe_at(facts, machinery, &*policies.tail_probe));
}

/// A lost tail is probed some time after the last sign of activity, unless recovery or the T3 timer finds it first.
fn tail_probe_at(facts: &PathFacts, path: &Path, policy: &dyn TailProbe) -> Option<Instant> {
    if facts.in_flight == 0 || facts.in_recovery {
        return None;
    }
    let after = policy.probe_after(facts)?;
    let at = path.data_sent_at.max(path.acked_at)? + after;
    path.t3
        .expires()
        .is_some_and(|expires| at < expires)
        .then_some(at)
}
