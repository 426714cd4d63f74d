//! Events of an association: what the application is notified of.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use anabranch_types::{MessageId, StreamId};
use thiserror::Error;

use super::{Association, ReportedError};
use crate::on_demand::{Idle, OnDemand};
use crate::path::PathEvent;
use crate::reconfig::{Reconfiguration, may_join};
use crate::send::{Abandoned, Sender};

/// A notification for the application.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete.
    Connected {
        /// Whether the peer was the initiator.
        incoming: bool,
    },
    /// The peer declared this code point of its adaptation layer (RFC 5061 §4.2.6; `SCTP_ADAPTATION_INDICATION` in RFC 6458
    /// §6.1.7). It follows [`Event::Connected`].
    AdaptationIndication(u32),
    /// An authenticated packet of the peer used another shared key than the one before, or than key 0 at first (RFC 4895 §6.3;
    /// `SCTP_AUTH_NEW_KEY` in RFC 6458 §6.1.8).
    PeerAuthenticationKey(u16),
    /// We offer authentication (RFC 4895), and the peer does not support it (`SCTP_AUTH_NO_AUTH` in RFC 6458 §6.1.8). It follows
    /// [`Event::Connected`]. If we require any chunks to be authenticated, there is no association with such a peer.
    PeerWithoutAuthentication,
    /// No message needs this shared key any more, which the application has deactivated (`SCTP_AUTH_FREE_KEY` in RFC 6458 §6.1.8).
    AuthenticationKeyFree(u16),
    /// The peer has lost its state and restarted (RFC 9260 §5.2.4 A). Unacknowledged data is lost.
    Restarted {
        /// Number of sent messages that the peer may not have received.
        undelivered: u64,
    },
    /// A message can be received; reported again only after the application has received all messages.
    Readable,
    /// The send buffer has room again after a message was refused.
    Writable,
    /// The queued bytes of this stream have fallen to its low-water mark; see
    /// [`Association::set_stream_low_water`](crate::Association::set_stream_low_water).
    StreamLow(StreamId),
    /// Messages queued before the end of the handshake were dropped, because the peer accepts fewer streams.
    Undeliverable {
        /// Number of dropped messages.
        messages: u64,
    },
    /// A message was abandoned, as its [`Reliability`](crate::Reliability) allows.
    Abandoned {
        /// The message, as [`Association::send`](crate::Association::send) returned it.
        message: MessageId,
        /// Its stream.
        stream: StreamId,
        /// Whether a part of it had been sent, so that the peer may have received the message.
        sent: bool,
    },
    /// A change of streams that the application requested is complete, or the peer refused it (RFC 6525).
    Reconfigured {
        /// The change.
        change: Reconfiguration,
        /// Whether the peer accepted it.
        accepted: bool,
    },
    /// The peer began the sequence numbers of inbound streams anew. All messages sent before were received by the application; those
    /// that follow were sent after.
    InboundReset {
        /// The streams; all if there are none.
        streams: Vec<StreamId>,
    },
    /// The peer began TSNs and the sequence numbers of all streams anew, in both directions.
    AssociationReset,
    /// Streams were added, on request of either end.
    StreamsAdded {
        /// Number of outbound streams now.
        outbound: u16,
        /// Number of inbound streams now.
        inbound: u16,
    },
    /// A path changed.
    Path(PathEvent),
    /// The peer has started a shutdown and will send no more messages.
    PeerShutdown,
    /// The peer reported an error (RFC 9260 §3.3.10).
    PeerError(ReportedError),
    /// The association has ended.
    Closed(CloseReason),
}

/// Why an association ended.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Graceful shutdown; all data was acknowledged.
    #[error("finished")]
    Finished,
    /// Aborted by this side.
    #[error("aborted by this side")]
    Aborted,
    /// Aborted by the peer.
    #[error("aborted by the peer: {causes}")]
    AbortedByPeer {
        /// All error causes as text (RFC 9260 §3.3.10), at most 256 bytes.
        causes: String,
        /// What the peer's application said: the Upper Layer Abort Reason (RFC 9260 §3.3.10.12), at most 256 bytes.
        reason: Option<String>,
    },
    /// No program listens at any address of the peer, as ICMP messages say.
    #[error("no program listens at the address of the peer")]
    Refused,
    /// The handshake was not answered.
    #[error("no answer from the peer")]
    NoAnswer,
    /// The peer is unreachable on all paths (RFC 9260 §8.1).
    #[error("the peer stopped answering")]
    PeerUnreachable,
    /// Heartbeats are answered, but no data was acknowledged for
    /// [`progress_timeout`](crate::AssociationConfig::progress_timeout).
    #[error("made no progress: the peer answers, but no data gets through")]
    NoProgress,
    /// The shutdown did not complete in time (T5-shutdown-guard, RFC 9260 §9.2).
    #[error("the peer did not finish in time")]
    ShutdownTimeout,
    /// No message was sent or received for the idle timeout of the driver.
    #[error("no message was sent or received for too long")]
    Idle,
    /// The peer violated the protocol.
    #[error("the peer broke the protocol: {0}")]
    PeerViolation(String),
}

impl CloseReason {
    /// Error code and reason of the peer's application, if it aborted with both: see [`CloseReason::application_text`].
    #[must_use]
    pub fn application_error(&self) -> Option<(u32, &str)> {
        let Self::AbortedByPeer { reason, .. } = self else {
            return None;
        };
        let (code, reason) = reason.as_deref()?.strip_prefix("error ")?.split_once(": ")?;
        Some((code.parse().ok()?, reason))
    }

    /// The Upper Layer Abort Reason that carries an error code: `error 7: reason`. RFC 9260 has no code in this error cause
    /// (§3.3.10.12), and text is of use to any peer.
    #[must_use]
    pub fn application_text(code: u32, reason: &str) -> String {
        alloc::format!("error {code}: {reason}")
    }
}

/// What the application learns of the peer with the end of the handshake.
pub(crate) struct Introduced {
    adaptation: Option<u32>,
    lacks_authentication: bool,
}

impl Introduced {
    pub(crate) fn of(association: &Association) -> Self {
        Self {
            adaptation: association.peer_adaptation,
            lacks_authentication: association.lacks_authentication(),
        }
    }
}

/// Queue of events in the order in which they occurred. Events like [`Event::Readable`] are queued once until the application acts.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: OnDemand<Queue>,
}

#[derive(Debug, Default)]
struct Queue(VecDeque<Event>);

impl Idle for Queue {
    const IDLE: &'static Self = &Self(VecDeque::new());

    fn is_idle(&self) -> bool {
        self.0.is_empty()
    }
}

impl Events {
    /// Limit of queued events. Beyond it, events that a peer can cause at will are dropped, so that an application that never polls
    /// does not use unbounded memory.
    const LIMIT: usize = 1_024;

    pub(crate) fn push(&mut self, event: Event) {
        let limit = match event {
            Event::PeerError(_) | Event::Path(_) | Event::PeerAuthenticationKey(_) => Self::LIMIT,
            Event::StreamsAdded { .. } => Self::LIMIT,
            // These are queued once until the application acts, or once per association.
            Event::Readable | Event::Writable | Event::Closed(_) => usize::MAX,
            _ => 2 * Self::LIMIT,
        };
        if self.queue.0.len() < limit {
            self.queue.make_mut().0.push_back(event);
        }
    }

    //= rfc5061 4.2.6-2, 4.2.6-3
    /// Tells the application that the handshake is complete, and what it showed of the peer.
    pub(crate) fn push_connected(&mut self, incoming: bool, peer: Introduced) {
        self.push(Event::Connected { incoming });
        if let Some(code) = peer.adaptation {
            self.push(Event::AdaptationIndication(code));
        }
        if peer.lacks_authentication {
            self.push(Event::PeerWithoutAuthentication);
        }
    }

    /// Queues an event for each stream that has fallen to its low-water mark. Streams for which the queue has no room follow later.
    pub(crate) fn push_low_streams(&mut self, sender: &mut Sender) {
        while !self.is_full()
            && let Some(stream) = sender.next_low_stream()
        {
            self.push(Event::StreamLow(stream));
        }
    }

    /// Whether the application has not taken the event of a reset.
    pub(crate) fn has_reset(&self) -> bool {
        let mut events = self.queue.0.iter();
        events.any(|event| matches!(event, Event::InboundReset { .. } | Event::AssociationReset))
    }

    /// Reports a reset of inbound streams. If the application has not taken the event of an earlier reset, the streams join it if they can
    /// (a single list waits, since it may be long); returns whether the reset is reported.
    pub(crate) fn push_inbound_reset(&mut self, more: &[StreamId]) -> bool {
        let mut events = self.queue.active_mut().into_iter().flat_map(|queue| &mut queue.0);
        let earlier =
            events.find(|event| matches!(event, Event::InboundReset { .. } | Event::AssociationReset));
        match earlier {
            None => self.push(Event::InboundReset {
                streams: more.to_vec(),
            }),
            Some(Event::InboundReset { streams }) if may_join(streams, more) => streams.extend(more),
            Some(_) => return false,
        }
        true
    }

    fn is_full(&self) -> bool {
        self.queue.0.len() >= Self::LIMIT
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.0.is_empty()
    }

    /// Releases the memory of an empty queue.
    pub(crate) fn release_memory(&mut self) {
        self.queue.release_if_idle();
    }

    /// Takes the next event. If the queue was full, streams of `sender` may have waited for room in it.
    pub(crate) fn poll(&mut self, sender: &mut Sender) -> Option<Event> {
        let was_full = self.is_full();
        let queued = self.queue.active_mut().and_then(|queue| queue.0.pop_front());
        let event = queued.or_else(|| of_messages(sender));
        if was_full {
            self.push_low_streams(sender);
        }
        // Many associations are idle from the beginning.
        if matches!(
            event,
            Some(Event::Connected { .. } | Event::PeerWithoutAuthentication | Event::Path(_))
        ) {
            self.release_memory();
        }
        event
    }
}

//= rfc3758 4.1-5
/// The next message that was abandoned, or key that no message needs any more. The sender queues them, because both happen in the middle
/// of its work.
fn of_messages(sender: &mut Sender) -> Option<Event> {
    if let Some(key) = sender.next_free_key() {
        return Some(Event::AuthenticationKeyFree(key));
    }
    let Abandoned {
        message,
        stream,
        sent,
    } = sender.next_abandoned()?;
    Some(Event::Abandoned {
        message,
        stream,
        sent,
    })
}
