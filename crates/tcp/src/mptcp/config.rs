//! Configuration of Multipath TCP.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::wire::NrSackForm;

/// What is set for Multipath TCP beside what is set for TCP.
///
/// The end that connected begins the further subflows, between the addresses that both lists name and those that the peer
/// advertises.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MptcpConfig {
    /// Our further addresses, beside that of the first subflow. The peer is told of them (ADD_ADDR).
    pub local: Vec<IpAddr>,
    /// The peer's further addresses, as far as they are known without its help.
    pub remote: Vec<IpAddr>,
    /// Which addresses are joined.
    pub pairs: AddressPairing,
    /// Most subflows at a time; 1 to 32.
    pub max_subflows: u8,
    /// Offer to promise what has arrived out of order, with blocks of this form (NR-SACK, Yang 2015, chapter 3).
    pub nr_sack: Option<NrSackForm>,
    /// Ask for checksums over data (RFC 8684 §3.3.1).
    pub checksum: bool,
}

/// Which of our addresses talks to which of the peer's?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddressPairing {
    /// The nth with the nth; of the side that has fewer, they are used again in turn. As the paths of SCTP are.
    #[default]
    Pairwise,
    /// Each with each.
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
