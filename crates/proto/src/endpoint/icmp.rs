//! ICMP messages (RFC 9260 §10, RFC 8899 §4.6.1, RFC 6951): validation, and the reactions.
//!
//! A message is valid if the packet that it quotes has a verification tag that only hosts on its path can know: the initiate tag of
//! our INIT, or the tag that the peer has chosen. An attacker off the path would have to guess it. With UDP encapsulation, Port
//! Unreachable stands for Protocol Unreachable (RFC 6951 §5.6).

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_types::{AssociationId, ChannelId, Instant, VerificationTag};
use anabranch_wire::chunk::kind;

use super::Endpoint;
use super::directory::Correspondent;
use crate::association::{CloseReason, State};
use crate::handshake;

/// An ICMP message about a packet of this endpoint, as its socket received it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpMessage<'a> {
    /// The destination of the packet.
    pub destination: SocketAddr,
    /// Its type and code.
    pub kind: IcmpKind,
    /// The beginning of the quoted packet, from the common header of SCTP on.
    pub quoted: &'a [u8],
}

/// Type of an ICMP message, with its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// No program has the port. With the source address of the message.
    PortUnreachable(IpAddr),
    /// The destination is unreachable for another reason.
    Unreachable,
    /// The packet was larger than a link of this MTU, in bytes of IP.
    PacketTooBig(u16),
}

/// Ports and tag of the quoted packet.
struct Quoted {
    source_port: u16,
    destination_port: u16,
    tag: QuotedTag,
}

enum QuotedTag {
    /// Its verification tag.
    Verification(VerificationTag),
    /// The initiate tag of an INIT, whose verification tag is zero.
    Initiate(VerificationTag),
}

impl Quoted {
    /// Parses the quoted packet; `None` if it is cut before the tag.
    fn read(bytes: &[u8]) -> Option<Self> {
        let port = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let tag = |at: usize| {
            let bytes = bytes.get(at..)?.first_chunk()?;
            Some(VerificationTag(u32::from_be_bytes(*bytes)))
        };
        let verification = tag(4)?;
        let is_init = verification == VerificationTag::ZERO && bytes.get(12) == Some(&kind::INIT);
        let tag = match verification {
            _ if is_init => QuotedTag::Initiate(tag(16)?),
            VerificationTag::ZERO => return None,
            verification => QuotedTag::Verification(verification),
        };
        Some(Self {
            source_port: port(0)?,
            destination_port: port(2)?,
            tag,
        })
    }
}

impl Endpoint {
    //= rfc9260 10-1, 10-3, 10-4, 10-5, 10-6, 12.4-1
    //= rfc6951 5.5-1, 5.5-3, 5.5-4, 5.5-5
    /// Handles an ICMP message about a packet of this endpoint. It is ignored unless the quoted packet has the ports, the tag and the
    /// destination of an association (RFC 9260 §10).
    ///
    /// - Port Unreachable about an INIT, from the destination itself: no further INIT is sent to this address; if no other address is
    ///   left, the association is closed with [`CloseReason::Refused`].
    /// - Port Unreachable and other Destination Unreachable messages in later states: a heartbeat is sent to the destination. The
    ///   message alone does not end the association.
    /// - Packet Too Big: the path MTU search continues below the reported size.
    pub fn handle_icmp(&mut self, now: Instant, message: IcmpMessage<'_>) {
        let remote = message.destination;
        let found = Quoted::read(message.quoted).and_then(|quoted| self.sender_of(&quoted, remote));
        let Some((id, slot)) = found.and_then(|id| Some((id, self.slots.get_mut(&id)?))) else {
            return;
        };
        let association = &mut slot.association;
        match message.kind {
            IcmpKind::PacketTooBig(largest) => self.handle_too_large_at(id, now, remote, largest),
            IcmpKind::PortUnreachable(reporter) if matches!(association.state, State::CookieWait(_)) => {
                if reporter == remote.ip() {
                    self.refuse(id, reporter);
                }
            }
            IcmpKind::PortUnreachable(_) | IcmpKind::Unreachable => {
                let towards = association.transfer.paths.iter();
                let towards = towards.filter(|(_, path)| path.addr.remote == remote);
                let towards: Vec<_> = towards.map(|(facts, _)| facts.id).collect();
                for path in towards {
                    association.request_heartbeat(path);
                }
            }
        }
        self.touch(id);
    }

    /// The association that has sent the quoted packet to `remote`.
    fn sender_of(&self, quoted: &Quoted, remote: SocketAddr) -> Option<AssociationId> {
        let belongs = |id: &AssociationId| {
            let Some(slot) = self.slots.get(id) else {
                return false;
            };
            let association = &slot.association;
            let has_ports = association.local.port == quoted.source_port
                && association.peer.port == quoted.destination_port;
            let has_tag = match quoted.tag {
                QuotedTag::Initiate(tag) => {
                    tag == association.local.tag && matches!(association.state, State::CookieWait(_))
                }
                QuotedTag::Verification(tag) => tag == association.peer.tag,
            };
            let leads_there = association.transfer.paths.remotes().any(|known| known == remote);
            // What a layer below has sealed cannot be quoted.
            association.channel == ChannelId::NONE && has_ports && has_tag && leads_there
        };
        match quoted.tag {
            QuotedTag::Initiate(tag) => self.index.directory.with_tag(tag).filter(belongs),
            QuotedTag::Verification(_) => {
                let peer = Correspondent {
                    remote,
                    peer_port: quoted.destination_port,
                    local_port: quoted.source_port,
                    channel: ChannelId::NONE,
                };
                self.index
                    .directory
                    .with(peer)
                    .take(super::MAX_NAMESAKES)
                    .find(belongs)
            }
        }
    }

    /// Handles Port Unreachable from `remote` about an INIT: sends the next INIT to another address at once, or closes the
    /// association if there is none.
    fn refuse(&mut self, id: AssociationId, remote: IpAddr) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let association = &mut slot.association;
        let (addresses, paths) = (&mut association.addresses, &association.transfer.paths);
        addresses.remove_initiated(remote);
        let is_left = |path| addresses.is_initiated_to(paths, path);
        if !paths.ids().any(is_left) {
            association.end(CloseReason::Refused, None);
        } else if let State::CookieWait(Some(retry)) = &association.state {
            let next = handshake::path_of_init(addresses, paths, retry.repeated);
            association.control.send_handshake(next);
        }
    }

    /// Handles Packet Too Big: packets to `remote` were larger than the MTU of a link, `largest` bytes.
    fn handle_too_large_at(&mut self, id: AssociationId, now: Instant, remote: SocketAddr, largest: u16) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let association = &mut slot.association;
        for addr in association.path_addresses() {
            if addr.remote == remote {
                let effects = association.transfer.on_too_large(now, addr, Some(largest));
                association.apply(effects);
            }
        }
    }
}
