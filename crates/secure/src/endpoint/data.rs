//! Data packets, and stateless resets.

use anabranch_types::{Instant, PathAddr};

use super::{Endpoint, Event, Received};
use crate::error::Dropped;
use crate::handshake::Handshake;
use crate::index::Index;
use crate::keys::{OpenError, SealError};
use crate::number::SpaceId;
use crate::packet::DataHeader;
use crate::reset::{reset_len, token_of, write_reset};

/// Resets that may be sent at once, and per second (RFC 9000 §10.3 asks for a limit).
const RESETS: u64 = 100;

/// How many resets may be sent.
#[derive(Debug)]
pub(super) struct ResetBudget {
    left: u64,
    refilled: Instant,
}

impl Default for ResetBudget {
    fn default() -> Self {
        Self {
            left: RESETS,
            refilled: Instant::ZERO,
        }
    }
}

impl ResetBudget {
    fn take(&mut self, now: Instant) -> bool {
        let earned = u64::try_from((now - self.refilled).as_millis())
            .unwrap_or(u64::MAX)
            .saturating_mul(RESETS)
            / 1_000;
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(RESETS);
            self.refilled = now;
        }
        let permitted = self.left > 0;
        self.left = self.left.saturating_sub(1);
        permitted
    }
}

impl Endpoint {
    /// Seals a packet in place: `packet` has [`DATA_HEADER_LEN`](crate::DATA_HEADER_LEN) bytes of room, the payload, and
    /// [`TAG_LEN`](crate::TAG_LEN) bytes of room. The sender uses one space for each of its paths.
    ///
    /// # Errors
    ///
    /// If the connection has no keys, or its key has reached its limit.
    pub fn seal(&mut self, connection: Index, space: SpaceId, packet: &mut [u8]) -> Result<(), SealError> {
        self.seal_segments(connection, space, packet, packet.len())
    }

    /// Seals several packets of `segment` bytes each, the last of which may be shorter, as generic segmentation offload
    /// sends them. Each has the layout of [`Endpoint::seal`].
    ///
    /// # Errors
    ///
    /// As [`Endpoint::seal`]. Then none of the packets may be sent.
    pub fn seal_segments(
        &mut self,
        connection: Index,
        space: SpaceId,
        buffer: &mut [u8],
        segment: usize,
    ) -> Result<(), SealError> {
        let connection = self.connections.get_mut(&connection).ok_or(SealError::NoKeys)?;
        let established = connection.established.as_mut().ok_or(SealError::NoKeys)?;
        for packet in buffer.chunks_mut(segment.max(1)) {
            established.keys.seal(established.peer, space, packet)?;
        }
        Ok(())
    }

    pub(super) fn on_data(
        &mut self,
        now: Instant,
        from: PathAddr,
        header: DataHeader,
        datagram: &mut [u8],
    ) -> Result<Received, Dropped> {
        let index = header.receiver;
        let Some(connection) = self.connections.get_mut(&index) else {
            return self.on_unknown(now, from, index, datagram);
        };
        let Some(established) = connection.established.as_mut() else {
            let handshake = connection.handshake.as_mut();
            let waits = handshake.is_some_and(|handshake| handshake.hold_early(from, datagram));
            return if waits {
                Ok(Received::Control)
            } else {
                Err(Dropped::NoKeys)
            };
        };
        match established.keys.open(now, header, datagram) {
            Ok(payload) => {
                if let Some(handshake) = &mut connection.handshake {
                    handshake.confirm();
                    if handshake.is_done(now) {
                        self.forget_handshake(index);
                    }
                }
                Ok(Received::Data {
                    connection: index,
                    space: header.space,
                    payload,
                })
            }
            Err(OpenError::Forged) => Err(Dropped::Forged),
            Err(OpenError::Replayed) => Err(Dropped::Replayed),
            Err(OpenError::IntegrityLimit) => {
                self.close(index);
                self.events.push_back(Event::IntegrityLimit { connection: index });
                Err(Dropped::IntegrityLimit)
            }
        }
    }

    /// Opens the data packets that have overtaken the end of the handshake.
    pub(super) fn open_early(&mut self, now: Instant, index: Index) {
        let early = self.handshake_mut(index).map(Handshake::take_early);
        for (from, mut datagram) in early.unwrap_or_default() {
            // What is forged or replayed is dropped.
            if let Ok(Received::Data { payload, .. }) = self.handle_datagram(now, from, &mut datagram) {
                self.events.push_back(Event::Data {
                    connection: index,
                    from,
                    payload: datagram[payload].to_vec(),
                });
            }
        }
    }

    /// A data packet for no connection of ours: a reset of the peer, or a packet for a connection that we lost.
    fn on_unknown(
        &mut self,
        now: Instant,
        from: PathAddr,
        index: Index,
        datagram: &[u8],
    ) -> Result<Received, Dropped> {
        let key = token_of(datagram).map(|token| self.resets.lookup(token));
        if let Some(connection) = key.and_then(|key| self.reset_tokens.get(&key).copied()) {
            self.close(connection);
            self.events.push_back(Event::Reset { connection });
            return Ok(Received::Control);
        }
        // All machines have the same secret: a reset by another one would end a connection that lives.
        let is_ours = self
            .config
            .machine
            .is_none_or(|machine| machine == index.machine());
        if let Some(len) = reset_len(datagram.len())
            && is_ours
            && self.reset_budget.take(now)
        {
            let mut reset = vec![0; len];
            let random = self.config.random.fill(&mut reset);
            if random.is_ok() {
                write_reset(&mut reset, self.resets.token(index));
                self.reply(from, reset)?;
            }
        }
        Err(Dropped::UnknownConnection)
    }
}
