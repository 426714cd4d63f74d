//! Oracle of randomized simulations: the invariants that always hold. Delivery, buffer limits, silence when idle, and termination
//! only for a reason.

use core::time::Duration;

use anabranch_proto::{Association, CloseReason, Event};

use super::expected_terminations::ExpectedTerminations;
use super::limits::Limits;
use super::remove_former_addresses;
use crate::app::{Conversation, Inbox, Outbox};
use crate::{Side, Simulation};

/// Time after which everything must be settled once all paths work again: longer than heartbeats with the largest timeouts take
/// to detect a dead peer.
const PATIENCE: Duration = Duration::from_secs(2_400);
/// When a driver tries again to remove an address.
const RETRY: Duration = Duration::from_secs(1);

/// Lets the simulation settle, then checks the final state.
pub(super) fn conclude(
    simulation: &mut Simulation,
    limits: &Limits,
    expected: &ExpectedTerminations,
) -> Result<(), String> {
    let settled = settle(simulation);
    check_at_any_time(simulation, limits)?;
    check_reasons(simulation, expected)?;
    if !settled {
        return Err(format!(
            "not settled after {} s: {}",
            PATIENCE.as_secs(),
            describe(simulation)
        ));
    }
    check_delivery(simulation, expected)?;
    if Side::BOTH.iter().all(|side| is_open(simulation, *side)) {
        check_emptiness(simulation)?;
        if !expected.restarted() {
            check_abandoned(simulation)?;
        }
        check_quiet(simulation)?;
    }
    check_deadlines(simulation)
}

/// Runs until all is settled, at most for [`PATIENCE`]. Meanwhile the drivers repeat each second what an association has refused.
fn settle(simulation: &mut Simulation) -> bool {
    let end = simulation.now() + PATIENCE;
    while simulation.now() < end {
        remove_former_addresses(simulation);
        if simulation.run_until(RETRY, is_settled) {
            return true;
        }
    }
    false
}

/// Invariants that hold at any time: no delivery error, and no buffer above its limit.
pub(super) fn check_at_any_time(simulation: &Simulation, limits: &Limits) -> Result<(), String> {
    for side in Side::BOTH {
        let delivery_error = simulation
            .conversation(side)
            .and_then(Conversation::delivery_error);
        if let Some(delivery_error) = delivery_error {
            return Err(format!("{side:?}: {delivery_error}"));
        }
        check_buffers(simulation, limits, side)?;
    }
    Ok(())
}

fn check_buffers(simulation: &Simulation, limits: &Limits, side: Side) -> Result<(), String> {
    let Some(association) = simulation.association(side) else {
        return Ok(());
    };
    let statistics = association.statistics();
    let buffers = [
        ("send", statistics.send_buffer_used, limits.send(side)),
        ("receive", statistics.receive_buffer_used, limits.receive(side)),
    ];
    for (name, used, limit) in buffers {
        if used > limit {
            return Err(format!("{side:?}: {name} buffer of {limit} bytes holds {used}"));
        }
    }
    Ok(())
}

/// Both sides closed, or both have delivered everything sent.
fn is_settled(simulation: &Simulation) -> bool {
    let all = |holds: fn(&Simulation, Side) -> bool| Side::BOTH.iter().all(|side| holds(simulation, *side));
    let all_closed = Side::BOTH.iter().all(|side| !is_open(simulation, *side));
    all_closed || (all(is_connected) && all(all_delivered))
}

fn is_open(simulation: &Simulation, side: Side) -> bool {
    simulation
        .association(side)
        .is_some_and(|association| !association.is_closed())
}

fn is_connected(simulation: &Simulation, side: Side) -> bool {
    simulation
        .association(side)
        .is_some_and(Association::is_connected)
}

fn all_delivered(simulation: &Simulation, from: Side) -> bool {
    let flushed = simulation
        .association(from)
        .is_some_and(|association| association.is_flushed());
    let Some(sender) = simulation.conversation(from) else {
        return true;
    };
    let nothing_read = Inbox::default();
    let reader = simulation.conversation(from.other());
    let inbox = reader.map_or(&nothing_read, Conversation::inbox);
    flushed && inbox.is_complete(sender.outbox())
}

fn check_delivery(simulation: &Simulation, expected: &ExpectedTerminations) -> Result<(), String> {
    let finished = Side::BOTH.iter().any(|side| {
        let reason = simulation.conversation(*side).and_then(close_reason);
        reason == Some(&CloseReason::Finished)
    });
    let open = Side::BOTH.iter().all(|side| is_open(simulation, *side));
    for from in Side::BOTH {
        let (nothing_sent, nothing_read) = (Outbox::default(), Inbox::default());
        let outbox = simulation
            .conversation(from)
            .map_or(&nothing_sent, Conversation::outbox);
        let inbox = simulation
            .conversation(from.other())
            .map_or(&nothing_read, Conversation::inbox);
        let verdict = if open || (finished && !expected.restarted()) {
            inbox.equals(outbox)
        } else {
            inbox.agrees_with(outbox)
        };
        verdict.map_err(|delivery_error| format!("from {from:?}: {delivery_error}"))?;
    }
    Ok(())
}

fn check_reasons(simulation: &Simulation, expected: &ExpectedTerminations) -> Result<(), String> {
    for side in Side::BOTH {
        let Some(reason) = simulation.conversation(side).and_then(close_reason) else {
            continue;
        };
        let other = simulation.conversation(side.other()).and_then(close_reason);
        if !expected.explain(side, reason, other) {
            return Err(format!("{side:?} closed without a cause: {reason}"));
        }
    }
    Ok(())
}

fn close_reason(conversation: &Conversation) -> Option<&CloseReason> {
    conversation
        .events()
        .iter()
        .rev()
        .find_map(|(_, event)| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        })
}

/// The association counts as abandoned what it reported.
fn check_abandoned(simulation: &Simulation) -> Result<(), String> {
    for side in Side::BOTH {
        let (Some(association), Some(conversation)) =
            (simulation.association(side), simulation.conversation(side))
        else {
            continue;
        };
        let counted = association.statistics().abandoned;
        let reported = conversation.outbox().abandoned().count() as u64;
        if counted.sent + counted.unsent != reported {
            return Err(format!("{side:?} reports {reported} of {counted:?}"));
        }
    }
    Ok(())
}

/// When everything is acknowledged and read, all buffers and queues must be empty.
fn check_emptiness(simulation: &Simulation) -> Result<(), String> {
    for side in Side::BOTH {
        let Some(statistics) = simulation
            .association(side)
            .map(|association| association.statistics())
        else {
            continue;
        };
        let in_flight: u64 = statistics.paths.iter().map(|path| path.in_flight).sum();
        let left = [
            in_flight,
            statistics.send_buffer_used,
            statistics.receive_buffer_used,
        ];
        if left != [0; 3] {
            return Err(format!(
                "{side:?}: after all is delivered, in flight, send and receive buffer are {left:?}"
            ));
        }
    }
    Ok(())
}

/// Associations of a host whose peer restarted without its notice. They remain until the peer counts as unreachable, and probe each path once
/// a second if they have data.
fn leftovers(simulation: &Simulation) -> u64 {
    let all = Side::BOTH.map(|side| simulation.host(side).associations().len() as u64);
    all.iter().map(|count| count.saturating_sub(1)).sum()
}

/// Paths that the two sides count, answered or not.
fn known_paths(simulation: &Simulation) -> u64 {
    let of_side = |side| {
        let association = simulation.association(side)?;
        Some(association.statistics().paths.len() as u64)
    };
    Side::BOTH.into_iter().filter_map(of_side).sum()
}

/// An idle association only sends heartbeats now and then.
fn check_quiet(simulation: &mut Simulation) -> Result<(), String> {
    simulation.run_for(Duration::from_secs(70));
    let before = packets(simulation);
    let known_before = known_paths(simulation);
    simulation.run_for(Duration::from_secs(60));
    let said = packets(simulation) - before;
    let paths = simulation.paths().len() as u64;
    // Two HEARTBEATs and two HEARTBEAT ACKs for each path of a side, doubled to allow for late timers. A side has more paths than the
    // network after address changes, as long as it is not known that some do not work.
    // Paths that the peer has left may be removed meanwhile.
    let known = known_before.max(known_paths(simulation));
    let most = 8 * known + 64 * paths * leftovers(simulation);
    if said > most {
        return Err(format!(
            "{said} packets in a minute without anything to say, not {most}"
        ));
    }
    Ok(())
}

/// Timers that expire without end are also an error.
fn check_deadlines(simulation: &Simulation) -> Result<(), String> {
    let seconds = simulation.now().as_nanos() / 1_000_000_000;
    for side in Side::BOTH {
        let tally = simulation.host(side).tally();
        let most = 1_000 + 50 * seconds + 4 * (tally.packets_sent + tally.packets_received);
        if tally.deadlines > most {
            return Err(format!("{side:?}: {} deadlines in {seconds} s", tally.deadlines));
        }
    }
    Ok(())
}

fn packets(simulation: &Simulation) -> u64 {
    Side::BOTH
        .iter()
        .map(|side| simulation.host(*side).tally().packets_sent)
        .sum()
}

fn describe(simulation: &Simulation) -> String {
    let describe = |side: &Side| {
        let association = simulation.association(*side);
        let conversation = simulation.conversation(*side);
        format!(
            "{side:?} {}, sent {}, read {}",
            association.map_or_else(
                || "has no association".to_owned(),
                |association| {
                    let statistics = association.statistics();
                    format!(
                        "is {}, send buffer {}, peer window {}",
                        statistics.state, statistics.send_buffer_used, statistics.peer_window
                    )
                }
            ),
            conversation.map_or(0, |conversation| conversation.outbox().sent().len()),
            conversation.map_or(0, |conversation| conversation.inbox().messages()),
        )
    };
    Side::BOTH.iter().map(describe).collect::<Vec<_>>().join("; ")
}
