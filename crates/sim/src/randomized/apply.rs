//! Execution of a randomized step: a change of the network or a call of an application.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use anabranch_netsim::link::{Loss, Reorder};
use anabranch_netsim::{LinkChange, Probability};
use anabranch_proto::{Association, Reliability};
use anabranch_types::{PathId, Rate};

use super::op::{KEYS, Limit, Op};
use super::shape::Shape;
use crate::app::{Conversation, Draft, InParts, Reading, Workload};
use crate::{Side, Simulation, Step};

impl Op {
    /// Executes the step.
    pub(super) fn apply(&self, simulation: &mut Simulation, shape: &Shape) {
        let paths = shape.paths.len();
        match *self {
            Self::Advance { millis } => simulation.run_for(Duration::from_millis(millis.into())),
            Self::Send {
                side,
                stream,
                bytes,
                count,
                unordered,
            } => {
                let draft = Draft::new(stream, bytes);
                let draft = if unordered { draft.unordered() } else { draft };
                send(simulation, side, (draft, Reliability::Reliable), count);
            }
            Self::SendUnreliable {
                side,
                stream,
                bytes,
                count,
                unordered,
                limit,
            } => {
                let draft = Draft::new(stream, bytes);
                let draft = if unordered { draft.unordered() } else { draft };
                send(simulation, side, (draft, limit.reliability()), count);
            }
            Self::UseKey {
                side,
                key,
                deactivates,
            } if shape.authenticates() => use_key(simulation, side, key, deactivates),
            Self::SendInParts { side, .. } => self.send_in_parts(simulation, side),
            Self::Reconfigure { side, change } => {
                simulation.talk(side, |_, association, _| {
                    // Not agreed, not connected, or an earlier change is not complete: no change.
                    let _ = association.reconfigure(change.reconfiguration());
                });
            }
            Self::Read { side, pace } => read(simulation, side, pace),
            Self::SetPrimary { side, path } => {
                let path = PathId((path % paths) as u8);
                simulation.talk(side, |_, association, _| association.set_primary(path));
            }
            Self::Shutdown { side } => {
                simulation.talk(side, |_, association, _| association.shutdown());
            }
            Self::Abort { side } => {
                simulation.talk(side, |_, association, _| association.abort(b"enough"));
            }
            Self::Restart => restart(simulation, shape),
            Self::Resize { side, send, receive } => {
                simulation.talk(side, |_, association, _| {
                    // Too small for the longest message, or not connected: no change.
                    let _ = association.set_send_buffer(send);
                    let _ = association.set_receive_buffer(receive);
                });
            }
            _ => self.apply_to_network(simulation, shape),
        }
    }

    fn send_in_parts(&self, simulation: &mut Simulation, side: Side) {
        let Self::SendInParts {
            stream,
            bytes,
            unordered,
            limit,
            part,
            pause,
            ..
        } = *self
        else {
            return;
        };
        let draft = Draft {
            unordered,
            ..Draft::new(stream, bytes)
        };
        let reliability = limit.map_or(Reliability::Reliable, Limit::reliability);
        let message = InParts::new(draft, reliability, part, Duration::from_millis(pause.into()));
        simulation.talk(side, |conversation, association, now| {
            conversation.also(now, Workload::InParts(message), association);
        });
    }

    fn apply_to_network(&self, simulation: &mut Simulation, shape: &Shape) {
        let paths = shape.paths.len();
        match *self {
            Self::Cut { path } => simulation.happens(Step::Cut(path % paths)),
            Self::Heal { path } => simulation.happens(Step::Heal(path % paths)),
            Self::Rate { path, kbit } => {
                let rate = Rate::bits_per_second(u64::from(kbit) * 1_000);
                simulation.happens(Step::Change(path % paths, LinkChange::Rate(Some(rate))));
            }
            Self::Delay { path, millis } => {
                let delay = Duration::from_millis(millis.into());
                simulation.happens(Step::Change(path % paths, LinkChange::Delay(delay)));
            }
            Self::Rebind { path, port } if shape.has_translators() => {
                simulation.happens(Step::Rebind(path % paths, port));
            }
            Self::Translate { path, host, port } if shape.may_translate() => {
                let path = path % paths;
                let outside = SocketAddr::new(outside(shape, path, host), port);
                simulation.happens(Step::Translate(path, outside));
            }
            Self::Mtu { path, bytes } if shape.searches_sizes() => {
                let mtu = LinkChange::Mtu(bytes.into());
                simulation.happens(Step::Change(path % paths, mtu));
            }
            Self::Hole { path, bytes } if shape.survives_holes() => {
                let largest = if bytes == 0 { u32::MAX } else { bytes.into() };
                simulation.happens(Step::Change(path % paths, LinkChange::Hole(largest)));
            }
            Self::Leave { side, path } if simulation.host(side).addresses().len() > 1 => {
                simulation.happens(Step::Leave(side, path % paths));
            }
            Self::Join { side, path } => simulation.happens(Step::Join(side, path % paths)),
            Self::Renumber { side, path, host } if shape.may_renumber() => {
                renumber(simulation, side, path % paths, host);
            }
            Self::Lose {
                path,
                toward,
                packets,
            } => {
                let numbers = (0..u64::from(packets)).collect();
                let loss = LinkChange::Loss(Loss::Script(numbers));
                change(simulation, path % paths, toward, loss);
            }
            Self::Disturb {
                path,
                toward,
                lose,
                reorder,
                duplicate,
                corrupt,
            } => {
                // The layer that detects errors in place of the checksum drops damaged packets.
                let dropped = if shape.lacks_checksums() { corrupt } else { 0 };
                let per_mille = [lose + dropped, reorder, duplicate, corrupt - dropped];
                disturb(simulation, (path % paths, toward), per_mille);
            }
            _ => {}
        }
    }
}

/// Gives both sides all keys and makes `side` use one of them.
fn use_key(simulation: &mut Simulation, side: Side, key: u16, deactivates: bool) {
    if !Side::BOTH.into_iter().all(|side| is_connected(simulation, side)) {
        return;
    }
    Side::BOTH.into_iter().for_each(|side| add_keys(simulation, side));
    simulation.act(side, |host, now| {
        host.change_keys(now, |keys| {
            let former = keys.in_use();
            keys.select(key).expect("invariant: it was added");
            if deactivates && former != key {
                keys.deactivate(former).expect("invariant: it was in use");
            }
        });
    });
}

/// Adds all keys, with secrets that both sides know.
fn add_keys(simulation: &mut Simulation, side: Side) {
    simulation.act(side, |host, now| {
        host.change_keys(now, |keys| {
            for key in 0..=KEYS {
                let secret = if key == 0 { Vec::new() } else { vec![key as u8; 16] };
                keys.add(key, &secret).expect("invariant: there is room");
            }
        });
    });
}

fn is_connected(simulation: &Simulation, side: Side) -> bool {
    let association = simulation.association(side);
    association.is_some_and(Association::is_connected)
}

/// Gives an uplink of `side` another address, unless the side has removed that address or is not connected: a host that moves during the
/// handshake has to connect again.
fn renumber(simulation: &mut Simulation, side: Side, path: usize, host: u8) {
    let former = simulation.end_of(path, side);
    let network = 1 + side.index() as u8;
    let address: IpAddr = if former.is_ipv6() {
        Ipv6Addr::new(0x2001, 0xdb8, path as u16, network.into(), 0, 0, 0, host.into()).into()
    } else {
        Ipv4Addr::new(10, path as u8, network, host).into()
    };
    let is_used = simulation.host(side).addresses().contains(&former);
    let are_connected = Side::BOTH.into_iter().all(|side| is_connected(simulation, side));
    if are_connected && is_used && address != former.ip() {
        simulation.renumber(side, path, address);
    }
}

/// A public address of the NAT on `path`, of the IP version of the scenario.
fn outside(shape: &Shape, path: usize, host: u8) -> IpAddr {
    let path = path as u8;
    if shape.ipv6 {
        Ipv6Addr::new(0x2001, 0xdb8, 0xffff, path.into(), 0, 0, 0, host.into()).into()
    } else {
        Ipv4Addr::new(198, 51, 100 + path, host).into()
    }
}

fn send(simulation: &mut Simulation, side: Side, message: (Draft, Reliability), count: u32) {
    simulation.talk(side, |conversation, association, now| {
        for _ in 0..count {
            // Valid refusals: a full buffer, a stream that the peer does not have, a shutdown in progress.
            if conversation.send_limited(message, association, now).is_err() {
                break;
            }
        }
    });
}

pub(super) fn read(simulation: &mut Simulation, side: Side, pace: u32) {
    let reading = match pace {
        0 => Reading::Paused,
        u32::MAX => Reading::Eager,
        bytes => Reading::AtRate(Rate::bits_per_second(u64::from(bytes) * 8)),
    };
    simulation.talk(side, |conversation, association, now| {
        conversation.read_otherwise(now, reading, association);
    });
}

pub(super) fn disturb(simulation: &mut Simulation, link: (usize, Side), per_mille: [u32; 4]) {
    let (path, toward) = link;
    let [lose, reorder, duplicate, corrupt] =
        per_mille.map(|chance| Probability::of(f64::from(chance.min(1_000)) / 1_000.0));
    let held_back = Reorder {
        chance: reorder,
        hold: Duration::from_millis(50),
    };
    for what in [
        LinkChange::Loss(Loss::Bernoulli(lose)),
        LinkChange::Reorder(held_back),
        LinkChange::Duplicate(duplicate),
        LinkChange::Corrupt(corrupt),
    ] {
        change(simulation, path, toward, what);
    }
}

fn change(simulation: &mut Simulation, path: usize, toward: Side, what: LinkChange) {
    let path = &simulation.paths()[path];
    let link = match toward {
        Side::Far => path.forward[0],
        Side::Near => path.reverse[0],
    };
    simulation.network_mut().change_link(link, what);
}

fn restart(simulation: &mut Simulation, shape: &Shape) {
    if !shape.may_restart() {
        return;
    }
    let past = simulation.conversation(Side::Near);
    let life = past.map_or(0, |conversation| conversation.outbox().life()) + 1;
    simulation.act(Side::Near, |host, now| {
        let all: Vec<_> = host.associations().collect();
        all.into_iter().for_each(|id| host.forget(id));
        for address in host.addresses().to_vec() {
            host.leave(now, address)
                .expect("no association is left to object");
        }
    });
    // A restarted host has all its addresses again, in the configured order. In another order, the address pairing might pair
    // only addresses that cannot reach each other, and an INIT is sent between those pairs only.
    for path in 0..shape.paths.len() {
        simulation.happens(Step::Join(Side::Near, path));
    }
    let config = shape.config(Side::Near);
    simulation.connect_from(Side::Near, &config, Conversation::default().of_life(life));
    if shape.authenticates() {
        // The other side may keep a key in use.
        add_keys(simulation, Side::Near);
    }
}
