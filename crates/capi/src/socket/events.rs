//! Events of an association as notifications (RFC 6458 §6.1).

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use anabranch::{
    AssociationEvent, Bytes, Message, MessageId, PathChange, PathEvent, Reachability, Reconfiguration,
    StreamId,
};

use super::Member;
use crate::layout::{self, AddressState, AssocState, Info, KeyChange, Outcome, SendFailure, kind};
use crate::{address, lock};

/// What is remembered of an association for notifications.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) follows_events: bool,
    pub(super) watches_dry: bool,
    /// The state of each address of the peer that was told last.
    addresses: BTreeMap<IpAddr, Reachability>,
    unreliable: Unreliable,
}

/// Messages that may be abandoned, as long as the send buffer may hold them.
#[derive(Debug, Default)]
struct Unreliable {
    messages: BTreeMap<MessageId, (Info, Bytes)>,
    bytes: u64,
}

impl Unreliable {
    /// Remembers a message, and forgets the oldest beyond `limit` bytes.
    fn push(&mut self, id: MessageId, message: (Info, Bytes), limit: u64) {
        self.bytes += message.1.len() as u64;
        self.messages.insert(id, message);
        while self.bytes > limit
            && let Some((_, (_, bytes))) = self.messages.pop_first()
        {
            self.bytes -= bytes.len() as u64;
        }
    }

    fn take(&mut self, id: MessageId) -> Option<(Info, Bytes)> {
        let (info, bytes) = self.messages.remove(&id)?;
        self.bytes -= bytes.len() as u64;
        Some((info, bytes))
    }
}

impl Member {
    /// A message is in the send buffer.
    pub(super) fn on_sent(&self, id: MessageId, message: &Message, info: &Info) {
        let settings = lock(&self.settings);
        let is_told = settings.subscribes(kind::SEND_FAILED) || settings.subscribes(kind::SEND_FAILED_EVENT);
        let (is_dry_told, autoclose, limit) = (
            settings.subscribes(kind::SENDER_DRY),
            settings.autoclose,
            2 * u64::from(settings.send_buffer),
        );
        drop(settings);
        if is_told && info.value != 0 {
            let message = (*info, message.payload.clone());
            lock(&self.watched).unreliable.push(id, message, limit);
        }
        if is_dry_told {
            self.sent.notify_one();
        }
        if autoclose != 0 {
            self.touch();
        }
    }

    fn notify(&self, kind: u16, notice: impl FnOnce(i32) -> Vec<u8>) {
        if let Some(owner) = self.owner() {
            owner.notify(self, kind, notice);
        }
    }

    /// Tells the program what has happened.
    pub(super) fn on_event(&self, event: AssociationEvent) {
        match event {
            AssociationEvent::Path(event) => self.on_path(event),
            AssociationEvent::Abandoned {
                message,
                stream,
                sent,
            } => self.on_abandoned(message, stream, sent),
            AssociationEvent::Restarted { .. } => {
                let streams = self.association.streams();
                self.notify(kind::ASSOC_CHANGE, |id| {
                    layout::assoc_change(id, AssocState::Restart, streams)
                });
            }
            AssociationEvent::PeerAuthenticationKey(key) => {
                self.notify(kind::AUTHENTICATION, |id| {
                    layout::auth_key(id, key, KeyChange::New)
                });
            }
            AssociationEvent::AuthenticationKeyFree(key) => {
                self.notify(kind::AUTHENTICATION, |id| {
                    layout::auth_key(id, key, KeyChange::Free)
                });
            }
            AssociationEvent::PeerError(error) => {
                self.notify(kind::REMOTE_ERROR, |id| {
                    layout::remote_error(id, error.code, &error.value)
                });
            }
            AssociationEvent::Reconfigured { change, accepted } => self.on_reconfigured(&change, accepted),
            AssociationEvent::InboundReset { streams } => self.on_reset(true, Outcome::Done, &streams),
            AssociationEvent::AssociationReset => {
                self.notify(kind::ASSOC_RESET, |id| layout::assoc_reset(id, Outcome::Done));
            }
            AssociationEvent::StreamsAdded { outbound, inbound } => {
                self.notify(kind::STREAM_CHANGE, |id| {
                    layout::stream_change(id, Outcome::Done, (outbound, inbound))
                });
            }
            _ => {}
        }
    }

    fn on_reset(&self, is_inbound: bool, outcome: Outcome, streams: &[StreamId]) {
        let streams: Vec<u16> = streams.iter().map(|stream| stream.0).collect();
        self.notify(kind::STREAM_RESET, |id| {
            layout::stream_reset(id, is_inbound, outcome, &streams)
        });
    }

    /// A request of the program was granted or denied. What it changed at both ends has an event of its own.
    fn on_reconfigured(&self, change: &Reconfiguration, accepted: bool) {
        let outcome = if accepted { Outcome::Done } else { Outcome::Denied };
        match change {
            Reconfiguration::ResetOutbound(streams) => self.on_reset(false, outcome, streams),
            Reconfiguration::ResetInbound(streams) if !accepted => self.on_reset(true, outcome, streams),
            Reconfiguration::ResetAssociation => {
                self.notify(kind::ASSOC_RESET, |id| layout::assoc_reset(id, outcome));
            }
            Reconfiguration::AddOutbound(_) | Reconfiguration::AddInbound(_) if !accepted => {
                self.notify(kind::STREAM_CHANGE, |id| {
                    layout::stream_change(id, outcome, (0, 0))
                });
            }
            _ => {}
        }
    }

    fn on_abandoned(&self, message: MessageId, stream: StreamId, was_sent: bool) {
        let known = lock(&self.watched).unreliable.take(message);
        let (info, data) = known.unwrap_or_else(|| {
            let info = Info {
                stream: stream.0,
                ..Info::default()
            };
            (info, Bytes::new())
        });
        let failure = SendFailure {
            was_sent,
            info: Info {
                assoc: self.id,
                ..info
            },
            data: &data,
        };
        self.notify(kind::SEND_FAILED, |id| layout::send_failed(id, &failure));
        self.notify(kind::SEND_FAILED_EVENT, |id| {
            layout::send_failed_event(id, &failure)
        });
    }

    fn on_path(&self, event: PathEvent) {
        let ip = event.addr.remote.ip();
        if event.change == PathChange::Added && !lock(&self.settings).has_heartbeats() {
            self.association.set_heartbeats(event.id, false);
        }
        let state = match event.change {
            PathChange::Reachability(_) => self.address_state(ip),
            PathChange::Primary => Some(AddressState::MadePrimary),
            PathChange::Added => Some(AddressState::Added),
            PathChange::Removed if self.has_lost(ip) => Some(AddressState::Removed),
            _ => None,
        };
        if let Some(state) = state {
            self.tell_address(ip, state);
        }
    }

    /// Whether no path leads to an address of the peer any more. Its state is told anew if it comes back.
    fn has_lost(&self, ip: IpAddr) -> bool {
        let paths = self.association.statistics().paths;
        let is_lost = paths.iter().all(|path| path.addr.remote.ip() != ip);
        if is_lost {
            lock(&self.watched).addresses.remove(&ip);
        }
        is_lost
    }

    /// Several paths may lead to one address, whose state is the best of theirs. `None` if it is as it was told last.
    fn address_state(&self, ip: IpAddr) -> Option<AddressState> {
        let rank = |reachability: &Reachability| match reachability {
            Reachability::Active => 3,
            Reachability::PotentiallyFailed => 2,
            Reachability::Inactive => 1,
            Reachability::Unconfirmed => 0,
        };
        let paths = self.association.statistics().paths;
        let of_address = paths.iter().filter(|path| path.addr.remote.ip() == ip);
        let best = of_address.map(|path| path.reachability).max_by_key(rank)?;
        let before = lock(&self.watched).addresses.insert(ip, best);
        if before == Some(best) {
            return None;
        }
        match best {
            Reachability::Active if before.is_none_or(|before| before == Reachability::Unconfirmed) => {
                Some(AddressState::Confirmed)
            }
            Reachability::Active => Some(AddressState::Available),
            // RFC 7829 §7.1.
            Reachability::PotentiallyFailed if lock(&self.settings).exposes_pf => {
                Some(AddressState::PotentiallyFailed)
            }
            Reachability::Inactive => Some(AddressState::Unreachable),
            Reachability::PotentiallyFailed | Reachability::Unconfirmed => None,
        }
    }

    fn tell_address(&self, ip: IpAddr, state: AddressState) {
        let Some(owner) = self.owner() else { return };
        let address = SocketAddr::new(ip, self.peer().port());
        match state {
            AddressState::Confirmed | AddressState::Available => owner.learn_address(self, address),
            AddressState::Removed => owner.leave(self, address),
            _ => {}
        }
        let written = address::write(address, owner.maps_v4());
        owner.notify(self, kind::PEER_ADDR_CHANGE, |id| {
            layout::address_change(id, &written, state)
        });
    }

    /// Remembers the states of the addresses that the handshake confirmed, and tells of them.
    pub(super) fn tell_addresses(&self) {
        let paths = self.association.statistics().paths;
        let mut told: Vec<IpAddr> = Vec::new();
        for path in paths {
            let ip = path.addr.remote.ip();
            if !told.contains(&ip) {
                told.push(ip);
                if let Some(state) = self.address_state(ip) {
                    self.tell_address(ip, state);
                }
            }
        }
    }
}
