//! Access of the data channels to their association.

use std::sync::Arc;

use anabranch_datachannel::{Limits, Role};
use anabranch_proto::{self as proto, CloseReason};
use tokio::sync::Notify;

use super::Association;
use crate::driver::DataChannelController;

impl Association {
    /// Gives the association data channels, unless it has some. Returns what tells that one can be accepted.
    pub(crate) fn attach_channels(&self, role: Role, limits: Limits) -> Arc<Notify> {
        let attached = self
            .0
            .shared
            .command(|state| state.attach_channels(self.0.id, role, limits));
        attached.expect("the core forgets an association after its last handle only")
    }

    /// Acts on the data channels, and wakes those that wait for what comes of it.
    pub(crate) fn with_channels<T>(
        &self,
        act: impl FnOnce(&mut DataChannelController, &mut proto::Association) -> T,
    ) -> Option<T> {
        let acted = self.0.shared.command(|state| state.with_channels(self.0.id, act));
        let (result, wakes) = acted?;
        for notify in wakes {
            notify.notify_waiters();
        }
        Some(result)
    }

    /// Tells that a message can be sent, or none ever will be.
    pub(crate) fn writable(&self) -> &Notify {
        &self.0.signals.writable
    }

    pub(crate) fn ended(&self) -> Option<&CloseReason> {
        self.0.signals.ended()
    }
}
