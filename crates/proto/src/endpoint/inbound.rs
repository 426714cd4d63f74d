//! Inbound packet, with its path and ports.

use anabranch_types::{ChannelId, Ecn, Instant, PathAddr};
use anabranch_wire::Packet;

use super::cookie::Ports;
use super::directory::Correspondent;

/// A packet before its association is found.
#[derive(Clone, Copy)]
pub(super) struct Inbound<'p> {
    pub(super) now: Instant,
    pub(super) arrival: PathAddr,
    pub(super) channel: ChannelId,
    pub(super) ecn: Ecn,
    pub(super) packet: &'p Packet<'p>,
    /// Whether the checksum has not been verified, because it is zero and may be meant so.
    pub(super) is_unverified: bool,
}

impl Inbound<'_> {
    pub(super) fn correspondent(&self) -> Correspondent {
        let header = self.packet.header();
        Correspondent {
            remote: self.arrival.remote,
            peer_port: header.source_port,
            local_port: header.destination_port,
            channel: self.channel,
        }
    }

    pub(super) fn ports(&self) -> Ports {
        let header = self.packet.header();
        Ports {
            ours: header.destination_port,
            peers: header.source_port,
            channel: self.channel,
        }
    }
}
