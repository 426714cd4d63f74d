//! What carries the data, if not SCTP? TCP and Multipath TCP, to compare it with.

use anabranch_sim::tcp::NrSackForm;
use serde::{Deserialize, Serialize};

/// What carries the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportPlan {
    /// One association.
    #[default]
    Sctp,
    /// One connection for each stream.
    Tcp,
    /// The same, each over all paths (RFC 8684).
    Mptcp,
}

/// What only TCP and Multipath TCP have. The rest is as for an association: buffers, MTU, mechanisms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TcpPlan {
    /// Selective acknowledgements (RFC 2018). On unless set.
    pub sack: bool,
    /// What a SACK reports leaves the send buffer at once (Yang 2015). Off unless set.
    pub nr_sack: bool,
    /// Timestamps (RFC 7323). On unless set.
    pub timestamps: bool,
    /// Small segments wait for each other (RFC 9293 §3.7.4). On unless set.
    pub nagle: bool,
}

impl Default for TcpPlan {
    fn default() -> Self {
        Self {
            sack: true,
            nr_sack: false,
            timestamps: true,
            nagle: true,
        }
    }
}

/// What only Multipath TCP has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MptcpPlan {
    /// Whether acknowledgements of data promise what arrived out of order (Yang 2015, chapter 3). Off unless set.
    pub nr_sack: NrSackPlan,
    /// Checksums over data (RFC 8684 §3.3.1). Off unless set.
    pub checksum: bool,
}

/// How many bytes a block takes that promises something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NrSackPlan {
    /// Nothing is promised.
    #[default]
    Off,
    /// 6 bytes, for receive buffers up to 16 MB.
    Short,
    /// 8 bytes.
    Long,
}

impl NrSackPlan {
    /// The form of the blocks; `None` if there are none.
    #[must_use]
    pub const fn form(self) -> Option<NrSackForm> {
        match self {
            Self::Off => None,
            Self::Short => Some(NrSackForm::Short),
            Self::Long => Some(NrSackForm::Long),
        }
    }
}
