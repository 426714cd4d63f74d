//! Steps of randomized simulations: everything that a network or an application may do, one small step at a time.

use core::time::Duration;

use anabranch_proto::{Reconfiguration, Reliability};
use anabranch_types::{Rng, StreamId};

use super::shape::{Shape, pick};
use crate::Side;

/// Shared keys beside key 0.
pub(super) const KEYS: u16 = 3;

/// One step. All fields are plain numbers, so that it can be printed as source. Streams and paths that do not exist are taken
/// modulo the existing ones, so that a test stays meaningful when its scenario is reduced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Time passes.
    Advance {
        /// Duration.
        millis: u32,
    },
    /// An application sends messages.
    Send {
        /// Side.
        side: Side,
        /// Stream.
        stream: u16,
        /// Message length in bytes.
        bytes: usize,
        /// Number of messages.
        count: u32,
        /// Sent unordered.
        unordered: bool,
    },
    /// An application sends messages that may be abandoned.
    SendUnreliable {
        /// Side.
        side: Side,
        /// Stream.
        stream: u16,
        /// Message length in bytes.
        bytes: usize,
        /// Number of messages.
        count: u32,
        /// Sent unordered.
        unordered: bool,
        /// When they are abandoned.
        limit: Limit,
    },
    /// An application sends a message in parts.
    SendInParts {
        /// Side.
        side: Side,
        /// Stream.
        stream: u16,
        /// Message length in bytes.
        bytes: usize,
        /// Sent unordered.
        unordered: bool,
        /// When it is abandoned; `None` for a reliable message.
        limit: Option<Limit>,
        /// Length of a part in bytes.
        part: usize,
        /// Milliseconds from one part to the next.
        pause: u32,
    },
    /// Both applications have further shared keys (RFC 4895), and one authenticates its packets by another one from now on. Ignored where the
    /// sides do not authenticate chunks, or are not connected.
    UseKey {
        /// Side.
        side: Side,
        /// The key, 1 or more.
        key: u16,
        /// Whether the former key is deactivated.
        deactivates: bool,
    },
    /// An application resets or adds streams. Ignored where the sides do not support it, or an earlier change is not complete.
    Reconfigure {
        /// Side.
        side: Side,
        /// The change.
        change: StreamChange,
    },
    /// An application changes its reading mode.
    Read {
        /// Side.
        side: Side,
        /// Bytes per second; 0 to stop reading; `u32::MAX` to read immediately.
        pace: u32,
    },
    /// A path fails: it loses all packets.
    Cut {
        /// Path.
        path: usize,
    },
    /// A path is restored.
    Heal {
        /// Path.
        path: usize,
    },
    /// A link loses its next packets.
    Lose {
        /// Path.
        path: usize,
        /// Direction.
        toward: Side,
        /// Number of packets.
        packets: u32,
    },
    /// A link becomes unreliable. All probabilities are per thousand.
    Disturb {
        /// Path.
        path: usize,
        /// Direction.
        toward: Side,
        /// Probability of loss.
        lose: u32,
        /// Probability of an additional delay of up to 50 ms.
        reorder: u32,
        /// Probability of duplication.
        duplicate: u32,
        /// Probability of corruption.
        corrupt: u32,
    },
    /// The rate of a path changes.
    Rate {
        /// Path.
        path: usize,
        /// Rate in kbit/s.
        kbit: u32,
    },
    /// The delay of a path changes.
    Delay {
        /// Path.
        path: usize,
        /// One-way delay in milliseconds.
        millis: u32,
    },
    /// The NAT before the near side drops the binding of a path and assigns it another port.
    Rebind {
        /// Path.
        path: usize,
        /// New port.
        port: u16,
    },
    /// The NAT before the near side assigns another public address to a path. Ignored if the sides do not support joins (RFC 5061).
    Translate {
        /// Path.
        path: usize,
        /// The last byte of the address.
        host: u8,
        /// Its port.
        port: u16,
    },
    /// The MTU of a path changes. Ignored where the sides send packets of the configured size and would not detect the change.
    Mtu {
        /// Path.
        path: usize,
        /// The largest IP packet in bytes.
        bytes: u16,
    },
    /// A path begins to drop packets above a size, even if IP may fragment them, or stops doing so. Ignored where the sides would not
    /// detect it, or could not send chunks that have become too large.
    Hole {
        /// Path.
        path: usize,
        /// The largest IP packet in bytes; 0 for all sizes.
        bytes: u16,
    },
    /// A side removes an address (RFC 5061), unless it is its last one.
    Leave {
        /// Side.
        side: Side,
        /// The path that the address belongs to.
        path: usize,
    },
    /// A side adds an address that it has removed.
    Join {
        /// Side.
        side: Side,
        /// The path that the address belongs to.
        path: usize,
    },
    /// An uplink of a side gets another address instead of the one it had. Ignored if the sides do not support joins (RFC 5061).
    Renumber {
        /// Side.
        side: Side,
        /// The path that the address belongs to.
        path: usize,
        /// The last byte of the new address.
        host: u8,
    },
    /// An application changes its buffer sizes.
    Resize {
        /// Side.
        side: Side,
        /// Send buffer in bytes.
        send: u64,
        /// Receive buffer in bytes.
        receive: u64,
    },
    /// An application sets the primary path.
    SetPrimary {
        /// Side.
        side: Side,
        /// Path.
        path: usize,
    },
    /// An application shuts its association down.
    Shutdown {
        /// Side.
        side: Side,
    },
    /// An application aborts its association.
    Abort {
        /// Side.
        side: Side,
    },
    /// The near side loses all state and connects again from the same port, unless both sides connect.
    Restart,
}

/// A change of streams: [`Reconfiguration`] in plain numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamChange {
    /// An outbound stream restarts.
    ResetOutbound {
        /// The stream.
        stream: u16,
    },
    /// All outbound streams restart.
    ResetAllOutbound,
    /// An inbound stream restarts.
    ResetInbound {
        /// The stream.
        stream: u16,
    },
    /// TSNs and all streams restart.
    ResetAssociation,
    /// Outbound streams are added.
    AddOutbound {
        /// How many.
        count: u16,
    },
    /// Inbound streams are added.
    AddInbound {
        /// How many.
        count: u16,
    },
}

impl StreamChange {
    /// The change as the core takes it.
    pub(super) fn reconfiguration(self) -> Reconfiguration {
        match self {
            Self::ResetOutbound { stream } => Reconfiguration::ResetOutbound(vec![StreamId(stream)]),
            Self::ResetAllOutbound => Reconfiguration::ResetOutbound(Vec::new()),
            Self::ResetInbound { stream } => Reconfiguration::ResetInbound(vec![StreamId(stream)]),
            Self::ResetAssociation => Reconfiguration::ResetAssociation,
            Self::AddOutbound { count } => Reconfiguration::AddOutbound(count),
            Self::AddInbound { count } => Reconfiguration::AddInbound(count),
        }
    }

    fn draw(rng: &mut Rng, streams: u16) -> Self {
        let stream = rng.below(streams.into()) as u16;
        let count = 1 + rng.below(10) as u16;
        match rng.below(8) {
            0..3 => Self::ResetOutbound { stream },
            3 => Self::ResetAllOutbound,
            4 => Self::ResetInbound { stream },
            5 => Self::ResetAssociation,
            6 => Self::AddOutbound { count },
            _ => Self::AddInbound { count },
        }
    }
}

/// When messages are abandoned: [`Reliability`] in plain numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// After this time.
    Lifetime {
        /// Time in milliseconds.
        millis: u32,
    },
    /// After so many retransmissions.
    Retransmissions {
        /// Number of retransmissions.
        most: u16,
    },
    /// For more important messages.
    Priority {
        /// The priority; 0 is the most important.
        number: u32,
    },
}

impl Limit {
    /// The limit as the core takes it.
    pub(super) const fn reliability(self) -> Reliability {
        match self {
            Self::Lifetime { millis } => Reliability::Lifetime(Duration::from_millis(millis as u64)),
            Self::Retransmissions { most } => Reliability::Retransmissions(most),
            Self::Priority { number } => Reliability::Priority(number),
        }
    }

    fn draw(rng: &mut Rng) -> Self {
        match rng.below(3) {
            0 => Self::Lifetime {
                millis: *pick(rng, &[0, 1, 20, 100, 500, 3_000]),
            },
            1 => Self::Retransmissions {
                most: *pick(rng, &[0, 0, 1, 3]),
            },
            _ => Self::Priority {
                number: rng.below(4) as u32,
            },
        }
    }
}

impl Op {
    /// A random step for the scenario `shape`.
    pub(super) fn draw(rng: &mut Rng, shape: &Shape) -> Self {
        let side = *pick(rng, &Side::BOTH);
        let path = rng.below(shape.paths.len() as u64) as usize;
        match rng.below(1_105) {
            0..350 => Self::Advance {
                millis: *pick(rng, &[0, 1, 7, 30, 100, 300, 1_000, 3_000]),
            },
            350..650 => Self::draw_send(rng, shape, side),
            650..700 => Self::Read {
                side,
                pace: *pick(rng, &[0, 10_000, 1_000_000, u32::MAX, u32::MAX]),
            },
            700..740 => Self::Cut { path },
            740..790 => Self::Heal { path },
            790..840 => Self::Lose {
                path,
                toward: side,
                packets: *pick(rng, &[1, 1, 1, 2, 3, 5, 20]),
            },
            840..890 => Self::draw_disturb(rng, path, side),
            890..910 => Self::Rate {
                path,
                kbit: *pick(rng, &[500, 2_000, 10_000, 100_000]),
            },
            910..930 => Self::Delay {
                path,
                millis: *pick(rng, &[0, 1, 20, 200]),
            },
            930..960 => Self::draw_binding(rng, path),
            960..975 => Self::SetPrimary { side, path },
            975..985 => Self::Shutdown { side },
            985..991 => Self::Abort { side },
            1_000..1_070 => Self::draw_change(rng, side, path),
            1_070..1_085 => Self::Hole {
                path,
                bytes: *pick(rng, &[0, 1_280, 1_300, 1_400]),
            },
            1_085..1_105 => Self::Renumber {
                side,
                path,
                host: 1 + rng.below(20) as u8,
            },
            _ => Self::Restart,
        }
    }

    fn draw_binding(rng: &mut Rng, path: usize) -> Self {
        let number = rng.below(1_000) as u16;
        let port = 20_000 + number;
        if number.is_multiple_of(2) {
            Self::Rebind { path, port }
        } else {
            // Sometimes the address does not change.
            let host = 1 + (number % 20) as u8;
            Self::Translate { path, host, port }
        }
    }

    fn draw_change(rng: &mut Rng, side: Side, path: usize) -> Self {
        let buffer = |rng: &mut Rng| *pick(rng, &[5_000, 20_000, 60_000, 300_000, 1_000_000]);
        match rng.below(7) {
            0 | 1 => Self::Leave { side, path },
            2 | 3 => Self::Join { side, path },
            4 | 5 => Self::Mtu {
                path,
                bytes: *pick(rng, &[576, 1_000, 1_280, 1_400, 1_500]),
            },
            _ => Self::Resize {
                side,
                send: buffer(rng),
                receive: buffer(rng),
            },
        }
    }

    fn draw_send(rng: &mut Rng, shape: &Shape, side: Side) -> Self {
        // Messages sent before the handshake on a stream that the peer does not grant are dropped.
        let streams = shape.of(side).streams.min(shape.of(side.other()).inbound_streams);
        let longest = shape.max_message as u64;
        let bytes = match rng.below(4) {
            0 => 1 + rng.below(20),
            1 => 1 + rng.below(2_000),
            2 => 1 + rng.below(longest),
            _ => 1_000,
        };
        let (stream, bytes) = (rng.below(streams.into()) as u16, bytes.min(longest) as usize);
        if shape.is_reconfigurable() && rng.chance(1, 6) {
            let change = StreamChange::draw(rng, streams);
            return Self::Reconfigure { side, change };
        }
        if shape.authenticates() && rng.chance(1, 6) {
            return Self::UseKey {
                side,
                key: 1 + rng.below(u64::from(KEYS)) as u16,
                deactivates: rng.chance(1, 2),
            };
        }
        let count = *pick(rng, &[1, 1, 1, 3, 10, 40]);
        let unordered = rng.chance(1, 4);
        let is_limited = shape.is_partially_reliable() && rng.chance(1, 2);
        let limit = is_limited.then(|| Limit::draw(rng));
        if shape.sends_in_parts() && rng.chance(1, 3) {
            let bytes = bytes * *pick(rng, &[1, 2, 8]);
            return Self::SendInParts {
                side,
                stream,
                bytes,
                unordered,
                limit,
                part: 1 + rng.below(bytes as u64).min(longest) as usize,
                pause: *pick(rng, &[0, 1, 30, 300]),
            };
        }
        if let Some(limit) = limit {
            return Self::SendUnreliable {
                side,
                stream,
                bytes,
                count,
                unordered,
                limit,
            };
        }
        Self::Send {
            side,
            stream,
            bytes,
            count,
            unordered,
        }
    }

    fn draw_disturb(rng: &mut Rng, path: usize, toward: Side) -> Self {
        let mut maybe = |chances: &[u32]| if rng.chance(1, 2) { *pick(rng, chances) } else { 0 };
        Self::Disturb {
            path,
            toward,
            lose: maybe(&[10, 50, 200, 500]),
            reorder: maybe(&[50, 200, 500]),
            duplicate: maybe(&[10, 100, 500]),
            corrupt: maybe(&[10, 100, 300]),
        }
    }
}
