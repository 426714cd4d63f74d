//! Steps of randomized simulations: everything that a network or an application may do, one small step at a time.

use anabranch_types::Rng;

use super::shape::{Shape, pick};
use crate::Side;

/// One step. Everything is plain numbers, so that it can be printed as source. Streams and paths that do not exist
/// are taken modulo those that do, so that a test stays meaningful when its world is made smaller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Time passes.
    Advance {
        /// So much.
        millis: u32,
    },
    /// An application sends.
    Send {
        /// On which side.
        side: Side,
        /// On which stream.
        stream: u16,
        /// A message of how many bytes.
        bytes: usize,
        /// How many of them.
        count: u32,
        /// Without regard to order.
        unordered: bool,
    },
    /// An application changes its way of reading.
    Read {
        /// On which side.
        side: Side,
        /// Bytes per second; 0 for none at all; `u32::MAX` for at once.
        pace: u32,
    },
    /// A path loses everything.
    Cut {
        /// Which.
        path: usize,
    },
    /// A path works again.
    Heal {
        /// Which.
        path: usize,
    },
    /// A link loses its next packets.
    Lose {
        /// Of which path.
        path: usize,
        /// In which direction.
        toward: Side,
        /// How many.
        packets: u32,
    },
    /// A link becomes unreliable. All chances are per thousand.
    Disturb {
        /// Of which path.
        path: usize,
        /// In which direction.
        toward: Side,
        /// Chance of loss.
        lose: u32,
        /// Chance of being held back for up to 50 ms.
        reorder: u32,
        /// Chance of arriving twice.
        duplicate: u32,
        /// Chance of arriving damaged.
        corrupt: u32,
    },
    /// A path becomes faster or slower.
    Rate {
        /// Which.
        path: usize,
        /// In kbit/s.
        kbit: u32,
    },
    /// A path becomes longer or shorter.
    Delay {
        /// Which.
        path: usize,
        /// In milliseconds, one way.
        millis: u32,
    },
    /// The translator before the near side forgets a path and gives it another port.
    Rebind {
        /// Which.
        path: usize,
        /// The port.
        port: u16,
    },
    /// Packets on a path may be larger or only smaller than before. Nothing happens where the sides send as large packets
    /// as configured and would not notice.
    Mtu {
        /// Which.
        path: usize,
        /// The largest IP packet.
        bytes: u16,
    },
    /// A side uses an address no more (RFC 5061), unless it is its last one.
    Leave {
        /// Which side.
        side: Side,
        /// The path that the address belongs to.
        path: usize,
    },
    /// A side uses an address that it has left.
    Join {
        /// Which side.
        side: Side,
        /// The path that the address belongs to.
        path: usize,
    },
    /// An application asks for other buffers.
    Resize {
        /// On which side.
        side: Side,
        /// Bytes for sending.
        send: u64,
        /// Bytes for receiving.
        receive: u64,
    },
    /// An application chooses the primary path.
    SetPrimary {
        /// On which side.
        side: Side,
        /// Which.
        path: usize,
    },
    /// An application finishes.
    Shutdown {
        /// On which side.
        side: Side,
    },
    /// An application breaks off.
    Abort {
        /// On which side.
        side: Side,
    },
    /// The near side forgets everything and connects anew from the same port, unless both sides connect.
    Restart,
}

impl Op {
    /// A step that fits the world of `shape`.
    pub(super) fn draw(rng: &mut Rng, shape: &Shape) -> Self {
        let side = *pick(rng, &Side::BOTH);
        let path = rng.below(shape.paths.len() as u64) as usize;
        match rng.below(1_070) {
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
            930..960 => Self::Rebind {
                path,
                port: 20_000 + rng.below(1_000) as u16,
            },
            960..975 => Self::SetPrimary { side, path },
            975..985 => Self::Shutdown { side },
            985..991 => Self::Abort { side },
            1_000..1_070 => Self::draw_change(rng, side, path),
            _ => Self::Restart,
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
        // What was handed over before the handshake for a stream that the peer does not let us have is dropped.
        let streams = shape.of(side).streams.min(shape.of(side.other()).inbound_streams);
        let longest = shape.max_message as u64;
        let bytes = match rng.below(4) {
            0 => 1 + rng.below(20),
            1 => 1 + rng.below(2_000),
            2 => 1 + rng.below(longest),
            _ => 1_000,
        };
        Self::Send {
            side,
            stream: rng.below(streams.into()) as u16,
            bytes: bytes.min(longest) as usize,
            count: *pick(rng, &[1, 1, 1, 3, 10, 40]),
            unordered: rng.chance(1, 4),
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
