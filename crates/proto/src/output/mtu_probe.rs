//! How is a size tried that may not get through? With a packet of nothing of value: a heartbeat, padded to that
//! size (RFC 8899 §6.2.1, RFC 4820).

use alloc::vec::Vec;

use anabranch_types::{Ecn, Instant};
use anabranch_wire::{Heartbeat, PacketBuilder, Pad, RawChunk};

use super::{Transmit, packet};
use crate::Association;
use crate::path::HeartbeatInfo;

/// The next probe that is due.
pub(crate) fn write(association: &mut Association, buffer: &mut Vec<u8>, now: Instant) -> Option<Transmit> {
    let (path, limit) = association.paths.mtu_probe_due(now)?;
    let fresh = association.secrets.number();
    let rto = association.paths.fact(path).rto;
    let nonce = association.paths.path_mut(path).mtu.sent(fresh, rto, now);
    let info = HeartbeatInfo { path, nonce }.encode();
    let header = packet::header(association, association.peer.tag);
    let mut builder = PacketBuilder::new(buffer, header, limit.into());
    let length = builder.push(&Heartbeat { info: &info }).and_then(|()| {
        let length = builder.room().saturating_sub(RawChunk::HEADER_LEN) as u16;
        builder.push(&Pad { length })
    });
    debug_assert!(length.is_ok(), "no size is that small");
    let size = builder.finish_unsealed();
    association.paths.path_mut(path).counters.mtu_probes += 1;
    packet::commit(association, path, size, now);
    Some(Transmit {
        path: association.paths.path(path).addr,
        ecn: Ecn::NotCapable,
        size,
        segment_size: None,
        may_fragment: false,
    })
}
