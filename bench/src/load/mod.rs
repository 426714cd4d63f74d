//! Bulk load for an SCTP implementation: one end sends messages as fast as the other accepts them; packets pass in memory.
//!
//! The pattern is the same for every implementation, so that ratios are meaningful: both ends are in one thread; the sender's queue
//! is kept at a megabyte; packets of at most 1,460 bytes are delivered one by one, with checksums; the receiver may send SACKs
//! after each packet, and they arrive at the end of the round; a round takes 100 µs of virtual time.

#[cfg(feature = "peers")]
mod dcsctp;
mod ours;
#[cfg(feature = "peers")]
mod sctp_proto;

/// Largest SCTP packet in bytes.
pub(crate) const LARGEST_PACKET: u16 = 1_460;

/// Bytes queued at the sender.
pub(crate) const BACKLOG: usize = 1_000_000;

/// Virtual microseconds that a round takes.
pub(crate) const ROUND_MICROS: u64 = 100;

/// Messages and packets delivered in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// Complete messages received by the application.
    pub messages: u64,
    /// Packets from the sender.
    pub packets: u64,
    /// Packets from the receiver, which carry SACKs.
    pub answers: u64,
}

/// An association under load.
pub trait Load {
    /// One round: sends data, delivers it, receives messages, delivers SACKs.
    fn round(&mut self) -> Delivered;
}

/// An SCTP implementation under load.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// Its name.
    pub name: &'static str,
    /// Sets up an association for messages of `message` bytes, with a receive buffer of `window` bytes.
    pub start: fn(message: usize, window: usize) -> Box<dyn Load>,
}

/// Ours in two variants, then the other implementations if the crate was built with them.
pub const IMPLEMENTATIONS: &[Implementation] = &[
    Implementation {
        name: "anabranch",
        start: ours::answer_each_packet,
    },
    Implementation {
        name: "anabranch, SACKs per batch",
        start: ours::answer_each_batch,
    },
    #[cfg(feature = "peers")]
    Implementation {
        name: "sctp-proto",
        start: sctp_proto::start,
    },
    #[cfg(feature = "peers")]
    Implementation {
        name: "dcsctp",
        start: dcsctp::start,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_implementation_delivers_messages_of_every_size() {
        for implementation in IMPLEMENTATIONS {
            for size in [64, 1_400, 65_536] {
                let mut load = (implementation.start)(size, 128 << 10);
                let messages: u64 = (0..50).map(|_| load.round().messages).sum();
                assert!(
                    messages > 20,
                    "{}: {messages} of {size} bytes",
                    implementation.name
                );
            }
        }
    }
}
