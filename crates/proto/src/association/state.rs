//! States of an association (RFC 9260 §4). Where in its life is it? Each state has the timer that only it has.

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_types::Instant;

/// The state of an association. Timers live in the states that may have them.
#[derive(Debug)]
pub(crate) enum State {
    /// INIT sent; T1-init runs.
    CookieWait(Retry),
    /// COOKIE ECHO sent; T1-cookie runs.
    CookieEchoed(Retry, Box<[u8]>),
    /// Data flows both ways.
    Established,
    /// The application wants to finish; what it sent is not all acknowledged yet.
    ShutdownPending,
    /// SHUTDOWN sent; T2-shutdown runs, guarded by T5.
    ShutdownSent(Retry, Guard),
    /// SHUTDOWN received; what we sent is not all acknowledged yet.
    ShutdownReceived,
    /// SHUTDOWN ACK sent; T2-shutdown runs, guarded by T5.
    ShutdownAckSent(Retry, Guard),
    /// Over. What the reason was is in the last event.
    Closed,
}

/// When a shutdown that does not come to an end is cut short: T5-shutdown-guard (RFC 9260 §9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Guard(pub(crate) Instant);

/// A timer that repeats a chunk with exponential back-off: T1 and T2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Retry {
    pub(crate) expires: Instant,
    pub(crate) timeout: Duration,
    pub(crate) repeated: u16,
    /// How often the handshake began again because the peer found its cookie stale.
    pub(crate) begun_again: u16,
}

impl Retry {
    pub(crate) fn start(timeout: Duration, now: Instant) -> Self {
        Self {
            expires: now + timeout,
            timeout,
            repeated: 0,
            begun_again: 0,
        }
    }

    //= rfc9260 5.1.6-1, 5.1-13, 9.2-3
    /// The chunk is sent once more; the timeout doubles up to `max` (RFC 9260 §6.3.3 E2).
    pub(crate) fn repeat(&mut self, max: Duration, now: Instant) {
        self.timeout = (self.timeout * 2).min(max);
        self.expires = now + self.timeout;
        self.repeated += 1;
    }
}

impl State {
    pub(crate) const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    //= rfc9260 6-2, 6-4
    /// Whether the peer may have data for us: it knows our tag and our initial TSN.
    pub(crate) const fn takes_data(&self) -> bool {
        // These three states are those in which RFC 9260 §6 takes data. In COOKIE-ECHOED it may overtake the COOKIE ACK, and is
        // sent again.
        matches!(
            self,
            Self::Established | Self::ShutdownPending | Self::ShutdownSent(..)
        )
    }

    //= rfc9260 5-1, 6-1, 9.2-10
    /// Whether our data may leave.
    pub(crate) const fn sends_data(&self) -> bool {
        matches!(
            self,
            Self::Established | Self::ShutdownPending | Self::ShutdownReceived
        )
    }

    //= rfc9260 4-10, 4-12, 9.2-11
    /// Whether the application may hand over more.
    pub(crate) const fn accepts_messages(&self) -> bool {
        matches!(
            self,
            Self::CookieWait(_) | Self::CookieEchoed(..) | Self::Established
        )
    }

    /// Whether the handshake is behind us and the end is not.
    pub(crate) const fn is_connected(&self) -> bool {
        !matches!(self, Self::CookieWait(_) | Self::CookieEchoed(..) | Self::Closed)
    }

    //= rfc5061 5.1.1-5
    /// Whether SHUTDOWN or SHUTDOWN ACK was sent.
    pub(crate) const fn is_finishing(&self) -> bool {
        matches!(self, Self::ShutdownSent(..) | Self::ShutdownAckSent(..))
    }

    /// Whether SHUTDOWN or SHUTDOWN ACK follows as soon as everything sent is acknowledged.
    pub(crate) const fn is_shutdown_due(&self) -> bool {
        matches!(self, Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Whether addresses may be changed; other states have nothing to do with them (RFC 5061 §5.1.1 C4).
    pub(crate) const fn changes_addresses(&self) -> bool {
        matches!(
            self,
            Self::Established | Self::ShutdownPending | Self::ShutdownReceived | Self::ShutdownSent(..)
        )
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::CookieWait(retry) | Self::CookieEchoed(retry, _) => Some(retry.expires),
            Self::ShutdownSent(retry, guard) | Self::ShutdownAckSent(retry, guard) => {
                Some(retry.expires.min(guard.0))
            }
            Self::Established | Self::ShutdownPending | Self::ShutdownReceived | Self::Closed => None,
        }
    }

    /// The name as in RFC 9260 §4.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::CookieWait(_) => "COOKIE-WAIT",
            Self::CookieEchoed(..) => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent(..) => "SHUTDOWN-SENT",
            Self::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent(..) => "SHUTDOWN-ACK-SENT",
            Self::Closed => "CLOSED",
        }
    }
}
