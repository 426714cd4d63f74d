//! Stream reconfiguration of an association (RFC 6525): the command of the application.

use anabranch_wire::chunk::kind;

use super::{Association, State};
use crate::reconfig::{Reconfig, Reconfiguration, ReconfigurationError};

impl Association {
    //= rfc6525 5.1.1-2, 5.1.1-3, 5.1.1-4
    /// Requests a change of streams (RFC 6525). [`Event::Reconfigured`](crate::Event::Reconfigured) tells what becomes of it.
    ///
    /// # Errors
    ///
    /// See [`ReconfigurationError`].
    pub fn reconfigure(&mut self, change: Reconfiguration) -> Result<(), ReconfigurationError> {
        let is_open = matches!(self.state, State::Established) && !self.owed.shutdown;
        if !is_open || !self.extensions.agreed(kind::RE_CONFIG) {
            return Err(ReconfigurationError::NotAvailable);
        }
        let initial = (self.local.initial_tsn, self.peer.initial_tsn);
        Reconfig::of(&mut self.reconfig, initial).request(change, &mut self.transfer)
    }
}
