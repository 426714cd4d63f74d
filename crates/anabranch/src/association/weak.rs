//! A reference to an association that does not keep it open.

use std::sync::{Arc, Weak};

use super::{Association, Handle};

/// A reference to an association that does not keep it open.
#[derive(Clone, Debug)]
pub(crate) struct WeakAssociation(Weak<Handle>);

impl WeakAssociation {
    /// A handle, unless the last one was dropped.
    pub(crate) fn upgrade(&self) -> Option<Association> {
        self.0.upgrade().map(Association)
    }
}

impl Association {
    pub(crate) fn downgrade(&self) -> WeakAssociation {
        WeakAssociation(Arc::downgrade(&self.0))
    }
}
