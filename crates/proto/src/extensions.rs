//! Supported extensions (RFC 5061 §4.2.7): the chunk types beyond RFC 9260 that both ends have listed.

use alloc::vec::Vec;

use anabranch_policy::catalog::{InterleavingChoice, NrSackChoice, OversizeChoice};
use anabranch_wire::chunk::kind;

use crate::config::{AssociationConfig, PacketCounts};

/// Entry of Supported Extensions for packet counts in the flags of SACKs. RFC 9260 §3.2 reserves this type for extensions
/// of the type field, so no chunk has it, and a peer that lists it means packet counts.
pub(crate) const PACKET_COUNTS: u8 = 191;

/// The extensions that both ends of an association support.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Extensions {
    pub(crate) ours: ChunkKinds,
    /// Chunk types listed by the peer; empty before the handshake.
    pub(crate) theirs: ChunkKinds,
}

impl Extensions {
    /// The extensions that an association with this configuration offers. Extensions are switched on only here.
    pub(crate) fn offered(config: &AssociationConfig) -> Self {
        let interleaving = matches!(config.policies.interleaving, InterleavingChoice::On(_));
        let parts = matches!(config.policies.oversize, OversizeChoice::Split(_));
        let nr_sack = !matches!(config.policies.nr_sack, NrSackChoice::Off(_));
        let negotiates_counts = config.counts_packets() && config.packet_counts == PacketCounts::Negotiated;
        Self {
            ours: ChunkKinds::default()
                .with(PACKET_COUNTS, negotiates_counts)
                .with(kind::AUTH, config.offers_authentication())
                .with(kind::I_DATA, interleaving)
                .with(kind::NR_SACK, nr_sack)
                .with(kind::PART, parts)
                .with(kind::FORWARD_TSN, config.partial_reliability)
                .with(kind::I_FORWARD_TSN, config.partial_reliability && interleaving)
                .with(kind::ASCONF, config.offers_address_changes())
                .with(kind::ASCONF_ACK, config.offers_address_changes()),
            theirs: ChunkKinds::default(),
        }
    }

    /// Whether chunks of type `kind` are handled as unknown unless both ends support them. I-DATA is not among them: without
    /// agreement it is a protocol violation (RFC 8260 §2.2.1).
    pub(crate) const fn governs(kind: u8) -> bool {
        matches!(
            kind,
            kind::AUTH
                | kind::NR_SACK
                | kind::PART
                | kind::FORWARD_TSN
                | kind::I_FORWARD_TSN
                | kind::ASCONF_ACK
                | kind::ASCONF
        )
    }

    /// Whether both ends support partial reliability for the type of chunks in which data is sent.
    pub(crate) fn partially_reliable(&self) -> bool {
        let interleaving = self.agreed(kind::I_DATA);
        self.agreed(if interleaving {
            kind::I_FORWARD_TSN
        } else {
            kind::FORWARD_TSN
        })
    }

    //= rfc5061 4.2.7-1
    /// Whether both ends support chunks of type `kind`, see [`kind`].
    pub(crate) fn agreed(&self, kind: u8) -> bool {
        self.ours.contains(kind) && self.theirs.contains(kind)
    }
}

/// A set of chunk types.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ChunkKinds([u64; 4]);

impl ChunkKinds {
    /// Adds `kind` to the set if `wanted`.
    #[must_use]
    pub(crate) fn with(mut self, kind: u8, wanted: bool) -> Self {
        if wanted {
            self.0[usize::from(kind / 64)] |= 1 << (kind % 64);
        }
        self
    }

    /// Removes these types from the set.
    #[must_use]
    pub(crate) fn without(self, kinds: [u8; 3]) -> Self {
        let kinds = Self::from_bytes(&kinds);
        Self(core::array::from_fn(|word| self.0[word] & !kinds.0[word]))
    }

    pub(crate) fn contains(&self, kind: u8) -> bool {
        self.0[usize::from(kind / 64)] & (1 << (kind % 64)) != 0
    }

    /// The intersection of both sets.
    pub(crate) fn common(&self, other: &Self) -> Self {
        Self(core::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Whether ASCONF is listed without AUTH: such a peer is refused (RFC 5061 §6).
    pub(crate) fn lack_authentication(&self) -> bool {
        self.contains(kind::ASCONF) && !self.contains(kind::AUTH)
    }

    /// The types as a parameter lists them, in ascending order.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        (0..=u8::MAX).filter(|kind| self.contains(*kind)).collect()
    }

    pub(crate) fn from_bytes(kinds: &[u8]) -> Self {
        kinds
            .iter()
            .fold(Self::default(), |set, kind| set.with(*kind, true))
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkKinds, Extensions, kind};

    //= rfc5061 4.2.7-1
    #[test]
    fn extensions_listed_by_both_ends_are_negotiated() {
        let extensions = Extensions {
            ours: ChunkKinds::from_bytes(&[kind::NR_SACK, kind::I_DATA]),
            theirs: ChunkKinds::from_bytes(&[kind::NR_SACK, kind::ASCONF]),
        };
        assert!(extensions.agreed(kind::NR_SACK));
        assert!(!extensions.agreed(kind::I_DATA) && !extensions.agreed(kind::ASCONF));
        assert_eq!(
            extensions.ours.common(&extensions.theirs).to_bytes(),
            [kind::NR_SACK]
        );
    }

    #[test]
    fn chunk_type_set_holds_each_type_once() {
        let all: alloc::vec::Vec<u8> = (0..=u8::MAX).collect();
        let twice = [all.clone(), all.clone()].concat();
        assert_eq!(ChunkKinds::from_bytes(&twice).to_bytes(), all);
        assert_eq!(ChunkKinds::default().with(7, false), ChunkKinds::default());
    }
}
