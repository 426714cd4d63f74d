//! What do the two ends tell each other beside the data? Addresses, priorities and ends (RFC 8684 §3.3.8 to §3.5).

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use anabranch_types::Instant;

use super::Bundle;
use super::input::Scene;
use crate::connection::Desk;
use crate::wire::{AddressCode, AddressId, AddressIds, Advertised, Notice, ResetReason};

/// An advertisement is repeated after this time first, then after twice as much.
const REPEATED_AFTER: Duration = Duration::from_secs(1);
/// So often.
const REPEATED: u32 = 5;

/// So many may wait to be told on a flow before those of addresses are left out.
const MOST_NOTICES: usize = 32;

/// An address that the peer was told of and has not confirmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advertisement {
    address: Advertised,
    pub(super) again: Instant,
    times: u32,
}

impl Bundle {
    /// The peer is told of our further addresses.
    pub(super) fn advertise(&mut self, now: Instant) {
        let advertised = self.addresses.further_local().map(|(id, address)| Advertisement {
            address: Advertised {
                id,
                address,
                port: None,
            },
            again: now,
            times: 0,
        });
        self.advertisements = advertised.collect();
        self.repeat_advertisements(now);
    }

    pub(super) fn repeat_advertisements(&mut self, now: Instant) {
        self.advertisements
            .retain(|advertisement| advertisement.times <= REPEATED || advertisement.again > now);
        let (speaker, peer) = (self.best_speaker(), self.terms.peer);
        for advertisement in &mut self.advertisements {
            if advertisement.again > now {
                continue;
            }
            advertisement.again = now + REPEATED_AFTER * 2_u32.pow(advertisement.times);
            advertisement.times += 1;
            let (Some(at), Some(peer)) = (speaker, peer) else {
                continue;
            };
            let Advertised { id, address, port } = advertisement.address;
            let code = AddressCode::new(self.terms.own, peer, id, address, port).short();
            let address = advertisement.address;
            self.lanes[at]
                .notices
                .push_back(Notice::AddAddress { address, code });
        }
    }

    pub(super) fn on_notice(&mut self, at: usize, notice: &Notice, scene: &mut Scene<'_>) {
        match notice {
            Notice::AddAddress { address, code } => self.on_advertised(at, *address, *code),
            Notice::EchoAddress(address) => {
                self.advertisements
                    .retain(|advertisement| advertisement.address != *address);
            }
            Notice::RemoveAddresses(ids) => self.on_removed(at, ids.as_slice(), scene),
            Notice::Priority { backup } => self.lanes[at].backup = *backup,
            // With one flow RFC 8684 §3.7 would go on as TCP, and that is refused here.
            Notice::Fail { .. } => self.refuse(at, ResetReason::MIDDLEBOX, scene),
            Notice::FastClose { key } if *key == self.terms.own => self.on_fast_close(scene),
            Notice::FastClose { .. } | Notice::Reset { .. } => {}
        }
    }

    fn on_advertised(&mut self, at: usize, address: Advertised, code: [u8; 8]) {
        let Some(peer) = self.terms.peer else { return };
        let Advertised {
            id,
            address: ip,
            port,
        } = address;
        if !AddressCode::new(peer, self.terms.own, id, ip, port).is(code) {
            return;
        }
        let port = port.unwrap_or_else(|| self.tuple().remote.port());
        self.addresses.learn(id, SocketAddr::new(ip, port));
        let lane = &mut self.lanes[at];
        let echo = Notice::EchoAddress(address);
        if !lane.notices.contains(&echo) && lane.notices.len() < MOST_NOTICES {
            lane.notices.push_back(echo);
        }
    }

    fn on_removed(&mut self, at: usize, ids: &[AddressId], scene: &mut Scene<'_>) {
        for id in ids {
            self.addresses.forget_remote(*id);
        }
        for other in (0..self.lanes.len()).filter(|other| *other != at) {
            if ids.contains(&self.lanes[other].remote_id) {
                self.end_flow(other, scene.desk);
            }
        }
    }

    /// An address of ours is gone: the peer is told, and the flows that use it end.
    pub(crate) fn remove_local(&mut self, address: IpAddr, desk: &mut Desk) {
        let id = self.addresses.forget_local(address);
        for at in 0..self.lanes.len() {
            if self.lanes[at].tuple.local.ip() == address {
                self.end_flow(at, desk);
            }
        }
        if let Some(ids) = id.and_then(|id| AddressIds::new([id].into())) {
            for lane in self.lanes.iter_mut().filter(|lane| lane.speaks()) {
                lane.notices.push_back(Notice::RemoveAddresses(ids.clone()));
            }
        }
    }

    fn end_flow(&mut self, at: usize, desk: &mut Desk) {
        let lane = &mut self.lanes[at];
        if lane.is_closed() {
            return;
        }
        lane.abort(Notice::Reset {
            transient: false,
            reason: ResetReason::UNSPECIFIED,
        });
        self.on_flow_closed(at, crate::flow::CloseReason::Aborted, desk);
    }
}
