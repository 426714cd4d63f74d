//! How are connections of several flows set up?

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::wire::NrSackForm;

/// What is set for Multipath TCP beside what is set for TCP.
///
/// The end that connected begins the further flows, between the addresses that both lists name and those that the peer
/// advertises.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MultipathConfig {
    /// Our further addresses, beside that of the first flow. The peer is told of them (ADD_ADDR).
    pub local: Vec<IpAddr>,
    /// The peer's further addresses, as far as they are known without its help.
    pub remote: Vec<IpAddr>,
    /// Which addresses are joined.
    pub pairs: PathPairs,
    /// Most flows at a time; 1 to 32.
    pub most_flows: u8,
    /// Offer to promise what has arrived out of order, with blocks of this form (NR-SACK, Yang 2015, chapter 3).
    pub nr_sack: Option<NrSackForm>,
    /// Ask for checksums over data (RFC 8684 §3.3.1).
    pub checksum: bool,
}

/// Which of our addresses talks to which of the peer's?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PathPairs {
    /// The nth with the nth; of the side that has fewer, they are used again in turn. As the paths of SCTP are.
    #[default]
    Braided,
    /// Each with each.
    FullMesh,
}

impl Default for MultipathConfig {
    fn default() -> Self {
        Self {
            local: Vec::new(),
            remote: Vec::new(),
            pairs: PathPairs::Braided,
            most_flows: 8,
            nr_sack: None,
            checksum: false,
        }
    }
}
