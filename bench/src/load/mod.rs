//! Load for a core: one end sends messages as fast as the other accepts them; packets are passed in memory.
//!
//! The same pattern for every core, so that ratios mean something: both ends in one thread; the sender's queue is
//! kept at a megabyte; every packet is handed over by itself, at most 1,460 bytes long, with its checksum; the
//! receiver answers after each packet and its answers arrive after the round; a round takes 100 µs of virtual time.

#[cfg(feature = "peers")]
mod dcsctp;
mod ours;
#[cfg(feature = "peers")]
mod sctp_proto;

/// Largest SCTP packet in bytes.
pub(crate) const LARGEST_PACKET: u16 = 1_460;

/// Bytes that wait at the sender.
pub(crate) const BACKLOG: usize = 1_000_000;

/// Virtual microseconds that a round takes.
pub(crate) const ROUND_MICROS: u64 = 100;

/// What arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// Whole messages, taken by the application.
    pub messages: u64,
    /// Packets from the sender.
    pub packets: u64,
    /// Packets from the receiver.
    pub answers: u64,
}

/// An association under load.
pub trait Load {
    /// Sends, carries, receives, answers.
    fn round(&mut self) -> Delivered;
}

/// A core that can be loaded.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// What it is called.
    pub name: &'static str,
    /// Sets up an association for messages of this many bytes and with a receive buffer of this many.
    pub start: fn(message: usize, window: usize) -> Box<dyn Load>,
}

/// Ours first, in its two ways; then the peers, if the crate was built with them.
pub const CONTENDERS: &[Contender] = &[
    Contender {
        name: "anabranch",
        start: ours::answer_each_packet,
    },
    Contender {
        name: "anabranch, answers per batch",
        start: ours::answer_each_batch,
    },
    #[cfg(feature = "peers")]
    Contender {
        name: "sctp-proto",
        start: sctp_proto::start,
    },
    #[cfg(feature = "peers")]
    Contender {
        name: "dcsctp",
        start: dcsctp::start,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_core_delivers_messages_of_every_size() {
        for contender in CONTENDERS {
            for size in [64, 1_400, 65_536] {
                let mut load = (contender.start)(size, 128 << 10);
                let messages: u64 = (0..50).map(|_| load.round().messages).sum();
                assert!(messages > 20, "{}: {messages} of {size} bytes", contender.name);
            }
        }
    }
}
