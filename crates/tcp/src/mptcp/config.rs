//! Configuration of Multipath TCP.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::wire::NrSackForm;

/// Settings of Multipath TCP in addition to those of TCP.
///
/// The end that connected opens the further subflows, between the addresses in both lists and those that the peer advertises.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MptcpConfig {
    /// Our addresses other than that of the first subflow. They are advertised to the peer (ADD_ADDR).
    pub local: Vec<IpAddr>,
    /// The peer's further addresses that are known without advertisement.
    pub remote: Vec<IpAddr>,
    /// How addresses are paired.
    pub pairs: AddressPairing,
    /// Maximum number of simultaneous subflows; 1 to 32.
    pub max_subflows: u8,
    /// Offer non-renegable acknowledgements of out-of-order data with blocks of this form (NR-SACK, Yang 2015, chapter 3).
    pub nr_sack: Option<NrSackForm>,
    /// Request DSS checksums (RFC 8684 §3.3.1).
    pub checksum: bool,
}

/// Pairing of local and peer addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddressPairing {
    /// The nth with the nth, like the paths of SCTP; the side with fewer addresses reuses them in turn.
    #[default]
    Pairwise,
    /// Every local address with every peer address (full mesh).
    FullMesh,
}

impl Default for MptcpConfig {
    fn default() -> Self {
        Self {
            local: Vec::new(),
            remote: Vec::new(),
            pairs: AddressPairing::Pairwise,
            max_subflows: 8,
            nr_sack: None,
            checksum: false,
        }
    }
}
