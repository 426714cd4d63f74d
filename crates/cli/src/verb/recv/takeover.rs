//! Takeover of transfers. What becomes of a session whose sender has begun again? It ends at once: its sender was killed.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The sessions of all transfers that can be resumed, by their ids.
#[derive(Debug, Default)]
pub(super) struct Takeovers(Mutex<BTreeMap<String, Arc<Notify>>>);

/// The right to store a transfer; released when dropped.
#[derive(Debug)]
pub(super) struct Hold {
    takeovers: Arc<Takeovers>,
    id: Option<String>,
    lost: Arc<Notify>,
}

impl Takeovers {
    /// Takes a transfer from the session that has it. Only its sender knows the id.
    pub(super) fn take(self: &Arc<Self>, id: Option<&str>) -> Hold {
        let lost = Arc::new(Notify::new());
        if let Some(id) = id {
            let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(former) = sessions.insert(id.to_owned(), Arc::clone(&lost)) {
                former.notify_one();
            }
        }
        Hold {
            takeovers: Arc::clone(self),
            id: id.map(str::to_owned),
            lost,
        }
    }
}

impl Hold {
    /// Completes when another session has taken the transfer.
    pub(super) async fn lost(&self) {
        match self.id {
            Some(_) => self.lost.notified().await,
            None => pending().await,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(id) = &self.id else { return };
        let mut sessions = self.takeovers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions
            .get(id)
            .is_some_and(|holder| Arc::ptr_eq(holder, &self.lost))
        {
            sessions.remove(id);
        }
    }
}
