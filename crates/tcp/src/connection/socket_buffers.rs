//! Socket buffers between the application and the protocol: send buffer, receive queue and events.

use alloc::collections::VecDeque;

use bytes::Bytes;

use super::Event;
use crate::TcpConfig;
use crate::buffer::SendBuffer;
use crate::tcb::CloseReason;

/// The application side of a connection.
#[derive(Debug)]
pub(crate) struct SocketBuffers {
    /// Bytes written by the application.
    pub(crate) outgoing: SendBuffer,
    /// The application has closed its direction.
    pub(crate) closing: bool,
    /// Bytes that the application can read.
    incoming: VecDeque<Bytes>,
    unread: u64,
    received: u64,
    peer_finished: bool,
    /// The last write found the buffer full.
    write_blocked: bool,
    events: VecDeque<Event>,
}

impl SocketBuffers {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            outgoing: SendBuffer::new(config.send_buffer),
            closing: false,
            incoming: VecDeque::new(),
            unread: 0,
            received: 0,
            peer_finished: false,
            write_blocked: false,
            events: VecDeque::new(),
        }
    }

    pub(crate) fn write(&mut self, bytes: Bytes) -> Bytes {
        let left = self.outgoing.write(bytes);
        self.write_blocked |= self.outgoing.room() == 0;
        left
    }

    pub(crate) fn read(&mut self, most: usize) -> Option<Bytes> {
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
    pub(crate) const fn unread(&self) -> u64 {
        self.unread
    }

    /// Total bytes that were ever readable.
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    pub(crate) const fn peer_finished(&self) -> bool {
        self.peer_finished
    }

    /// Appends bytes to the receive queue.
    pub(crate) fn deliver(&mut self, ready: impl IntoIterator<Item = (u64, Bytes)>) {
        let before = self.received;
        for (_, bytes) in ready {
            self.unread += bytes.len() as u64;
            self.received += bytes.len() as u64;
            self.incoming.push_back(bytes);
        }
        if self.received > before {
            self.tell(Event::Readable);
        }
    }

    /// The peer has closed its direction, and everything has arrived.
    pub(crate) fn finish_reading(&mut self) {
        self.peer_finished = true;
        self.tell(Event::PeerFinished);
    }

    /// Releases `bytes` sent bytes that will not be retransmitted.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.outgoing.release(bytes);
        if self.write_blocked && self.outgoing.room() > 0 {
            self.write_blocked = false;
            self.tell(Event::Writable);
        }
    }

    /// The connection is closed.
    pub(crate) fn close(&mut self, reason: CloseReason) {
        self.outgoing.clear();
        self.tell(Event::Closed(reason));
    }

    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
