//! Configuration of a connection.

use core::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_policy::catalog::RtoChoice;
use anabranch_policy::options::RtoParameters;

use crate::mptcp::MptcpConfig;

/// The settings of one connection.
///
/// TCP uses only the policies that apply to it: `cc`, `path-scheduler`, `burst`, `ack-policy` and `rto`. The others are for SCTP
/// only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// The policies.
    pub policies: PolicyRecipe,
    /// Send buffer in bytes: data written and not yet acknowledged.
    pub send_buffer: u64,
    /// Receive buffer in bytes: data received and not yet read.
    pub receive_buffer: u64,
    /// Largest IP packet, headers included; segments are sized so that they fit.
    pub mtu: u16,
    /// Offer selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Treat SACKs as non-renegable: SACKed data leaves the send buffer immediately (Yang 2015, chapter 2). The peer must never
    /// discard data it has reported, as this implementation never does.
    pub nr_sack: bool,
    /// Hold back small segments while data is in flight (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Number of initial segments acknowledged immediately, while the peer is in slow start. Then the `ack-policy` decides.
    pub quick_acks: u32,
    /// Initial retransmission timeout of a SYN or SYN-ACK; it doubles each time. 3 s (RFC 1122 §4.2.3.1) gives 3, 6, 12, 24 s.
    pub syn_timeout: Duration,
    /// Maximum number of SYN retransmissions.
    pub syn_retries: u8,
    /// The connection closes after this many consecutive timeouts without an answer (R2 of RFC 9293 §3.8.3).
    pub retries: u16,
    /// Multipath TCP (RFC 8684), without fallback: the connection is refused if the peer does not support it; `None` for plain
    /// TCP.
    pub mptcp: Option<MptcpConfig>,
    /// How long the addresses of a connection stay in use after its end (TIME-WAIT): twice the maximum segment lifetime (RFC 9293
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
