//! States of an association (RFC 9260 §4). Each state contains the timers that run in it, and no others.

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_types::{Instant, earliest};

/// The state of an association, with the timers that may run in it. Timers are boxed: in most associations, none of them runs.
#[derive(Debug)]
pub(crate) enum State {
    /// INIT sent; T1-init runs. `None` while the layer below has not reached the peer, and there is no INIT yet.
    CookieWait(Option<Box<Retry>>),
    /// COOKIE ECHO sent; T1-cookie runs.
    CookieEchoed(Box<Echo>),
    /// The handshake is complete; both ends may send data.
    Established,
    /// The application has requested a shutdown; data is still unacknowledged.
    ShutdownPending,
    /// SHUTDOWN sent; T2-shutdown runs, guarded by T5.
    ShutdownSent(Box<T2<Guard>>),
    /// SHUTDOWN received; our data is not all acknowledged yet. T5 runs if we had sent a SHUTDOWN as well.
    ShutdownReceived(Option<Guard>),
    /// SHUTDOWN ACK sent; T2-shutdown runs, guarded by T5 if we had sent a SHUTDOWN before.
    ShutdownAckSent(Box<T2<Option<Guard>>>),
    /// The association has ended; the last event has the reason.
    Closed,
}

/// T1-cookie and the cookie.
#[derive(Debug)]
pub(crate) struct Echo {
    pub(crate) retry: Retry,
    pub(crate) cookie: Box<[u8]>,
}

/// T2-shutdown and its guard.
#[derive(Debug)]
pub(crate) struct T2<G> {
    pub(crate) retry: Retry,
    pub(crate) guard: G,
}

/// T5-shutdown-guard: the time at which an incomplete shutdown is aborted. Only the sender of SHUTDOWN may start it (RFC 9260 §9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Guard(pub(crate) Instant);

impl Guard {
    /// When it ends the association. While the peer is silent, T2 decides alone: it may need longer to use up Association.Max.Retrans.
    pub(crate) const fn deadline(self, retry: &Retry) -> Option<Instant> {
        if retry.repeated == 0 { Some(self.0) } else { None }
    }
}

/// A timer that retransmits a chunk with exponential back-off: T1 or T2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Retry {
    pub(crate) expires: Instant,
    pub(crate) timeout: Duration,
    pub(crate) repeated: u16,
    /// Number of times that the handshake was restarted because the peer reported a stale cookie.
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
    /// Counts a retransmission; the timeout doubles up to `max` (RFC 9260 §6.3.3 E2).
    pub(crate) fn repeat(&mut self, max: Duration, now: Instant) {
        self.timeout = (self.timeout * 2).min(max);
        self.expires = now + self.timeout;
        self.repeated += 1;
    }
}

impl State {
    /// COOKIE-ECHOED, in which `cookie` is sent.
    pub(crate) fn echoed(retry: Retry, cookie: Box<[u8]>) -> Self {
        Self::CookieEchoed(Box::new(Echo { retry, cookie }))
    }

    pub(crate) const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    //= rfc9260 6-2, 6-4
    /// Whether received DATA chunks are accepted (RFC 9260 §6).
    pub(crate) const fn takes_data(&self) -> bool {
        // RFC 9260 §6 accepts data in these three states. In COOKIE-ECHOED data that overtakes the COOKIE ACK is dropped and will
        // be retransmitted.
        matches!(
            self,
            Self::Established | Self::ShutdownPending | Self::ShutdownSent(_)
        )
    }

    //= rfc9260 5-1, 6-1, 9.2-10
    /// Whether data may be sent.
    pub(crate) const fn sends_data(&self) -> bool {
        matches!(
            self,
            Self::Established | Self::ShutdownPending | Self::ShutdownReceived(_)
        )
    }

    //= rfc9260 4-10, 4-12, 9.2-11
    /// Whether the application may queue messages.
    pub(crate) const fn accepts_messages(&self) -> bool {
        matches!(
            self,
            Self::CookieWait(_) | Self::CookieEchoed(_) | Self::Established
        )
    }

    /// Whether the handshake is complete and the association has not ended.
    pub(crate) const fn is_connected(&self) -> bool {
        !matches!(self, Self::CookieWait(_) | Self::CookieEchoed(_) | Self::Closed)
    }

    //= rfc5061 5.1.1-5
    /// Whether SHUTDOWN or SHUTDOWN ACK has been sent.
    pub(crate) const fn is_finishing(&self) -> bool {
        matches!(self, Self::ShutdownSent(_) | Self::ShutdownAckSent(_))
    }

    /// Whether SHUTDOWN or SHUTDOWN ACK follows as soon as all data is acknowledged.
    pub(crate) const fn is_shutdown_due(&self) -> bool {
        matches!(self, Self::ShutdownPending | Self::ShutdownReceived(_))
    }

    /// Whether ASCONF may be sent in this state (RFC 5061 §5.1.1 C4).
    pub(crate) const fn changes_addresses(&self) -> bool {
        matches!(
            self,
            Self::Established | Self::ShutdownPending | Self::ShutdownReceived(_) | Self::ShutdownSent(_)
        )
    }

    /// Whether RE-CONFIG is sent and handled in this state: also in SHUTDOWN-SENT, as the peer may hold data back until its streams are
    /// reset.
    pub(crate) const fn changes_streams(&self) -> bool {
        self.changes_addresses()
    }

    /// Whether ASCONF is accepted in this state: also in SHUTDOWN-ACK-SENT, as the peer may still be in SHUTDOWN-SENT, in which it may
    /// send one.
    pub(crate) const fn accepts_address_changes(&self) -> bool {
        self.changes_addresses() || matches!(self, Self::ShutdownAckSent(_))
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::CookieWait(retry) => retry.as_ref().map(|retry| retry.expires),
            Self::CookieEchoed(echo) => Some(echo.retry.expires),
            Self::ShutdownSent(t2) => earliest([Some(t2.retry.expires), t2.guard.deadline(&t2.retry)]),
            Self::ShutdownAckSent(t2) => {
                let guard = t2.guard.and_then(|guard| guard.deadline(&t2.retry));
                earliest([Some(t2.retry.expires), guard])
            }
            Self::Established | Self::ShutdownPending | Self::ShutdownReceived(_) | Self::Closed => None,
        }
    }

    /// The name of the state in RFC 9260 §4.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::CookieWait(_) => "COOKIE-WAIT",
            Self::CookieEchoed(_) => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent(_) => "SHUTDOWN-SENT",
            Self::ShutdownReceived(_) => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent(_) => "SHUTDOWN-ACK-SENT",
            Self::Closed => "CLOSED",
        }
    }
}
