//! Results of a simulation run: goodput, counters, statistics, and a hash over all packets.

use core::time::Duration;

use anabranch_proto::AssociationStatistics;
use anabranch_types::{Instant, PathAddr, Rate};

use crate::{Side, Simulation};

/// Counters of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received, damaged ones included.
    pub packets_received: u64,
    /// Timer expiries.
    pub deadlines: u64,
    /// Events reported by the core.
    pub events: u64,
    trace: TraceHash,
    is_untraced: bool,
}

impl Tally {
    /// For a host whose packets are not compared.
    pub(crate) fn untraced() -> Self {
        Self {
            is_untraced: true,
            ..Self::default()
        }
    }

    /// Hash over every packet that the host saw: time, addresses, length, and checksum, which covers the content unless checksums
    /// are offloaded. Constant where hashing is disabled.
    #[must_use]
    pub const fn trace_hash(&self) -> u64 {
        self.trace.0
    }

    pub(crate) fn sent(&mut self, now: Instant, path: PathAddr, packet: &[u8]) {
        self.packets_sent += 1;
        self.trace(now, path, packet);
    }

    pub(crate) fn received(&mut self, now: Instant, path: PathAddr, packet: &[u8]) {
        self.packets_received += 1;
        self.trace(now, path, packet);
    }

    fn trace(&mut self, now: Instant, path: PathAddr, packet: &[u8]) {
        if !self.is_untraced {
            self.trace.note(now, path, packet);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct TraceHash(u64);

impl TraceHash {
    fn note(&mut self, now: Instant, path: PathAddr, packet: &[u8]) {
        self.add(now.as_nanos());
        self.add(u64::from(path.local.port()) << 16 | u64::from(path.remote.port()));
        self.add(low_bits(path.local.ip()) << 32 | low_bits(path.remote.ip()));
        self.add(packet.len() as u64);
        // The common header with ports, tag and checksum (RFC 9260 §3.1).
        if let Some(header) = packet.first_chunk::<12>() {
            let header = header.as_chunks::<4>().0;
            header
                .iter()
                .for_each(|word| self.add(u32::from_be_bytes(*word).into()));
        }
    }

    const fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}

fn low_bits(address: core::net::IpAddr) -> u64 {
    match address {
        core::net::IpAddr::V4(v4) => u64::from(v4.to_bits()),
        core::net::IpAddr::V6(v6) => {
            (v6.to_bits() & 0xffff_ffff) as u64 ^ (v6.to_bits() >> 80) as u64 & 0xffff_ffff
        }
    }
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Duration of the run.
    pub elapsed: Duration,
    /// Data sent by the near side and read by the far side.
    pub forward: Delivery,
    /// Data sent by the far side and read by the near side.
    pub backward: Delivery,
    /// The near side's association; `None` if there never was one.
    pub near: Option<AssociationStatistics>,
    /// The far side's association; `None` if there never was one.
    pub far: Option<AssociationStatistics>,
    /// IP bytes delivered by each path, forward and reverse.
    pub path_bytes: Vec<(u64, u64)>,
    /// Hash over all packets of both hosts.
    pub trace_hash: u64,
    /// Events of the network.
    pub network_events: u64,
}

/// Data delivered in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Messages read.
    pub messages: u64,
    /// Total bytes of these messages.
    pub bytes: u64,
    /// Goodput: bytes over the duration of the whole run.
    pub goodput: Rate,
}

impl Outcome {
    /// Results so far.
    #[must_use]
    pub fn of(simulation: &Simulation) -> Self {
        let elapsed = simulation.now() - Instant::ZERO;
        let statistics = |side| Some(simulation.association(side)?.statistics());
        let traces = [Side::Near, Side::Far].map(|side| simulation.host(side).tally().trace_hash());
        Self {
            elapsed,
            forward: delivery(simulation, Side::Far, elapsed),
            backward: delivery(simulation, Side::Near, elapsed),
            near: statistics(Side::Near),
            far: statistics(Side::Far),
            path_bytes: path_bytes(simulation),
            trace_hash: traces[0].rotate_left(32) ^ traces[1],
            network_events: simulation.network().events(),
        }
    }
}

fn delivery(simulation: &Simulation, to: Side, elapsed: Duration) -> Delivery {
    let inbox = simulation.conversation(to).map(crate::app::Conversation::inbox);
    let bytes = inbox.map_or(0, crate::app::Inbox::bytes);
    Delivery {
        messages: inbox.map_or(0, crate::app::Inbox::messages),
        bytes,
        goodput: Rate::of(bytes, elapsed).unwrap_or(Rate::bits_per_second(0)),
    }
}

fn path_bytes(simulation: &Simulation) -> Vec<(u64, u64)> {
    let delivered = |links: &[anabranch_netsim::LinkId]| {
        let last = links.last();
        last.map_or(0, |link| simulation.network().link(*link).stats().delivered.bytes)
    };
    let paths = simulation.paths().iter();
    paths
        .map(|path| (delivered(&path.forward[..1]), delivered(&path.reverse[..1])))
        .collect()
}
