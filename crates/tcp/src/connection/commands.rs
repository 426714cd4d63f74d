//! What may the application ask of a connection?

use core::net::SocketAddr;

use anabranch_policy::PathFacts;
use bytes::Bytes;

use super::{Connection, ConnectionStatistics, Event};
use crate::flow::{CloseReason, State};

impl Connection {
    /// Hands bytes over to be sent, as far as the send buffer has room for them; returns what is left. After
    /// [`Connection::close`] and after the end nothing is taken. When no room is left, [`Event::Writable`] tells when there
    /// is some again.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        if self.closing || self.flow.state() == State::Closed {
            return bytes;
        }
        let left = self.outgoing.write(bytes);
        self.write_blocked |= self.outgoing.room() == 0;
        left
    }

    /// Bytes that [`Connection::write`] would take now.
    #[must_use]
    pub fn room(&self) -> u64 {
        if self.closing || self.flow.state() == State::Closed {
            return 0;
        }
        self.outgoing.room()
    }

    /// The next bytes that the peer has sent, at most `most`; `None` if there are none now.
    pub fn read(&mut self, most: usize) -> Option<Bytes> {
        let front = self.incoming.front_mut()?;
        let bytes = if front.len() > most {
            front.split_to(most)
        } else {
            self.incoming.pop_front()?
        };
        self.unread -= bytes.len() as u64;
        Some(bytes)
    }

    /// Bytes that can be read now.
    #[must_use]
    pub const fn unread(&self) -> u64 {
        self.unread
    }

    /// Whether the peer has sent everything; what can be read now is the rest.
    #[must_use]
    pub const fn peer_finished(&self) -> bool {
        self.peer_finished
    }

    /// Nothing more is handed over: the direction ends when everything has been sent (FIN). Reading goes on.
    pub fn close(&mut self) {
        self.closing = true;
        // Nothing was said yet, and nothing is to be said: "Delete the TCB" (RFC 9293 §3.10.4).
        if self.flow.state() == State::SynSent && self.outgoing.unsent() == 0 {
            self.end(false);
        }
    }

    /// Ends the connection at once; what was not sent is lost, and the peer is told (RST).
    pub fn abort(&mut self) {
        let tells = !matches!(
            self.flow.state(),
            State::SynSent | State::TimeWait | State::Closed
        );
        self.end(tells);
    }

    fn end(&mut self, tells: bool) {
        if self.flow.state() == State::Closed {
            return;
        }
        self.reset_due = tells;
        self.outgoing.clear();
        self.flow.forget();
        self.events.push_back(Event::Closed(CloseReason::Aborted));
    }

    /// Our address and port.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.tuple.local
    }

    /// The peer's address and port.
    #[must_use]
    pub const fn remote(&self) -> SocketAddr {
        self.tuple.remote
    }

    /// Where it is in its life.
    #[must_use]
    pub const fn state(&self) -> State {
        self.flow.state()
    }

    /// What is known of its path.
    #[must_use]
    pub const fn path_facts(&self) -> &[PathFacts] {
        &self.facts
    }

    /// What is known and was counted.
    #[must_use]
    pub fn statistics(&self) -> ConnectionStatistics {
        ConnectionStatistics {
            state: self.flow.state(),
            counters: *self.flow.counters(),
            bytes_received: self.bytes_received,
            out_of_order_bytes: self.flow.out_of_order_bytes(),
            send_buffer_used: self.outgoing.used(),
            send_buffer_size: self.outgoing.capacity(),
            facts: self.facts[0].clone(),
        }
    }
}
