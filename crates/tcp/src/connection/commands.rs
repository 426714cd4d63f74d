//! Commands of the application on a connection.

use core::net::{IpAddr, SocketAddr};

use anabranch_policy::PathFacts;
use bytes::Bytes;

#[cfg(doc)]
use super::Event;
use super::{Connection, ConnectionStatistics, Protocol};
use crate::mptcp::PathStatistics;
use crate::tcb::{CloseReason, State};

impl Connection {
    /// Hands bytes over to be sent, as far as the send buffer has room for them; returns what is left. After
    /// [`Connection::close`] and after the end nothing is taken. When no room is left, [`Event::Writable`] tells when there
    /// is some again.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        if self.buffers.closing || self.state() == State::Closed {
            return bytes;
        }
        if self.buffers.outgoing.unsent() == 0 {
            self.begin_burst();
        }
        self.buffers.write(bytes)
    }

    /// Bytes that [`Connection::write`] would take now.
    #[must_use]
    pub fn room(&self) -> u64 {
        if self.buffers.closing || self.state() == State::Closed {
            return 0;
        }
        self.buffers.outgoing.room()
    }

    /// The next bytes that the peer has sent, at most `most`; `None` if there are none now.
    pub fn read(&mut self, most: usize) -> Option<Bytes> {
        self.buffers.read(most)
    }

    /// Bytes that can be read now.
    #[must_use]
    pub const fn unread(&self) -> u64 {
        self.buffers.unread()
    }

    /// Whether the peer has sent everything; what can be read now is the rest.
    #[must_use]
    pub const fn peer_finished(&self) -> bool {
        self.buffers.peer_finished()
    }

    /// Nothing more is handed over: the direction ends when everything has been sent (FIN). Reading goes on.
    pub fn close(&mut self) {
        self.buffers.closing = true;
        // Nothing was said yet, and nothing is to be said: "Delete the TCB" (RFC 9293 §3.10.4).
        if self.state() == State::SynSent && self.buffers.outgoing.unsent() == 0 {
            self.abort();
        }
    }

    /// Ends the connection at once; what was not sent is lost, and the peer is told (RST).
    pub fn abort(&mut self) {
        let ended = match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.abort(),
            Protocol::Mptcp(mptcp) => mptcp.abort(),
        };
        if ended {
            self.buffers.close(CloseReason::Aborted);
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
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.tcb().state(),
            Protocol::Mptcp(mptcp) => mptcp.state(),
        }
    }

    /// What is known of its path, or its paths.
    #[must_use]
    pub fn path_facts(&self) -> &[PathFacts] {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.facts(),
            Protocol::Mptcp(mptcp) => mptcp.facts(),
        }
    }

    /// What is known and was counted.
    #[must_use]
    pub fn statistics(&self) -> ConnectionStatistics {
        let (counters, out_of_order_bytes, data) = match &self.protocol {
            Protocol::Tcp(tcp) => {
                let tcb = tcp.tcb();
                (*tcb.counters(), tcb.out_of_order_bytes(), None)
            }
            Protocol::Mptcp(mptcp) => (
                mptcp.counters(),
                mptcp.waiting_bytes(),
                Some(mptcp.data_statistics()),
            ),
        };
        ConnectionStatistics {
            state: self.state(),
            counters,
            bytes_received: self.buffers.received(),
            out_of_order_bytes,
            send_buffer_used: self.buffers.outgoing.used(),
            send_buffer_sent: self.buffers.outgoing.used() - self.buffers.outgoing.unsent(),
            send_buffer_size: self.buffers.outgoing.capacity(),
            facts: self.path_facts()[0].clone(),
            data,
        }
    }

    /// What is known of each subflow of several, those that are over included; none for plain TCP.
    pub fn paths(&self) -> impl Iterator<Item = PathStatistics> + '_ {
        let mptcp = match &self.protocol {
            Protocol::Tcp(_) => None,
            Protocol::Mptcp(mptcp) => Some(mptcp),
        };
        mptcp.into_iter().flat_map(|mptcp| mptcp.paths())
    }

    /// An address of ours is gone: the peer is told (REMOVE_ADDR), the subflows that use it end, and others carry on what they
    /// carried. Means nothing for plain TCP.
    pub fn remove_local_address(&mut self, address: IpAddr) {
        if let Protocol::Mptcp(mptcp) = &mut self.protocol {
            mptcp.remove_local(address, &mut self.buffers);
        }
    }
}
