//! Sealed packets in the driver's rounds.

use anabranch_io::Incoming;
use anabranch_proto::Transmit;
use anabranch_types::{ChannelId, Ecn, Instant, PathAddr};

use super::seal::{Opened, Seal};
use super::{Driver, SEND_REPLIES, Shared, State};

/// Seals the packets of `transmit`, if there is a seal; `false` if they cannot be sent.
pub(super) fn seal_packets(shared: &Shared, transmit: &mut Transmit, bytes: &mut Vec<u8>) -> bool {
    shared.seal.as_ref().is_none_or(|seal| seal.seal(transmit, bytes))
}

/// The received packets: those that were `opened`, or all datagrams without a seal.
pub(super) fn packets<'p>(
    batches: &'p [Incoming],
    opened: Option<&'p [Opened]>,
) -> Box<dyn Iterator<Item = (PathAddr, &'p [u8])> + 'p> {
    match opened {
        Some(opened) => Box::new(opened.iter().filter_map(|packet| {
            let batch = batches.get(packet.batch)?;
            Some((batch.path(), &batch.bytes()[packet.range.clone()]))
        })),
        None => Box::new(batches.iter().flat_map(|batch| {
            let path = batch.path();
            batch.datagrams().map(move |datagram| (path, datagram))
        })),
    }
}

impl State {
    /// Passes received datagrams to the core.
    pub(super) fn handle_clear(&mut self, now: Instant, batches: &[Incoming]) {
        for batch in batches {
            for datagram in batch.datagrams() {
                self.core
                    .handle_datagram(now, batch.path(), batch.ecn(), datagram);
            }
        }
    }

    /// Passes opened packets to the core.
    pub(super) fn handle_opened(&mut self, now: Instant, batches: &[Incoming], opened: &[Opened]) {
        for packet in opened {
            let Some(batch) = batches.get(packet.batch) else {
                continue;
            };
            let bytes = &batch.bytes()[packet.range.clone()];
            self.core
                .handle_packet(now, packet.channel, batch.path(), batch.ecn(), bytes);
        }
    }
}

impl Shared {
    /// Wakes the handles that wait for handshakes of the seal.
    pub(super) fn tell_sealed(&self) {
        if self.seal.is_some() {
            self.sealed.notify_waiters();
        }
    }
}

impl Driver {
    /// The most segments of a batch.
    pub(super) fn max_segments(&self) -> usize {
        let most = self.queues.max_segments();
        match self.shared.seal {
            Some(_) => Seal::max_segments(most),
            None => most,
        }
    }

    /// Sends handshake packets of the seal.
    pub(super) fn transmit_handshakes(&mut self, now: Instant) {
        let Some(seal) = &self.shared.seal else { return };
        for _ in 0..SEND_REPLIES {
            let Some(sealed) = seal.poll_transmit(now) else {
                return;
            };
            let transmit = Transmit {
                path: sealed.path,
                channel: ChannelId::NONE,
                ecn: Ecn::NotCapable,
                size: sealed.datagram.len(),
                segment_size: None,
                may_fragment: false,
            };
            self.queues.send(&transmit, &sealed.datagram);
        }
    }

    /// Handles expired timers of the seal and ends sessions that nobody uses; returns the next deadline.
    pub(super) fn settle_seal(&mut self, now: Instant) -> Option<Instant> {
        let seal = self.shared.seal.as_ref()?;
        let expired = seal.handle_deadline(now);
        let news = seal.take_news();
        let mut state = self.shared.lock();
        state.on_news(now, news, &mut self.wakings);
        let ended = state.channels.take_ended();
        let mut unused = state.channels.take_abandoned();
        for channel in expired {
            if !state.channels.is_used(channel) {
                state.channels.drop_session(channel);
                unused.push(channel);
            }
        }
        drop(state);
        for channel in unused {
            seal.forget(channel);
        }
        for channel in ended {
            seal.linger(now, channel);
        }
        self.wakings.carry_out();
        self.shared.tell_sealed();
        seal.deadline()
    }
}
