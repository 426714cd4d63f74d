//! Supported extensions (RFC 5061 §4.2.7): the chunk types beyond RFC 9260 that both ends have listed.

use alloc::vec::Vec;

use anabranch_policy::catalog::{
    GapLimitChoice, InterleavingChoice, NrSackChoice, OversizeChoice, SackWindowChoice,
};
use anabranch_wire::chunk::kind;

use crate::config::{AssociationConfig, PacketCounts};

/// Entry of Supported Extensions for packet counts in the flags of SACKs. RFC 9260 §3.2 reserves this type for extensions
/// of the type field, so no chunk has it, and a peer that lists it means packet counts.
pub(crate) const PACKET_COUNTS: u8 = 191;

/// Entry of Supported Extensions for SACKs that report a selection of the received TSNs. A peer that lists it never reneges, and a TSN
/// that one of its SACKs has reported stays acknowledged. This type is reserved as [`PACKET_COUNTS`] is.
pub(crate) const SELECTED_GAPS: u8 = 127;

/// The extensions that both ends of an association support.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Extensions {
    pub(crate) ours: ChunkKinds,
    /// Chunk types listed by the peer; empty before the handshake.
    pub(crate) theirs: ChunkKinds,
}

impl Extensions {
    //= rfc6525 5.1.1-1
    /// The extensions that an association with this configuration offers. Extensions are switched on only here.
    pub(crate) fn offered(config: &AssociationConfig) -> Self {
        let interleaving = matches!(config.policies.interleaving, InterleavingChoice::On(_));
        let parts = matches!(config.policies.oversize, OversizeChoice::Split(_));
        let nr_sack = !matches!(config.policies.nr_sack, NrSackChoice::Off(_));
        let negotiates_counts = config.counts_packets() && config.packet_counts == PacketCounts::Negotiated;
        // A SACK window takes a SACK for complete up to its last block.
        let selects_gaps = matches!(config.policies.gap_limit, GapLimitChoice::Recent(_))
            && matches!(config.policies.sack_window, SackWindowChoice::Unlimited(_));
        Self {
            ours: ChunkKinds::default()
                .with(PACKET_COUNTS, negotiates_counts)
                .with(SELECTED_GAPS, selects_gaps)
                .with(kind::AUTH, config.offers_authentication())
                .with(kind::I_DATA, interleaving)
                .with(kind::NR_SACK, nr_sack)
                .with(kind::PART, parts)
                .with(kind::FORWARD_TSN, config.partial_reliability)
                .with(kind::I_FORWARD_TSN, config.partial_reliability && interleaving)
                .with(kind::RE_CONFIG, config.reconfiguration)
                .with(kind::ASCONF, config.offers_address_changes())
                .with(kind::ASCONF_ACK, config.offers_address_changes()),
            theirs: ChunkKinds::default(),
        }
    }

    /// Whether chunks of type `kind` are handled as unknown unless both ends support them. I-DATA is not among them: without
    /// agreement it is a protocol violation (RFC 8260 §2.2.1).
    const fn governs(kind: u8) -> bool {
        matches!(
            kind,
            kind::AUTH
                | kind::NR_SACK
                | kind::PART
                | kind::FORWARD_TSN
                | kind::I_FORWARD_TSN
                | kind::RE_CONFIG
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
    #[inline]
    pub(crate) const fn agreed(&self, kind: u8) -> bool {
        self.ours.0 & self.theirs.0 & ChunkKinds::bit(kind) != 0
    }

    /// Whether chunks of type `kind` are handled as unknown: they belong to an extension that was not agreed.
    #[inline]
    pub(crate) fn exclude(&self, kind: u8) -> bool {
        // The look-up is kept out of the way of chunks of RFC 9260.
        Self::governs(kind) && self.lack(kind)
    }

    #[cold]
    fn lack(&self, kind: u8) -> bool {
        !self.agreed(kind)
    }
}

/// A set of the chunk types that belong to extensions. Other types are ignored, so it fits into two bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ChunkKinds(u16);

impl ChunkKinds {
    /// The types that have a bit, in ascending order.
    const ALL: [u8; 11] = [
        kind::AUTH,
        kind::NR_SACK,
        kind::I_DATA,
        SELECTED_GAPS,
        kind::ASCONF_ACK,
        kind::RE_CONFIG,
        kind::PART,
        PACKET_COUNTS,
        kind::FORWARD_TSN,
        kind::ASCONF,
        kind::I_FORWARD_TSN,
    ];

    /// The bit of a chunk type; none for types that belong to no extension.
    const fn bit(kind: u8) -> u16 {
        match kind {
            kind::AUTH => 1,
            kind::NR_SACK => 1 << 1,
            kind::I_DATA => 1 << 2,
            kind::ASCONF_ACK => 1 << 3,
            kind::PART => 1 << 4,
            PACKET_COUNTS => 1 << 5,
            kind::FORWARD_TSN => 1 << 6,
            kind::ASCONF => 1 << 7,
            kind::I_FORWARD_TSN => 1 << 8,
            kind::RE_CONFIG => 1 << 9,
            SELECTED_GAPS => 1 << 10,
            _ => 0,
        }
    }

    /// Adds `kind` to the set if `wanted`.
    #[must_use]
    pub(crate) fn with(mut self, kind: u8, wanted: bool) -> Self {
        if wanted {
            self.0 |= Self::bit(kind);
        }
        self
    }

    /// Removes these types from the set.
    #[must_use]
    pub(crate) fn without(self, kinds: &[u8]) -> Self {
        Self(self.0 & !Self::from_bytes(kinds).0)
    }

    #[inline]
    pub(crate) const fn contains(&self, kind: u8) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    /// The intersection of both sets.
    pub(crate) fn common(&self, other: &Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether ASCONF is listed without AUTH: such a peer is refused (RFC 5061 §6).
    pub(crate) fn lack_authentication(&self) -> bool {
        self.contains(kind::ASCONF) && !self.contains(kind::AUTH)
    }

    /// The types as a parameter lists them, in ascending order.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        Self::ALL
            .into_iter()
            .filter(|kind| self.contains(*kind))
            .collect()
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
    fn chunk_type_set_holds_each_type_of_an_extension_once() {
        let has_a_bit = |kind: &u8| ChunkKinds::bit(*kind) != 0;
        let extensions: alloc::vec::Vec<u8> = (0..=u8::MAX).filter(has_a_bit).collect();
        let all: alloc::vec::Vec<u8> = (0..=u8::MAX).collect();
        let twice = [all.clone(), all].concat();
        assert_eq!(ChunkKinds::from_bytes(&twice).to_bytes(), extensions);
        for kind in extensions {
            assert_eq!(ChunkKinds::from_bytes(&[kind, kind]).to_bytes(), [kind]);
        }
        assert_eq!(ChunkKinds::default().with(7, false), ChunkKinds::default());
    }
}
