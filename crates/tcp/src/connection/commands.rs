//! What may the application ask of a connection?

use core::net::{IpAddr, SocketAddr};

use anabranch_policy::PathFacts;
use bytes::Bytes;

#[cfg(doc)]
use super::Event;
use super::{Carrier, Connection, ConnectionStatistics};
use crate::flow::{CloseReason, State};
use crate::multipath::PathStatistics;

impl Connection {
    /// Hands bytes over to be sent, as far as the send buffer has room for them; returns what is left. After
    /// [`Connection::close`] and after the end nothing is taken. When no room is left, [`Event::Writable`] tells when there
    /// is some again.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        if self.desk.closing || self.state() == State::Closed {
            return bytes;
        }
        if self.desk.outgoing.unsent() == 0 {
            self.begin_burst();
        }
        self.desk.write(bytes)
    }

    /// Bytes that [`Connection::write`] would take now.
    #[must_use]
    pub fn room(&self) -> u64 {
        if self.desk.closing || self.state() == State::Closed {
            return 0;
        }
        self.desk.outgoing.room()
    }

    /// The next bytes that the peer has sent, at most `most`; `None` if there are none now.
    pub fn read(&mut self, most: usize) -> Option<Bytes> {
        self.desk.read(most)
    }

    /// Bytes that can be read now.
    #[must_use]
    pub const fn unread(&self) -> u64 {
        self.desk.unread()
    }

    /// Whether the peer has sent everything; what can be read now is the rest.
    #[must_use]
    pub const fn peer_finished(&self) -> bool {
        self.desk.peer_finished()
    }

    /// Nothing more is handed over: the direction ends when everything has been sent (FIN). Reading goes on.
    pub fn close(&mut self) {
        self.desk.closing = true;
        // Nothing was said yet, and nothing is to be said: "Delete the TCB" (RFC 9293 §3.10.4).
        if self.state() == State::SynSent && self.desk.outgoing.unsent() == 0 {
            self.abort();
        }
    }

    /// Ends the connection at once; what was not sent is lost, and the peer is told (RST).
    pub fn abort(&mut self) {
        let ended = match &mut self.carrier {
            Carrier::Single(single) => single.abort(),
            Carrier::Bundle(bundle) => bundle.abort(),
        };
        if ended {
            self.desk.close(CloseReason::Aborted);
        }
    }

    /// Our address and port.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.tuple().local
    }

    /// The peer's address and port.
    #[must_use]
    pub fn remote(&self) -> SocketAddr {
        self.tuple().remote
    }

    /// Where it is in its life.
    #[must_use]
    pub const fn state(&self) -> State {
        match &self.carrier {
            Carrier::Single(single) => single.flow().state(),
            Carrier::Bundle(bundle) => bundle.state(),
        }
    }

    /// What is known of its path, or its paths.
    #[must_use]
    pub fn path_facts(&self) -> &[PathFacts] {
        match &self.carrier {
            Carrier::Single(single) => single.facts(),
            Carrier::Bundle(bundle) => bundle.facts(),
        }
    }

    /// What is known and was counted.
    #[must_use]
    pub fn statistics(&self) -> ConnectionStatistics {
        let (counters, out_of_order_bytes, data) = match &self.carrier {
            Carrier::Single(single) => {
                let flow = single.flow();
                (*flow.counters(), flow.out_of_order_bytes(), None)
            }
            Carrier::Bundle(bundle) => (
                bundle.counters(),
                bundle.waiting_bytes(),
                Some(bundle.data_statistics()),
            ),
        };
        ConnectionStatistics {
            state: self.state(),
            counters,
            bytes_received: self.desk.received(),
            out_of_order_bytes,
            send_buffer_used: self.desk.outgoing.used(),
            send_buffer_sent: self.desk.outgoing.used() - self.desk.outgoing.unsent(),
            send_buffer_size: self.desk.outgoing.capacity(),
            facts: self.path_facts()[0].clone(),
            data,
        }
    }

    /// What is known of each flow of several, those that are over included; none for plain TCP.
    pub fn paths(&self) -> impl Iterator<Item = PathStatistics> + '_ {
        let bundle = match &self.carrier {
            Carrier::Single(_) => None,
            Carrier::Bundle(bundle) => Some(bundle),
        };
        bundle.into_iter().flat_map(|bundle| bundle.paths())
    }

    /// An address of ours is gone: the peer is told (REMOVE_ADDR), the flows that use it end, and others carry on what they
    /// carried. Means nothing for plain TCP.
    pub fn remove_local_address(&mut self, address: IpAddr) {
        if let Carrier::Bundle(bundle) = &mut self.carrier {
            bundle.remove_local(address, &mut self.desk);
        }
    }
}
