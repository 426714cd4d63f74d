//! Connection states of RFC 9293 §3.3.2, and their transitions.

use core::fmt;

/// A state of the connection diagram. LISTEN is the endpoint's; CLOSED stays until the end is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data may flow both ways.
    Established,
    /// We have ended our direction; the FIN is not acknowledged.
    FinWait1,
    /// It is; the peer may go on sending.
    FinWait2,
    /// The peer has ended its direction.
    CloseWait,
    /// Both have, each before it heard of the other's FIN.
    Closing,
    /// Both have, the peer first; our FIN is not acknowledged.
    LastAck,
    /// Both are done; late segments are still answered.
    TimeWait,
    /// Nothing is left.
    Closed,
}

impl State {
    /// Whether both ends have agreed to begin.
    pub(crate) const fn is_synchronized(self) -> bool {
        !matches!(self, Self::SynSent | Self::SynReceived | Self::Closed)
    }

    /// Whether data from the peer has a meaning.
    pub(crate) const fn takes_data(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether what was handed over may be sent.
    pub(crate) const fn sends_data(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }

    /// Our FIN leaves for the first time.
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

    /// The peer's FIN, and everything before it, has arrived.
    pub(crate) const fn after_peer_fin(self) -> Self {
        match self {
            Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            other => other,
        }
    }
}

/// As in the RFC: `FIN-WAIT-1`.
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
