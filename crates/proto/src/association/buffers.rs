//! Buffers of an association. How large are they, and what waits in them to be sent?

use alloc::sync::Arc;
use alloc::vec::Vec;

use anabranch_types::StreamId;
use thiserror::Error;

use super::Association;
use crate::config::MIN_RECEIVE_BUFFER;
use crate::send::SendError;

/// Why a buffer did not change its size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum BufferError {
    /// A receive buffer has to hold the longest message that the peer may send, any buffer a packet.
    #[error("the buffer has to hold {min} bytes at least")]
    TooSmall {
        /// The smallest size, in bytes.
        min: u64,
    },
    /// The peer was not told of a receive buffer yet, or listens no more.
    #[error("the association is not connected")]
    NotConnected,
}

/// What waits to be sent: the sender-queue information of Dreibholz et al., "Transmission Scheduling Optimizations for
/// Concurrent Multipath Transfer" (2010), §6.2. Sizes in bytes of messages.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SendQueue {
    /// Size of the send buffer.
    pub limit: u64,
    /// Of it in use: not sent, and sent but not acknowledged.
    pub used: u64,
    /// Not sent yet, on all streams.
    pub unsent: u64,
    /// The same of each stream on which something waits, in the order of streams.
    pub streams: Vec<(StreamId, u64)>,
}

impl Association {
    /// Holds `bytes` of messages for sending from now on, sent ones until they are acknowledged included. What is held
    /// already stays: a smaller buffer takes nothing more until it is no fuller than that.
    ///
    /// # Errors
    ///
    /// [`BufferError::TooSmall`] below 1,500 bytes.
    pub fn set_send_buffer(&mut self, bytes: u64) -> Result<(), BufferError> {
        if bytes < MIN_RECEIVE_BUFFER {
            return Err(BufferError::TooSmall {
                min: MIN_RECEIVE_BUFFER,
            });
        }
        Arc::make_mut(&mut self.config).send_buffer = bytes;
        self.transfer.sender.resize(bytes);
        self.owed
            .tell_writable(&self.state, &self.transfer.sender, &mut self.events);
        Ok(())
    }

    /// Holds `bytes` of messages until the application takes them from now on. The peer is told of a larger buffer at
    /// once. A smaller one keeps what the peer was told, and shrinks as that is used up and read.
    ///
    /// # Errors
    ///
    /// [`BufferError::TooSmall`] if it could not hold the longest message that was allowed up to now:
    /// [`AssociationConfig::max_message`](crate::AssociationConfig::max_message), or the buffer if that was smaller.
    /// [`BufferError::NotConnected`] before the handshake is complete and after the end.
    pub fn set_receive_buffer(&mut self, bytes: u64) -> Result<(), BufferError> {
        if !self.state.takes_data() {
            return Err(BufferError::NotConnected);
        }
        let min = MIN_RECEIVE_BUFFER.max(self.config.longest_received() as u64);
        if bytes < min {
            return Err(BufferError::TooSmall { min });
        }
        let config = Arc::make_mut(&mut self.config);
        config.receive_buffer = bytes;
        self.transfer.receiver.resize(bytes, config.longest_received());
        Ok(())
    }

    /// Bytes that [`Association::send`] would take now.
    #[must_use]
    pub fn send_room(&self) -> u64 {
        self.transfer.sender.free_space()
    }

    /// What waits to be sent, on which stream.
    #[must_use]
    pub fn send_queue(&self) -> SendQueue {
        SendQueue {
            limit: self.config.send_buffer,
            used: self.transfer.sender.send_used(),
            unsent: self.transfer.sender.unsent_bytes(),
            streams: self.transfer.sender.queues(),
        }
    }

    /// Bytes of the messages on `stream` that have not been sent yet; 0 for a stream that does not exist.
    #[must_use]
    pub fn queued_on(&self, stream: StreamId) -> u64 {
        self.transfer.sender.queued_on(stream)
    }

    /// Asks for [`crate::Event::StreamLow`] whenever the bytes that wait on `stream` have fallen to `bytes` or fewer after they
    /// were more. [`u64::MAX`] ends that. One mark for each stream; it survives a restart of the peer.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_low_water(&mut self, stream: StreamId, bytes: u64) -> Result<(), SendError> {
        self.transfer.sender.set_low_water(stream, bytes)
    }
}
