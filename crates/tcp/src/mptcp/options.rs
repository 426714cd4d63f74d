//! MPTCP options other than DSS: ADD_ADDR, REMOVE_ADDR, MP_PRIO and options that end subflows (RFC 8684 §3.3.8 to §3.5).

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use anabranch_types::Instant;

use super::MptcpConnection;
use super::input::CallContext;
use crate::connection::SocketBuffers;
use crate::wire::{AddressCode, AddressId, AddressIds, AdvertisedAddress, MptcpOption, ResetReason};

/// First repetition interval of an advertisement; it doubles each time.
const REPEATED_AFTER: Duration = Duration::from_secs(1);
/// Number of repetitions.
const REPEATED: u32 = 5;

/// Maximum number of notices queued on a subflow before address notices are dropped.
const MAX_PENDING_OPTIONS: usize = 32;

/// An advertised address that the peer has not echoed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advertisement {
    address: AdvertisedAddress,
    pub(super) again: Instant,
    times: u32,
}

impl MptcpConnection {
    /// Advertises our further addresses to the peer.
    pub(super) fn advertise(&mut self, now: Instant) {
        let advertised = self.addresses.further_local().map(|(id, address)| Advertisement {
            address: AdvertisedAddress {
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
        let (speaker, peer) = (self.best_subflow(), self.handshake.peer);
        for advertisement in &mut self.advertisements {
            if advertisement.again > now {
                continue;
            }
            advertisement.again = now + REPEATED_AFTER * 2_u32.pow(advertisement.times);
            advertisement.times += 1;
            let (Some(at), Some(peer)) = (speaker, peer) else {
                continue;
            };
            let AdvertisedAddress { id, address, port } = advertisement.address;
            let code = AddressCode::new(self.handshake.own, peer, id, address, port).short();
            let address = advertisement.address;
            self.subflows[at]
                .pending_options
                .push_back(MptcpOption::AddAddress { address, code });
        }
    }

    pub(super) fn on_mptcp_option(&mut self, at: usize, option: &MptcpOption, call: &mut CallContext<'_>) {
        match option {
            MptcpOption::AddAddress { address, code } => self.on_advertised(at, *address, *code),
            MptcpOption::EchoAddress(address) => {
                self.advertisements
                    .retain(|advertisement| advertisement.address != *address);
            }
            MptcpOption::RemoveAddresses(ids) => self.on_removed(at, ids.as_slice(), call),
            MptcpOption::Priority { backup } => self.subflows[at].backup = *backup,
            // With one subflow, RFC 8684 §3.7 would fall back to TCP, which is refused here.
            MptcpOption::Fail { .. } => self.refuse(at, ResetReason::MIDDLEBOX, call),
            MptcpOption::FastClose { key } if *key == self.handshake.own => self.on_fast_close(call),
            MptcpOption::FastClose { .. } | MptcpOption::Reset { .. } => {}
        }
    }

    fn on_advertised(&mut self, at: usize, address: AdvertisedAddress, code: [u8; 8]) {
        let Some(peer) = self.handshake.peer else { return };
        let AdvertisedAddress {
            id,
            address: ip,
            port,
        } = address;
        if !AddressCode::new(peer, self.handshake.own, id, ip, port).is(code) {
            return;
        }
        let port = port.unwrap_or_else(|| self.tuple().remote.port());
        self.addresses.learn(id, SocketAddr::new(ip, port));
        let subflow = &mut self.subflows[at];
        let echo = MptcpOption::EchoAddress(address);
        if !subflow.pending_options.contains(&echo) && subflow.pending_options.len() < MAX_PENDING_OPTIONS {
            subflow.pending_options.push_back(echo);
        }
    }

    fn on_removed(&mut self, at: usize, ids: &[AddressId], call: &mut CallContext<'_>) {
        for id in ids {
            self.addresses.forget_remote(*id);
        }
        for other in (0..self.subflows.len()).filter(|other| *other != at) {
            if ids.contains(&self.subflows[other].remote_id) {
                self.end_subflow(other, call.buffers);
            }
        }
    }

    /// Removes a local address: notifies the peer and closes the subflows that use it.
    pub(crate) fn remove_local(&mut self, address: IpAddr, buffers: &mut SocketBuffers) {
        let id = self.addresses.forget_local(address);
        for at in 0..self.subflows.len() {
            if self.subflows[at].tuple.local.ip() == address {
                self.end_subflow(at, buffers);
            }
        }
        if let Some(ids) = id.and_then(|id| AddressIds::new([id].into())) {
            for subflow in self
                .subflows
                .iter_mut()
                .filter(|subflow| subflow.can_acknowledge())
            {
                subflow
                    .pending_options
                    .push_back(MptcpOption::RemoveAddresses(ids.clone()));
            }
        }
    }

    fn end_subflow(&mut self, at: usize, buffers: &mut SocketBuffers) {
        let subflow = &mut self.subflows[at];
        if subflow.is_closed() {
            return;
        }
        subflow.abort(MptcpOption::Reset {
            transient: false,
            reason: ResetReason::UNSPECIFIED,
        });
        self.on_subflow_closed(at, crate::tcb::CloseReason::Aborted, buffers);
    }
}
