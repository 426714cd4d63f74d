//! Send and receive buffer of an association. How large are they, and how many bytes are queued on which stream?

use alloc::sync::Arc;
use alloc::vec::Vec;

use anabranch_policy::BufferSize;
use anabranch_types::StreamId;
use thiserror::Error;

use super::Association;
use crate::config::MIN_RECEIVE_BUFFER;
use crate::send::SendError;

/// Errors of changing the size of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum BufferError {
    /// The size is too small: a receive buffer must hold the longest message that is delivered whole, and any buffer a packet.
    #[error("the buffer has to hold {min} bytes at least")]
    TooSmall {
        /// The smallest size, in bytes.
        min: u64,
    },
    /// The association is not established, so the peer cannot be told the size of the receive buffer.
    #[error("the association is not connected")]
    NotConnected,
}

/// Fill of the send buffer: the sender-queue information of Dreibholz et al., "Transmission Scheduling Optimizations for
/// Concurrent Multipath Transfer" (2010), §6.2. Sizes in bytes of messages.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SendQueue {
    /// Size of the send buffer now, in bytes.
    pub limit: u64,
    /// Bytes in use: not sent, or sent and not acknowledged.
    pub used: u64,
    /// Bytes not sent yet, on all streams.
    pub unsent: u64,
    /// Bytes not sent yet of each stream that has any, in the order of streams.
    pub streams: Vec<(StreamId, u64)>,
}

impl Association {
    /// Sets the size of the send buffer in bytes of messages, which it holds until they are acknowledged. Messages in the buffer
    /// stay: a smaller buffer accepts no messages until it has drained below the new size. A buffer that sizes itself begins with
    /// what it holds.
    ///
    /// # Errors
    ///
    /// [`BufferError::TooSmall`] if the largest size is below 1,500 bytes.
    pub fn set_send_buffer(&mut self, size: impl Into<BufferSize>) -> Result<(), BufferError> {
        let size = size.into();
        if size.max() < MIN_RECEIVE_BUFFER {
            return Err(BufferError::TooSmall {
                min: MIN_RECEIVE_BUFFER,
            });
        }
        Arc::make_mut(&mut self.config).send_buffer = size;
        self.transfer.configure(Arc::clone(&self.config));
        self.transfer.sender.resize(size);
        self.owed
            .tell_writable(&self.state, &self.transfer.sender, &mut self.events);
        Ok(())
    }

    /// Sets the size of the receive buffer in bytes of messages, which it holds until the application receives them. A larger
    /// size is advertised at once. A smaller one takes effect as the advertised window is used up, which is never taken back. A
    /// buffer that sizes itself begins with its initial size.
    ///
    /// # Errors
    ///
    /// [`BufferError::TooSmall`] if the buffer could not hold the longest message that is delivered whole so far:
    /// [`AssociationConfig::partial_delivery_point`](crate::AssociationConfig::partial_delivery_point), or
    /// [`AssociationConfig::max_message`](crate::AssociationConfig::max_message) or the buffer if that was smaller.
    /// [`BufferError::NotConnected`] before the handshake is complete and after the end.
    pub fn set_receive_buffer(&mut self, size: impl Into<BufferSize>) -> Result<(), BufferError> {
        let size = size.into();
        if !self.state.takes_data() {
            return Err(BufferError::NotConnected);
        }
        let min = MIN_RECEIVE_BUFFER.max(self.config.longest_whole() as u64);
        if size.max() < min {
            return Err(BufferError::TooSmall { min });
        }
        let config = Arc::make_mut(&mut self.config);
        config.receive_buffer = size;
        let (longest, whole) = (config.max_message, config.longest_whole());
        self.transfer.configure(Arc::clone(&self.config));
        self.transfer.receiver.resize(size.initial(), longest, whole);
        Ok(())
    }

    /// Size of the send buffer as it was configured or set.
    #[must_use]
    pub fn send_buffer(&self) -> BufferSize {
        self.config.send_buffer
    }

    /// Bytes that [`Association::send`] would accept now.
    #[must_use]
    pub fn send_room(&self) -> u64 {
        self.transfer.sender.free_space()
    }

    /// Fill of the send buffer, in total and per stream.
    #[must_use]
    pub fn send_queue(&self) -> SendQueue {
        SendQueue {
            limit: self.transfer.sender.size(),
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

    /// Sets the low-water mark of `stream`: [`crate::Event::StreamLow`] is reported whenever its queued bytes fall from more than
    /// `bytes` to `bytes` or fewer. [`u64::MAX`] removes the mark. A mark survives a restart of the peer.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_low_water(&mut self, stream: StreamId, bytes: u64) -> Result<(), SendError> {
        self.transfer.sender.set_low_water(stream, bytes)
    }
}
