//! Transport protocols of a plan: SCTP, and TCP and Multipath TCP for comparison.

use anabranch_sim::tcp::NrSackForm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportPlan {
    /// SCTP: one association.
    #[default]
    Sctp,
    /// TCP: one connection for each stream.
    Tcp,
    /// Multipath TCP: one connection for each stream, over all paths (RFC 8684).
    Mptcp,
}

/// Options of TCP and Multipath TCP. Buffers, MTU and policies are those of the association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TcpPlan {
    /// Selective acknowledgements (RFC 2018). On unless set.
    pub sack: bool,
    /// Non-renegable SACKs: data reported by a SACK is freed at once (Yang 2015). Off unless set.
    pub nr_sack: bool,
    /// Timestamps (RFC 7323). On unless set.
    pub timestamps: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4). On unless set.
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

/// Options of Multipath TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MptcpPlan {
    /// Non-renegable SACK blocks at the data level (Yang 2015, chapter 3). Off unless set.
    pub nr_sack: NrSackPlan,
    /// DSS checksums (RFC 8684 §3.3.1). Off unless set.
    pub checksum: bool,
}

/// Size of a data-level NR-SACK block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NrSackPlan {
    /// No blocks.
    #[default]
    Off,
    /// 6 bytes, for receive buffers up to 16 MB.
    Short,
    /// 8 bytes.
    Long,
}

impl NrSackPlan {
    /// The form of the blocks; `None` if off.
    #[must_use]
    pub const fn form(self) -> Option<NrSackForm> {
        match self {
            Self::Off => None,
            Self::Short => Some(NrSackForm::Short),
            Self::Long => Some(NrSackForm::Long),
        }
    }
}
