//! Connection states of RFC 9293 §3.3.2, and their transitions.

use core::fmt;

/// A TCP connection state. LISTEN belongs to the endpoint; CLOSED remains until the close was reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Established in both directions.
    Established,
    /// FIN sent and not acknowledged; the peer may still send.
    FinWait1,
    /// Our FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer's FIN was received; we may still send.
    CloseWait,
    /// Simultaneous close: both FINs were sent, ours is not acknowledged.
    Closing,
    /// Both FINs were sent, the peer's first; ours is not acknowledged.
    LastAck,
    /// Both directions are closed; late segments are still answered.
    TimeWait,
    /// No connection.
    Closed,
}

impl State {
    /// Whether the connection was established.
    pub(crate) const fn is_synchronized(self) -> bool {
        !matches!(self, Self::SynSent | Self::SynReceived | Self::Closed)
    }

    /// Whether data from the peer is accepted.
    pub(crate) const fn takes_data(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether data may be sent.
    pub(crate) const fn sends_data(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }

    /// Our FIN is sent for the first time.
    pub(crate) const fn after_fin_sent(self) -> Self {
        match self {
            Self::Established => Self::FinWait1,
            Self::CloseWait => Self::LastAck,
            other => other,
        }
    }

    /// Our FIN is acknowledged.
    pub(crate) const fn after_fin_acked(self) -> Self {
        match self {
            Self::FinWait1 => Self::FinWait2,
            Self::Closing => Self::TimeWait,
            Self::LastAck => Self::Closed,
            other => other,
        }
    }

    /// The peer's FIN was received, with everything before it.
    pub(crate) const fn after_peer_fin(self) -> Self {
        match self {
            Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            other => other,
        }
    }
}

/// The name in the RFC: `FIN-WAIT-1`.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::TimeWait => "TIME-WAIT",
            Self::Closed => "CLOSED",
        })
    }
}
