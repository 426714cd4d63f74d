//! Spans and events for the crate `tracing`, with the feature `tracing`. Without it, they cost nothing.
//!
//! | kind | name | fields |
//! |---|---|---|
//! | span, INFO | `endpoint` | `local`: addresses of the sockets |
//! | span, INFO | `connect` | `peer`: addresses |
//! | event, INFO | `connected`, `closed` | `association`; `incoming`, `reason` |
//! | event, INFO | `path` | `association`, `path`, `change` |
//! | event, WARN | `restarted`, `peer error` | `association`; `undelivered`, `error` |
//! | event, DEBUG | `event`: any other but readiness | `association`, `event` |

#[cfg(not(feature = "tracing"))]
pub(crate) use off::{Traces, in_connect, in_endpoint};
#[cfg(feature = "tracing")]
pub(crate) use on::{Traces, in_connect, in_endpoint};

#[cfg(feature = "tracing")]
mod on {
    use std::net::SocketAddr;

    use anabranch_proto::Event;
    use anabranch_types::AssociationId;
    use tracing::instrument::Instrumented;
    use tracing::{Instrument as _, Level};

    /// Runs the task of an endpoint in its span.
    pub(crate) fn in_endpoint<F>(local: &[SocketAddr], task: F) -> Instrumented<F> {
        task.instrument(tracing::info_span!("endpoint", ?local))
    }

    /// Runs an attempt to connect in its span.
    pub(crate) fn in_connect<F>(peer: &[SocketAddr], attempt: F) -> Instrumented<F> {
        attempt.instrument(tracing::info_span!("connect", ?peer))
    }

    /// Events that were noted under the lock, and are reported without it: a subscriber may be slow.
    #[derive(Debug, Default)]
    pub(crate) struct Traces(Vec<(AssociationId, Event)>);

    impl Traces {
        pub(crate) fn note(&mut self, id: AssociationId, event: &Event) {
            let is_readiness = matches!(event, Event::Readable | Event::Writable | Event::StreamLow(_));
            if !is_readiness && tracing::enabled!(Level::WARN) {
                self.0.push((id, event.clone()));
            }
        }

        pub(crate) fn report(&mut self) {
            for (AssociationId(association), event) in self.0.drain(..) {
                match event {
                    Event::Connected { incoming } => tracing::info!(association, incoming, "connected"),
                    Event::Closed(reason) => tracing::info!(association, %reason, "closed"),
                    Event::Path(event) => {
                        tracing::info!(association, path = %event.addr, change = ?event.change, "path");
                    }
                    Event::Restarted { undelivered } => {
                        tracing::warn!(association, undelivered, "restarted");
                    }
                    Event::PeerError(error) => tracing::warn!(association, %error, "peer error"),
                    event => tracing::debug!(association, ?event, "event"),
                }
            }
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod off {
    use std::net::SocketAddr;

    use anabranch_proto::Event;
    use anabranch_types::AssociationId;

    pub(crate) fn in_endpoint<F>(_local: &[SocketAddr], task: F) -> F {
        task
    }

    pub(crate) fn in_connect<F>(_peer: &[SocketAddr], attempt: F) -> F {
        attempt
    }

    #[derive(Debug, Default)]
    pub(crate) struct Traces;

    impl Traces {
        #[inline]
        pub(crate) fn note(&mut self, _id: AssociationId, _event: &Event) {}

        #[inline]
        pub(crate) fn report(&mut self) {}
    }
}
