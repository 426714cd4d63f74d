//! Two endpoints that exchange packets without a network: they arrive at once and in order.

use super::*;
use crate::{AssociationMut, CloseReason};

/// Two endpoints, the first of which connects to the second, and all packets that each of them sent.
pub(super) struct Ends {
    pub(super) ends: [Endpoint; 2],
    pub(super) id: AssociationId,
    pub(super) packets: [Vec<Vec<u8>>; 2],
}

impl Ends {
    /// The first endpoint connects to the second.
    pub(super) fn connecting(ours: &AssociationConfig, theirs: AssociationConfig) -> Self {
        let mut ends = [endpoint_with(ours.clone()), listening(peer(2), theirs)];
        let id = ends[0].connect(START, &[peer(2)], ours).expect("a path");
        let mut ends = Self {
            ends,
            id,
            packets: [Vec::new(), Vec::new()],
        };
        ends.exchange();
        ends
    }

    /// Delivers packets until there are none.
    pub(super) fn exchange(&mut self) {
        loop {
            let before = self.packets.iter().map(Vec::len).sum::<usize>();
            for (index, local, remote) in [(0, peer(2), here()), (1, here(), peer(2))] {
                for packet in poll_packets(&mut self.ends[index], START) {
                    let path = PathAddr { local, remote };
                    self.ends[1 - index].handle_datagram(START, path, Ecn::NotCapable, &packet);
                    self.packets[index].push(packet);
                }
            }
            if self.packets.iter().map(Vec::len).sum::<usize>() == before {
                return;
            }
        }
    }

    /// The association at the end `index`.
    pub(super) fn association(&mut self, index: usize) -> AssociationMut<'_> {
        let id = if index == 0 {
            self.id
        } else {
            let only = self.ends[1].associations().next();
            only.expect("an association").id()
        };
        self.ends[index].association_mut(id).expect("an association")
    }

    /// Sends a message of `length` bytes and delivers all packets.
    pub(super) fn send(&mut self, index: usize, length: usize) {
        let message = Message::new(StreamId(0), vec![7; length]);
        self.association(index).send(message).expect("room");
        self.exchange();
    }

    /// Why the association of the end `index` was closed, if an event tells.
    pub(super) fn closed(&mut self, index: usize) -> Option<CloseReason> {
        let events = events(&mut self.ends[index]);
        events.into_iter().find_map(|event| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        })
    }
}
