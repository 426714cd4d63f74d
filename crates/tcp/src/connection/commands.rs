//! Application calls of a connection.

use core::net::{IpAddr, SocketAddr};

use anabranch_policy::PathFacts;
use bytes::Bytes;

#[cfg(doc)]
use super::Event;
use super::{Connection, ConnectionStatistics, Protocol};
use crate::mptcp::PathStatistics;
use crate::tcb::{CloseReason, State};

impl Connection {
    /// Writes bytes to the send buffer, as far as there is room; returns the rest. After [`Connection::close`] and after the end
    /// of the connection nothing is accepted. When the buffer was full, [`Event::Writable`] reports when there is room again.
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

    /// Reads the next bytes received, at most `most`; `None` if there are none now.
    pub fn read(&mut self, most: usize) -> Option<Bytes> {
        self.buffers.read(most)
    }

    /// Bytes that can be read now.
    #[must_use]
    pub const fn unread(&self) -> u64 {
        self.buffers.unread()
    }

    /// Whether the peer has closed its direction and everything has arrived; only the bytes readable now are left.
    #[must_use]
    pub const fn peer_finished(&self) -> bool {
        self.buffers.peer_finished()
    }

    /// Closes the sending direction: a FIN follows the data in the send buffer. Reading remains possible.
    pub fn close(&mut self) {
        self.buffers.closing = true;
        // No SYN was sent and none will be: "Delete the TCB" (RFC 9293 §3.10.4).
        if self.state() == State::SynSent && self.buffers.outgoing.unsent() == 0 {
            self.abort();
        }
    }

    /// Aborts the connection: unsent data is discarded, and the peer receives a RST.
    pub fn abort(&mut self) {
        let ended = match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.abort(),
            Protocol::Mptcp(mptcp) => mptcp.abort(),
        };
        if ended {
            self.buffers.close(CloseReason::Aborted);
        }
    }

    /// Local address and port.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.tuple().local
    }

    /// Remote address and port.
    #[must_use]
    pub fn remote(&self) -> SocketAddr {
        self.tuple().remote
    }

    /// Its TCP state.
    #[must_use]
    pub const fn state(&self) -> State {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.tcb().state(),
            Protocol::Mptcp(mptcp) => mptcp.state(),
        }
    }

    /// State of its path or paths.
    #[must_use]
    pub fn path_facts(&self) -> &[PathFacts] {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.facts(),
            Protocol::Mptcp(mptcp) => mptcp.facts(),
        }
    }

    /// Statistics.
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

    /// Statistics of each MPTCP subflow, including closed ones; empty for plain TCP.
    pub fn paths(&self) -> impl Iterator<Item = PathStatistics> + '_ {
        let mptcp = match &self.protocol {
            Protocol::Tcp(_) => None,
            Protocol::Mptcp(mptcp) => Some(mptcp),
        };
        mptcp.into_iter().flat_map(|mptcp| mptcp.paths())
    }

    /// Removes a local address: notifies the peer (REMOVE_ADDR), closes the subflows that use it, and reinjects their data on
    /// others. No effect on plain TCP.
    pub fn remove_local_address(&mut self, address: IpAddr) {
        if let Protocol::Mptcp(mptcp) = &mut self.protocol {
            mptcp.remove_local(address, &mut self.buffers);
        }
    }
}
