//! Tasks of the driver's thread that watch an association: events, the end of the handshake, idleness.

use std::sync::Arc;
use std::time::Duration;

use anabranch::{ConnectError, Readiness};

use super::{Member, Socket, Style};
use crate::encryption;
use crate::errno::Errno;
use crate::layout::{self, kind};
use crate::lock;
use crate::process::Process;

/// Notifications that are made of events.
const OF_EVENTS: [u16; 9] = [
    kind::ASSOC_CHANGE,
    kind::PEER_ADDR_CHANGE,
    kind::SEND_FAILED,
    kind::SEND_FAILED_EVENT,
    kind::REMOTE_ERROR,
    kind::AUTHENTICATION,
    kind::STREAM_RESET,
    kind::ASSOC_RESET,
    kind::STREAM_CHANGE,
];

impl Member {
    /// Follows the handshake that we began, and tells the socket of its end.
    pub(super) fn follow_handshake(self: &Arc<Self>) -> Result<(), Errno> {
        let member = Arc::clone(self);
        Process::current().runtime()?.spawn(async move {
            let outcome = member.association.established().await;
            if let Some(owner) = member.owner() {
                owner.on_handshake(&member, outcome);
            }
        });
        Ok(())
    }

    /// Gives the association the shared keys of its settings. Without authentication, it has none.
    fn use_keys(&self) {
        let settings = lock(&self.settings).clone();
        for (number, secret) in settings.keys.iter().filter(|(number, _)| **number != 0) {
            let _ = self.association.add_authentication_key(*number, secret);
        }
        if settings.active_key != 0 {
            let _ = self.association.use_authentication_key(settings.active_key);
        }
        for number in settings.deactivated_keys {
            let _ = self.association.deactivate_authentication_key(number);
        }
    }

    /// Disables heartbeats on all paths if the settings say so.
    fn disable_heartbeats(&self) {
        if !lock(&self.settings).has_heartbeats() {
            for path in self.association.statistics().paths {
                self.association.set_heartbeats(path.id, false);
            }
        }
    }

    /// Starts what the notifications need that the program wants, and that does not run yet. In the one-to-many style, events also tell by
    /// which addresses the program may name the association.
    pub(super) fn watch(self: &Arc<Self>) {
        if !self.is_established() {
            return;
        }
        let settings = lock(&self.settings).clone();
        let is_named = self.owner().is_some_and(|owner| owner.style == Style::OneToMany);
        let is_followed =
            is_named || !settings.has_heartbeats() || OF_EVENTS.iter().any(|kind| settings.subscribes(*kind));
        let mut watched = lock(&self.watched);
        let follows = !watched.follows_events && is_followed;
        let dries = !watched.watches_dry && settings.subscribes(kind::SENDER_DRY);
        watched.follows_events |= follows;
        watched.watches_dry |= dries;
        drop(watched);
        if follows {
            self.follow_events();
        }
        if dries {
            self.watch_dry();
        }
    }

    fn follow_events(self: &Arc<Self>) {
        let Ok(runtime) = Process::current().runtime() else {
            return;
        };
        let mut events = self.association.events();
        let weak = Arc::downgrade(self);
        self.tell_addresses();
        runtime.spawn(async move {
            while let Some(event) = events.next().await {
                let Some(member) = weak.upgrade() else { return };
                member.on_event(event);
            }
        });
    }

    /// Tells whenever everything that was sent is acknowledged (RFC 6458 §6.1.9), at once if that is so now.
    fn watch_dry(self: &Arc<Self>) {
        let Ok(runtime) = Process::current().runtime() else {
            return;
        };
        let member = Arc::clone(self);
        runtime.spawn(async move {
            while member.association.flushed().await.is_ok() && !member.association.is_closed() {
                if let Some(owner) = member.owner() {
                    owner.notify(&member, kind::SENDER_DRY, layout::sender_dry);
                }
                tokio::select! {
                    () = member.sent.notified() => {}
                    _ = member.association.closed() => return,
                }
            }
        });
    }

    /// Shuts the association down when nothing was sent or received for so long (RFC 6458 §8.1.8).
    fn close_when_idle(self: &Arc<Self>, limit: Duration) {
        let Ok(runtime) = Process::current().runtime() else {
            return;
        };
        let weak = Arc::downgrade(self);
        self.touch();
        let mut deadline = self.last_use() + limit;
        let mut received = self.received();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep_until(deadline).await;
                let Some(member) = weak.upgrade() else { return };
                // While the program does not read, not all that arrives changes the readiness.
                let before = std::mem::replace(&mut received, member.received());
                if received != before {
                    member.touch();
                }
                deadline = member.last_use() + limit;
                if deadline <= tokio::time::Instant::now() {
                    let _ = member.shut_down_sending();
                    return;
                }
            }
        });
    }
}

impl Socket {
    /// The handshake is over.
    pub(super) fn on_handshake(self: &Arc<Self>, member: &Arc<Member>, outcome: Result<(), ConnectError>) {
        match outcome {
            Ok(()) => self.on_established(member),
            Err(error) => {
                if member.hub.encryption.is_some() {
                    encryption::explain(&error, member.peer());
                }
                self.on_failed(member, error.into());
            }
        }
    }

    /// An association can be used: tells the program.
    pub(super) fn on_established(self: &Arc<Self>, member: &Arc<Member>) {
        member.set_established();
        self.enter(member, &member.confirmed_peers());
        let (up, streams) = (layout::AssocState::CommUp, member.association.streams());
        self.notify(member, kind::ASSOC_CHANGE, |id| {
            layout::assoc_change(id, up, streams)
        });
        if let Some(code) = member.association.peer_adaptation_layer() {
            self.notify(member, kind::ADAPTATION, |id| layout::adaptation(id, code));
        }
        if member.association.peer_lacks_authentication() {
            let change = layout::KeyChange::NoAuthentication;
            self.notify(member, kind::AUTHENTICATION, |id| layout::auth_key(id, 0, change));
        }
        member.use_keys();
        member.disable_heartbeats();
        self.set_connected();
        member.watch();
        let autoclose = lock(&member.settings).autoclose;
        if self.style == Style::OneToMany && autoclose != 0 {
            member.close_when_idle(Duration::from_secs(autoclose.into()));
        }
        self.on_readiness(member, Readiness::Both);
    }

    /// The handshake failed: the socket forgets the association.
    fn on_failed(&self, member: &Arc<Member>, error: Errno) {
        let _ = member.failure.set(error);
        if self.forget(member.id).is_some() {
            match self.style {
                Style::OneToOne => self.set_unconnected(member, error),
                Style::OneToMany => {
                    let state = layout::AssocState::CannotStart;
                    self.notify(member, kind::ASSOC_CHANGE, |id| {
                        layout::assoc_change(id, state, (0, 0))
                    });
                }
            }
        }
        self.unblock(member);
    }
}
