//! Configuration of a connection.

use core::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_policy::catalog::RtoChoice;
use anabranch_policy::options::RtoParameters;

use crate::mptcp::MptcpConfig;

/// The settings of one connection.
///
/// Of its policies TCP asks those that have a meaning for it: `cc`, `path-scheduler`, `burst`, `ack-policy` and `rto`.
/// The others are SCTP's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// The mechanisms.
    pub policies: PolicyRecipe,
    /// Bytes that the application may hand over before they are acknowledged.
    pub send_buffer: u64,
    /// Bytes that may arrive before the application reads them.
    pub receive_buffer: u64,
    /// Largest IP packet, headers included; segments are sized so that they fit.
    pub mtu: u16,
    /// Offer selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer scaled windows (RFC 7323 §2).
    pub window_scaling: bool,
    /// Take SACKs as promises: what a SACK reports leaves the send buffer at once (Yang 2015, chapter 2). The peer must
    /// never discard what it has reported, as this implementation never does.
    pub nr_sack: bool,
    /// Hold small segments back while something is in flight (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// So many segments are acknowledged at once at the beginning, while the peer is in slow start. Later the `ack-policy`
    /// decides.
    pub quick_acks: u32,
    /// After how long a SYN or SYN-ACK is sent again for the first time; each further time takes twice as long. 3 s (RFC
    /// 1122 §4.2.3.1) gives 3, 6, 12, 24 s.
    pub syn_timeout: Duration,
    /// How often it is sent again.
    pub syn_retries: u8,
    /// A connection ends when so many timeouts in a row were not answered (R2 of RFC 9293 §3.8.3).
    pub retries: u16,
    /// Several subflows carry one connection (RFC 8684), which is refused if the peer cannot do that; `None` for plain TCP.
    pub mptcp: Option<MptcpConfig>,
    /// How long the addresses of a connection stay taken after its end: twice the longest life of a segment (RFC 9293
    /// §3.6.1).
    pub time_wait: Duration,
}

impl TcpConfig {
    /// The bounds of the retransmission timeout.
    pub(crate) const fn rto(&self) -> RtoParameters {
        let RtoChoice::Rfc9260(rto) = self.policies.rto;
        rto
    }
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            policies: PolicyRecipe::tcp(),
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            mtu: 1_500,
            sack: true,
            timestamps: true,
            window_scaling: true,
            nr_sack: false,
            nagle: true,
            quick_acks: 16,
            syn_timeout: Duration::from_secs(3),
            syn_retries: 4,
            retries: 15,
            mptcp: None,
            time_wait: Duration::from_secs(60),
        }
    }
}
