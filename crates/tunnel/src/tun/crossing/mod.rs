//! Crossings: TCP connections of programs, joined to sockets of this process by the kernel's own TCP. Where does a packet go?
//!
//! A client's SYN waits until the far side has connected to the target. Then this process opens a connection of its own, the leg, to an address that only the
//! device has, the door. Its SYN comes out of the device too. Each SYN becomes the answer to the other one, a SYN-ACK, and from then on each
//! packet of one connection is a packet of the other one, with other addresses and ports:
//!
//! ```text
//! client ── SYN ──▶ target            leg ── SYN ──▶ door
//! client ◀─ SYN-ACK (of the leg)      leg ◀─ SYN-ACK (of the client)
//! client ◀──────── the same segments in both directions ────────▶ leg
//! ```
//!
//! So both ends are TCP of the kernel, and a reset, an end or a full window of one is that of the other. Both connections are opened from this host, which is
//! what firewalls let pass.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use etherparse::TcpHeaderSlice;

use super::answer;
use super::packet::{Ends, Packet, rewrite};
use super::syn::Syn;
use crate::frame::Reason;

/// How long a crossing is kept when its leg has been closed and nothing passes: as long as the kernel keeps such connections (TIME-WAIT), and
/// its retransmissions some more.
const LINGER: Duration = Duration::from_secs(75);

/// Crossings at the same time, with those that linger.
const MAX_CROSSINGS: usize = 65_536;

/// Addresses of doors, one for each IP version that the device has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Doors {
    pub(super) v4: Option<Ipv4Addr>,
    pub(super) v6: Option<Ipv6Addr>,
}

impl Doors {
    /// The door for packets of the same IP version as `like`.
    pub(super) fn like(&self, like: IpAddr) -> Option<IpAddr> {
        match like {
            IpAddr::V4(_) => self.v4.map(IpAddr::V4),
            IpAddr::V6(_) => self.v6.map(IpAddr::V6),
        }
    }
}

/// A crossing. That of one that is over refers to none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CrossingId(u64);

/// What is to be done with a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It was given its new ends, and goes back into the device.
    Pass,
    /// Nothing.
    Drop,
    /// These packets go into the device.
    Answer(Vec<Vec<u8>>),
    /// A client wants a connection to its target: that is to be opened, and the crossing [expected](Crossings::expect) or
    /// [refused](Crossings::refuse).
    Open {
        id: CrossingId,
        target: SocketAddr,
        /// A former connection of the same client, which it has forgotten.
        replaces: Option<CrossingId>,
    },
}

/// Which of both connections of a crossing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Client,
    Leg,
}

#[derive(Debug)]
struct Crossing {
    /// As the client sends.
    client: Ends,
    client_syn: Syn,
    /// As the leg sends, from when it is expected.
    leg: Option<Ends>,
    leg_syn: Option<Syn>,
    /// The leg was closed.
    is_ended: bool,
    last: Instant,
}

/// All crossings of a device.
#[derive(Debug)]
pub(super) struct Crossings {
    doors: Doors,
    by_ends: HashMap<Ends, (CrossingId, Side)>,
    crossings: HashMap<CrossingId, Crossing>,
    next: u64,
    /// The last port of a door.
    port: u16,
}

impl Crossings {
    pub(super) fn new(doors: Doors) -> Self {
        Self {
            doors,
            by_ends: HashMap::new(),
            crossings: HashMap::new(),
            next: 0,
            port: 0,
        }
    }

    /// A TCP packet came out of the device.
    pub(super) fn handle(
        &mut self,
        bytes: &mut [u8],
        packet: &Packet,
        is_partial: bool,
        now: Instant,
    ) -> Verdict {
        let segment = bytes.get(packet.transport..packet.end).unwrap_or_default();
        let Ok(header) = TcpHeaderSlice::from_slice(segment) else {
            return Verdict::Drop;
        };
        let opens = header.syn() && !header.ack() && !header.rst();
        match self.by_ends.get(&packet.ends).copied() {
            Some((id, side)) if opens => self.on_syn(id, side, Syn::of(&header), now),
            Some((id, side)) => {
                let Some(crossing) = self.crossings.get_mut(&id) else {
                    return Verdict::Drop;
                };
                crossing.last = now;
                let Some(ends) = crossing.beyond(side) else {
                    return Verdict::Drop;
                };
                rewrite(bytes, packet, ends, is_partial);
                Verdict::Pass
            }
            None if opens && !self.is_door(packet.ends.destination.ip()) => {
                self.begin(packet.ends, Syn::of(&header), None, now)
            }
            None => unknown(packet.ends, &header, segment.len()),
        }
    }

    /// The leg of a crossing will come from `leg`: returns the door that it is to connect to. `None` if the crossing is over.
    pub(super) fn expect(&mut self, id: CrossingId, leg: SocketAddr) -> Option<SocketAddr> {
        let crossing = self.crossings.get_mut(&id)?;
        let door = self.doors.like(leg.ip())?;
        // The ports of legs differ, as far as the kernel knows: those that were closed may still linger here.
        let ends = (0..=u16::MAX).find_map(|_| {
            self.port = self.port.checked_add(1).unwrap_or(1);
            let ends = Ends {
                source: leg,
                destination: SocketAddr::new(door, self.port),
            };
            (!self.by_ends.contains_key(&ends)).then_some(ends)
        })?;
        crossing.leg = Some(ends);
        self.by_ends.insert(ends, (id, Side::Leg));
        Some(ends.destination)
    }

    /// The client of a crossing.
    pub(super) fn client(&self, id: CrossingId) -> Option<SocketAddr> {
        Some(self.crossings.get(&id)?.client.source)
    }

    /// There will be no connection: returns what the client is told.
    pub(super) fn refuse(&mut self, id: CrossingId, reason: Reason) -> Option<Vec<u8>> {
        let crossing = self.remove(id)?;
        let router = self.doors.like(crossing.client.source.ip())?;
        answer::refusal(crossing.client, crossing.client_syn.isn, reason, router)
    }

    /// The leg was closed: the kernel ends both connections, and then nothing passes any more.
    pub(super) fn end(&mut self, id: CrossingId, now: Instant) {
        if let Some(crossing) = self.crossings.get_mut(&id) {
            crossing.is_ended = true;
            crossing.last = now;
        }
    }

    /// Forgets crossings on which nothing has passed for long since their legs were closed.
    pub(super) fn expire(&mut self, now: Instant) {
        let is_over = |crossing: &Crossing| crossing.is_ended && now.duration_since(crossing.last) >= LINGER;
        let over = self.crossings.iter().filter(|(_, crossing)| is_over(crossing));
        let over: Vec<CrossingId> = over.map(|(id, _)| *id).collect();
        for id in over {
            self.remove(id);
        }
    }

    fn begin(&mut self, client: Ends, syn: Syn, replaces: Option<CrossingId>, now: Instant) -> Verdict {
        if self.crossings.len() >= MAX_CROSSINGS || self.doors.like(client.source.ip()).is_none() {
            let refused = answer::reset(client.reversed(), 0, Some(syn.isn.wrapping_add(1)));
            return Verdict::Answer(refused.into_iter().collect());
        }
        let id = CrossingId(self.next);
        self.next += 1;
        self.by_ends.insert(client, (id, Side::Client));
        let crossing = Crossing {
            client,
            client_syn: syn,
            leg: None,
            leg_syn: None,
            is_ended: false,
            last: now,
        };
        self.crossings.insert(id, crossing);
        Verdict::Open {
            id,
            target: client.destination,
            replaces,
        }
    }

    /// A SYN of a crossing that is known: the first one of the leg, one sent again, or that of a client's next connection.
    fn on_syn(&mut self, id: CrossingId, side: Side, syn: Syn, now: Instant) -> Verdict {
        let Some(crossing) = self.crossings.get_mut(&id) else {
            return Verdict::Drop;
        };
        if side == Side::Client && crossing.client_syn.isn != syn.isn {
            let client = crossing.client;
            self.remove(id);
            return self.begin(client, syn, Some(id), now);
        }
        crossing.last = now;
        match side {
            // Its timestamp is a later one.
            Side::Client => crossing.client_syn = syn,
            Side::Leg => crossing.leg_syn = Some(syn),
        }
        let answers = crossing.answers(side);
        Verdict::Answer(answers)
    }

    fn remove(&mut self, id: CrossingId) -> Option<Crossing> {
        let crossing = self.crossings.remove(&id)?;
        self.by_ends.remove(&crossing.client);
        if let Some(leg) = crossing.leg {
            self.by_ends.remove(&leg);
        }
        Some(crossing)
    }

    fn is_door(&self, address: IpAddr) -> bool {
        self.doors.like(address) == Some(address)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.crossings.len()
    }
}

impl Crossing {
    /// The ends of a packet of `side` beyond the crossing.
    fn beyond(&self, side: Side) -> Option<Ends> {
        // Before both SYNs have crossed there are no segments.
        self.leg_syn?;
        match side {
            Side::Client => self.leg.map(Ends::reversed),
            Side::Leg => Some(self.client.reversed()),
        }
    }

    /// SYN-ACKs after a SYN of `side`, once there are both: for both if the leg's comes, else for the client, which has not got its own.
    fn answers(&self, side: Side) -> Vec<Vec<u8>> {
        let (Some(leg), Some(leg_syn)) = (self.leg, self.leg_syn) else {
            return Vec::new();
        };
        let to_client = leg_syn.as_answer_to(&self.client_syn, self.client.reversed());
        let to_leg = self.client_syn.as_answer_to(&leg_syn, leg.reversed());
        to_client
            .into_iter()
            .chain(to_leg.filter(|_| side == Side::Leg))
            .collect()
    }
}

/// What is done with a segment of a connection that nobody knows: it is reset (RFC 9293 §3.10.7.1).
fn unknown(ends: Ends, header: &TcpHeaderSlice<'_>, length: usize) -> Verdict {
    if header.rst() {
        return Verdict::Drop;
    }
    let reset = if header.ack() {
        answer::reset(ends.reversed(), header.acknowledgment_number(), None)
    } else {
        let data = length.saturating_sub(header.slice().len()) as u32;
        let length = data + u32::from(header.syn()) + u32::from(header.fin());
        let acknowledged = header.sequence_number().wrapping_add(length);
        answer::reset(ends.reversed(), 0, Some(acknowledged))
    };
    Verdict::Answer(reset.into_iter().collect())
}
