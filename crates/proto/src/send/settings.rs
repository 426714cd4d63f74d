//! Settings of the sender: size of the send buffer, and priority, weight, paths and low-water mark of each stream.

use alloc::vec::Vec;
use core::num::NonZeroU16;

use anabranch_policy::buffer_size::{SendFacts, send_buffer};
use anabranch_policy::{BufferSize, PathUse, SizeRange, StreamScheduler};
use anabranch_types::{PathId, SendNumber, StreamId};

use super::{SendError, Sender};

impl Sender {
    /// Sets the size of the send buffer; see [`crate::Association::set_send_buffer`].
    pub(crate) fn resize(&mut self, size: BufferSize) {
        let bytes = match size.range() {
            None => size.initial(),
            Some(range) => range.clamp(self.send_used()),
        };
        (self.buffer.size, self.buffer.max) = (bytes, size.max());
        self.buffer.longest = 0;
    }

    /// Sizes the buffer for paths that send `windows` bytes together in the longest of their round trips.
    pub(crate) fn size_for(&mut self, range: &SizeRange, windows: u64) {
        let facts = SendFacts {
            held: self.scoreboard.payload_held(),
            windows,
            longest: self.buffer.longest.into(),
            size: self.buffer.size,
            scarce: self.buffer.scarce,
        };
        self.buffer.size = send_buffer(range, &facts);
    }

    /// Notes whether the endpoint lacks memory for larger send buffers.
    pub(crate) const fn note_scarcity(&mut self, scarce: bool) {
        self.buffer.scarce = scarce;
    }

    /// Size of the send buffer now, in bytes of messages.
    pub(crate) const fn size(&self) -> u64 {
        self.buffer.size
    }

    /// The size that the send buffer may have if paths need it, in bytes of messages.
    pub(crate) const fn capacity(&self) -> u64 {
        if self.buffer.scarce && self.buffer.size < self.buffer.max {
            self.buffer.size
        } else {
            self.buffer.max
        }
    }

    /// Makes the buffer larger for a message or a part of `length` bytes, unless its size is fixed or memory is scarce: it has
    /// room for two of them.
    #[cold]
    pub(super) fn grow_for(&mut self, length: u64) {
        if self.buffer.size < self.buffer.max {
            let longest = u32::try_from(length).unwrap_or(u32::MAX);
            self.buffer.longest = self.buffer.longest.max(longest);
            // A message that is longer than the smallest buffer has to be sent even then.
            let room = if self.buffer.scarce {
                length
            } else {
                length.saturating_mul(2)
            };
            self.buffer.size = self.buffer.size.max(room.min(self.buffer.max));
        }
    }
}

impl Sender {
    /// The send number of the chunk that was sent last on `path`.
    pub(crate) fn last_send_number(&self, path: PathId) -> SendNumber {
        self.scoreboard.last_send_number(path)
    }

    /// Releases the memory of empty buffers, of which a busy association keeps some. To be called when all data is acknowledged.
    pub(crate) fn release_memory(&mut self) {
        self.streams.shrink(0);
        self.scoreboard.shrink(0);
        self.scoreboard.release_path_acks();
        self.buffer.longest = 0;
    }

    /// Sets the priority of a stream; see [`crate::Association::set_stream_priority`].
    ///
    /// # Errors
    /// [`SendError::InvalidStream`].
    pub(crate) fn set_priority(
        &mut self,
        stream: StreamId,
        priority: u16,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<(), SendError> {
        self.check_stream(stream)?;
        self.streams
            .set(stream, |settings| settings.priority = priority, scheduler);
        Ok(())
    }

    /// Sets the weight of a stream; see [`crate::Association::set_stream_weight`].
    ///
    /// # Errors
    /// [`SendError::InvalidStream`].
    pub(crate) fn set_weight(
        &mut self,
        stream: StreamId,
        weight: NonZeroU16,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<(), SendError> {
        self.check_stream(stream)?;
        self.streams
            .set(stream, |settings| settings.weight = weight, scheduler);
        Ok(())
    }

    /// Sets which paths a stream is to use; see [`crate::DeliverySettings::set_stream_path_use`].
    ///
    /// # Errors
    /// [`SendError::InvalidStream`].
    pub(crate) fn set_path_use(
        &mut self,
        stream: StreamId,
        path_use: PathUse,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<(), SendError> {
        self.check_stream(stream)?;
        self.streams
            .set(stream, |settings| settings.path_use = path_use, scheduler);
        Ok(())
    }

    /// Priority and weight of a stream.
    ///
    /// # Errors
    /// [`SendError::InvalidStream`].
    pub(crate) fn priority_and_weight(&self, stream: StreamId) -> Result<(u16, NonZeroU16), SendError> {
        self.check_stream(stream)?;
        let settings = self.streams.settings(stream);
        Ok((settings.priority, settings.weight))
    }

    /// Tells a new scheduler of all streams that have something to send.
    pub(crate) fn tell_ready(&self, scheduler: &mut dyn StreamScheduler) {
        self.streams.tell_all_ready(scheduler);
    }

    /// Takes over priorities, weights, redundancy, low-water marks and deactivated keys after a restart of the peer. To be called before any
    /// message is queued.
    pub(crate) fn keep_stream_settings(&mut self, before: &Self) {
        self.streams.keep_settings(&before.streams);
        if let Some(marks) = before.low_water.for_empty_queues() {
            *self.low_water.make_mut() = marks;
        }
        self.redundant.keep_streams(&before.redundant);
        self.keep_free_keys(before);
    }

    /// Sets the low-water mark of a stream; see [`crate::Association::set_stream_low_water`].
    ///
    /// # Errors
    /// [`SendError::InvalidStream`].
    pub(crate) fn set_low_water(&mut self, stream: StreamId, bytes: u64) -> Result<(), SendError> {
        self.check_stream(stream)?;
        let queued = self.queued_on(stream);
        self.low_water.make_mut().set(stream, bytes, queued);
        Ok(())
    }

    /// Takes a stream that has fallen to its low-water mark and was not reported yet.
    pub(crate) fn next_low_stream(&mut self) -> Option<StreamId> {
        self.low_water.active_mut()?.next_fallen()
    }

    /// Unsent bytes of each stream, in the order of streams; empty ones are left out.
    pub(crate) fn queues(&self) -> Vec<(StreamId, u64)> {
        let streams = (0..self.streams.used()).map(StreamId);
        let queues = streams.map(|stream| (stream, self.streams.queued_on(stream)));
        let mut queues: Vec<_> = queues.collect();
        for chunk in self.line.iter() {
            queues[chunk.stream.index()].1 += chunk.payload_bytes();
        }
        queues.retain(|(_, bytes)| *bytes > 0);
        queues
    }
}
