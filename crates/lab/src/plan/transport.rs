//! What carries the data, if not SCTP? TCP, to compare it with.

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
}

/// What only TCP has. The rest is as for an association: buffers, MTU, mechanisms.
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
