//! Events of an association: path changes, and what the peer did.

use anabranch_proto::{CloseReason, Event, PathEvent, Reconfiguration, ReportedError};
use anabranch_types::{MessageId, StreamId};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// An event of an association.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AssociationEvent {
    /// A path changed.
    Path(PathEvent),
    /// A message was abandoned, as its [`Reliability`](crate::Reliability) allows.
    Abandoned {
        /// The message, as [`Association::send`](crate::Association::send) returned it.
        message: MessageId,
        /// Its stream.
        stream: StreamId,
        /// Whether a part of it had been sent, so that the peer may have received the message.
        sent: bool,
    },
    /// A change of streams that [`Association::reconfigure`](crate::Association::reconfigure) requested is complete, or the peer
    /// refused it.
    Reconfigured {
        /// The change.
        change: Reconfiguration,
        /// Whether the peer accepted it.
        accepted: bool,
    },
    /// The peer began the sequence numbers of inbound streams anew. All messages sent before were received.
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
    /// The peer restarted (RFC 9260 §5.2.4 A).
    Restarted {
        /// Messages that the peer may not have received.
        undelivered: u64,
    },
    /// The peer declared this code point of its adaptation layer (RFC 5061 §4.2.6). It comes with the end of the handshake, so most
    /// programs ask [`Association::peer_adaptation_layer`](crate::Association::peer_adaptation_layer) instead.
    AdaptationIndication(u32),
    /// An authenticated packet of the peer used another shared key than the one before (RFC 4895 §6.3).
    PeerAuthenticationKey(u16),
    /// We offer authentication, and the peer does not support it. It comes with the end of the handshake.
    PeerWithoutAuthentication,
    /// No message needs this shared key any more, which
    /// [`deactivate_authentication_key`](crate::Association::deactivate_authentication_key) has deactivated.
    AuthenticationKeyFree(u16),
    /// The peer sends nothing more and waits for our shutdown.
    PeerShutdown,
    /// The peer reported an error (RFC 9260 §3.3.10).
    PeerError(ReportedError),
    /// The association has ended.
    Closed(CloseReason),
}

impl AssociationEvent {
    /// `None` for events that the handles translate into readiness.
    pub(crate) fn of(event: Event) -> Option<Self> {
        match event {
            Event::Path(event) => Some(Self::Path(event)),
            Event::Abandoned {
                message,
                stream,
                sent,
            } => Some(Self::Abandoned {
                message,
                stream,
                sent,
            }),
            Event::Reconfigured { change, accepted } => Some(Self::Reconfigured { change, accepted }),
            Event::InboundReset { streams } => Some(Self::InboundReset { streams }),
            Event::AssociationReset => Some(Self::AssociationReset),
            Event::StreamsAdded { outbound, inbound } => Some(Self::StreamsAdded { outbound, inbound }),
            Event::Restarted { undelivered } => Some(Self::Restarted { undelivered }),
            Event::AdaptationIndication(code) => Some(Self::AdaptationIndication(code)),
            Event::PeerAuthenticationKey(id) => Some(Self::PeerAuthenticationKey(id)),
            Event::PeerWithoutAuthentication => Some(Self::PeerWithoutAuthentication),
            Event::AuthenticationKeyFree(id) => Some(Self::AuthenticationKeyFree(id)),
            Event::PeerShutdown => Some(Self::PeerShutdown),
            Event::PeerError(text) => Some(Self::PeerError(text)),
            Event::Closed(reason) => Some(Self::Closed(reason)),
            _ => None,
        }
    }
}

/// The events of one association from the moment of subscription.
///
/// A subscriber that falls far behind misses the oldest events and can read [how many](Self::missed).
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<AssociationEvent>,
    missed: u64,
    /// The last event was taken, or happened before the subscription.
    is_over: bool,
}

impl Events {
    /// `is_over` if the association has ended already.
    pub(crate) const fn new(receiver: broadcast::Receiver<AssociationEvent>, is_over: bool) -> Self {
        Self {
            receiver,
            missed: 0,
            is_over,
        }
    }

    /// The next event; `None` after [`AssociationEvent::Closed`].
    ///
    /// Nothing is lost if the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<AssociationEvent> {
        while !self.is_over {
            match self.receiver.recv().await {
                Ok(event) => {
                    self.is_over = matches!(event, AssociationEvent::Closed(_));
                    return Some(event);
                }
                Err(RecvError::Lagged(missed)) => self.missed += missed,
                Err(RecvError::Closed) => self.is_over = true,
            }
        }
        None
    }

    /// How many events were missed because they were not taken in time.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }
}
