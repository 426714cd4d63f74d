//! Readiness of an association: can it receive or send now, and who is told when that changes?

use anabranch_proto::{self as proto, ReceivedMessage};

use super::Association;
use crate::driver::Readiness;
use crate::error::{RecvError, TryRecvError};

/// Readiness, for programs that wait by other means than futures.
impl Association {
    /// The next message or part as [`recv_part`](Self::recv_part) returns it, if there is one now.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`], or [`TryRecvError::Closed`] as [`recv_part`](Self::recv_part).
    pub fn try_recv_part(&self) -> Result<Option<ReceivedMessage>, TryRecvError> {
        match self.0.try_recv(true) {
            Some(Ok(received)) => Ok(received),
            Some(Err(RecvError::Closed(reason))) => Err(TryRecvError::Closed(reason)),
            Some(Err(RecvError::Partial)) | None => Err(TryRecvError::Empty),
        }
    }

    /// Whether [`try_recv_part`](Self::try_recv_part) would return something other than [`TryRecvError::Empty`].
    #[must_use]
    pub fn is_readable(&self) -> bool {
        let signals = &self.0.signals;
        let is_over = signals.peer_has_finished() || signals.ended().is_some();
        is_over
            || signals.inbox.has_message().unwrap_or_else(|| {
                self.0.shared.command(|state| state.deliver(self.0.id));
                signals.inbox.has_message() != Some(false)
            })
    }

    /// Has `hook` called whenever the association may have become [readable](Self::is_readable), or writable after
    /// [`TrySendError::Full`](crate::TrySendError::Full), or has ended. `false` if it has a hook already.
    ///
    /// The endpoint's task calls it, so it should return quickly; it may call the association. It may be called without cause. What
    /// happened before is not told, so check the state afterwards.
    ///
    /// ```
    /// # use anabranch::Association;
    /// # fn example(association: &Association) {
    /// let (ready, changes) = std::sync::mpsc::channel();
    /// association.on_readiness(move |readiness| ready.send(readiness).unwrap_or_default());
    /// while !association.is_readable() && changes.recv().is_ok() {}
    /// # }
    /// ```
    pub fn on_readiness(&self, hook: impl Fn(Readiness) + Send + Sync + 'static) -> bool {
        self.0.signals.set_hook(hook)
    }
}

/// End with a code.
impl Association {
    /// Aborts the association at once, as [`abort`](Self::abort), with an error code of the application: the peer gets it from
    /// [`CloseReason::application_error`](crate::CloseReason::application_error). Other implementations see it in the text of the reason.
    pub fn abort_with(&self, code: u32, reason: &str) {
        self.abort(&proto::CloseReason::application_text(code, reason));
    }
}

/// Ports and streams, as agreed with the peer.
impl Association {
    /// SCTP ports: ours and the peer's.
    #[must_use]
    pub fn sctp_ports(&self) -> (u16, u16) {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association.map_or((0, 0), |association| {
            (association.local_port(), association.peer_port())
        })
    }

    /// Numbers of streams: outbound and inbound.
    #[must_use]
    pub fn streams(&self) -> (u16, u16) {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association.map_or((0, 0), proto::Association::streams)
    }
}
