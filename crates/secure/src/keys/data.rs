//! Keys of data packets: key phases, key updates and replay windows.

use core::mem;
use core::ops::Range;
use core::time::Duration;

use anabranch_types::Instant;
use rustls::quic::{Keys, PacketKey, PacketKeySet, Secrets};

use super::{OpenError, SealError, Sealer};
use crate::index::Index;
use crate::number::{SpaceId, expand};
use crate::packet::{DATA_HEADER_LEN, DataHeader, OVERHEAD, TAG_LEN};
use crate::replay::ReplayWindow;

/// How long the keys of the previous phase open late packets after the first packet of the current phase (RFC 9001 §6.5
/// recommends three times the PTO).
const KEEP_PREVIOUS: Duration = Duration::from_secs(3);

/// The keys of an established connection.
///
/// Two bits of the header name the key phase, so a packet is opened with one key only: opening in place destroys the
/// packet if the key is wrong, and a packet number does not tell the phase if it is of another path.
pub(crate) struct DataKeys {
    secrets: Secrets,
    /// Number of key updates.
    phase: u64,
    sealer: Sealer,
    current: Box<dyn PacketKey>,
    previous: Option<Previous>,
    /// Computed beforehand, so that a packet of the next phase does not take longer (RFC 9001 §6.3).
    next: PacketKeySet,
    /// Whether a packet of the current phase has arrived.
    confirmed: bool,
    windows: Vec<Option<Box<ReplayWindow>>>,
    /// Packets that were not authentic, under all keys (RFC 9001 §6.6).
    forged: u64,
    update_after: u64,
}

struct Previous {
    key: Box<dyn PacketKey>,
    /// Set when the first packet of the current phase arrives.
    discard_at: Option<Instant>,
}

impl DataKeys {
    /// Keys from the handshake. They are updated after `update_after` packets, or half the AEAD's limit if that is less.
    pub(crate) fn new(keys: Keys, mut secrets: Secrets, update_after: u64) -> Self {
        let next = secrets.next_packet_keys();
        let sealer = Sealer::new(keys.local.packet);
        Self {
            secrets,
            phase: 0,
            update_after: update_after.min(sealer.limit() / 2),
            sealer,
            current: keys.remote.packet,
            previous: None,
            next,
            // Both ends have proven their keys by the handshake (RFC 9001 §6.1).
            confirmed: true,
            windows: Vec::new(),
            forged: 0,
        }
    }

    /// Number of key updates.
    pub(crate) const fn phase(&self) -> u64 {
        self.phase
    }

    /// Seals `packet` for the peer's connection `receiver`: header room, payload, tag room.
    pub(crate) fn seal(
        &mut self,
        receiver: Index,
        space: SpaceId,
        packet: &mut [u8],
    ) -> Result<(), SealError> {
        if packet.len() < OVERHEAD {
            return Err(SealError::TooShort(packet.len()));
        }
        if self.may_update() && self.sealer.sealed() >= self.update_after {
            self.update();
        }
        let header = DataHeader {
            phase: (self.phase & 3) as u8,
            space,
            receiver,
            number: 0,
        };
        packet[..DATA_HEADER_LEN].copy_from_slice(&header.encode());
        self.sealer.seal(space, DATA_HEADER_LEN, packet)
    }

    /// Opens `packet` in place and returns where its payload is.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        header: DataHeader,
        packet: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        if self.forged >= self.current.integrity_limit() {
            return Err(OpenError::IntegrityLimit);
        }
        self.discard_previous(now);
        let index = usize::from(header.space.get());
        let window = self.windows.get(index).and_then(Option::as_deref);
        let expected = window.map_or(0, ReplayWindow::expected);
        let number = expand(expected, u64::from(header.number), 32);
        if window.is_some_and(|window| !window.is_new(number)) {
            return Err(OpenError::Replayed);
        }
        let ahead = header.phase.wrapping_sub((self.phase & 3) as u8) & 3;
        let key = match ahead {
            0 => Some(&*self.current),
            1 => Some(&*self.next.remote),
            3 => self.previous.as_ref().map(|previous| &*previous.key),
            _ => None,
        };
        let opened = key.and_then(|key| {
            let (head, rest) = packet.split_at_mut(DATA_HEADER_LEN);
            let space = u32::from(header.space.get());
            key.decrypt_in_place_for_path(space, number, head, rest)
                .ok()
                .map(<[u8]>::len)
        });
        let Some(len) = opened else {
            self.forged += 1;
            return Err(OpenError::Forged);
        };
        self.on_authentic(now, ahead, index, number);
        debug_assert_eq!(len + OVERHEAD, packet.len());
        Ok(DATA_HEADER_LEN..packet.len() - TAG_LEN)
    }

    fn on_authentic(&mut self, now: Instant, ahead: u8, index: usize, number: u64) {
        if self.windows.len() <= index {
            self.windows.resize_with(index + 1, || None);
        }
        if let Some(window) = self.windows.get_mut(index) {
            window.get_or_insert_default().record(number);
        }
        if ahead == 1 {
            // The peer has updated its keys; we follow (RFC 9001 §6.2).
            self.update();
        }
        if ahead <= 1 && !self.confirmed {
            self.confirmed = true;
            if let Some(previous) = &mut self.previous {
                previous.discard_at = Some(now + KEEP_PREVIOUS);
            }
        }
    }

    /// Whether an update may begin: a packet of the current phase has arrived, so that the peer has its keys, and the keys of
    /// the previous phase are discarded, so that no late packet of theirs is taken for a forged one (RFC 9001 §6.1, §6.5).
    fn may_update(&self) -> bool {
        self.confirmed && self.previous.is_none()
    }

    /// Begins the next key phase in both directions.
    fn update(&mut self) {
        let next = mem::replace(&mut self.next, self.secrets.next_packet_keys());
        self.sealer.replace_key(next.local);
        let key = mem::replace(&mut self.current, next.remote);
        self.previous = Some(Previous {
            key,
            discard_at: None,
        });
        self.phase += 1;
        self.confirmed = false;
    }

    fn discard_previous(&mut self, now: Instant) {
        let due = self.previous.as_ref().and_then(|previous| previous.discard_at);
        if due.is_some_and(|due| now >= due) {
            self.previous = None;
        }
    }
}
