//! Transfer: send, receive, shutdown, and what the program learns at the end.

use std::sync::Arc;
use std::time::Duration;

use anabranch::{Bytes, Message, Ppid, ReceivedMessage, Reliability, StreamId, TryRecvError, TrySendError};

use super::{Connection, Reader, Socket};
use crate::errno::Errno;
use crate::layout::{self, AssocState, Info};
use crate::lock;
use crate::process::Process;

/// `MSG_NOTIFICATION`.
const NOTIFICATION: i32 = 0x8000;
/// `sinfo_flags`.
const UNORDERED: u16 = 1;
const ABORT: u16 = 1 << 2;
const SACK_IMMEDIATELY: u16 = 1 << 3;
const EOF: u16 = 0x200;

/// A received message, part of one, notification, or the end of the association (no bytes and no flags).
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    /// `MSG_EOR`, `MSG_NOTIFICATION`.
    pub(crate) flags: i32,
    /// Of a message.
    pub(crate) info: Option<Info>,
}

impl Socket {
    /// Receives up to `room` bytes; with `peeks`, without taking them.
    pub(crate) fn receive(&self, room: usize, peeks: bool, is_patient: bool) -> Result<Received, Errno> {
        loop {
            if let Some(error) = self.take_error() {
                return Err(error);
            }
            let connection = self.connection()?;
            let mut reader = lock(&self.reader);
            let received = self.try_receive(&mut reader, connection, (room, peeks));
            self.settle_reader(&mut reader);
            drop(reader);
            if let Some(received) = received? {
                return Ok(received);
            }
            self.wait_readable(is_patient)?;
        }
    }

    fn try_receive(
        &self,
        reader: &mut Reader,
        connection: &Connection,
        (room, peeks): (usize, bool),
    ) -> Result<Option<Received>, Errno> {
        if reader.pending.is_none() && reader.notices.is_empty() {
            match connection.association.try_recv_part() {
                // The end of a message that the peer has abandoned.
                Ok(Some(message)) if message.payload.is_empty() => return Ok(None),
                Ok(Some(message)) => reader.pending = Some(message),
                Ok(None) => self.end(reader, connection, None)?,
                Err(TryRecvError::Empty) => return Ok(None),
                Err(error) => self.end(reader, connection, Some(&error))?,
            }
        }
        if let Some(mut notice) = reader.notices.pop_front() {
            let rest = notice.split_off(room.min(notice.len()));
            let eor = if rest.is_empty() { libc::MSG_EOR } else { 0 };
            let whole = [&notice[..], &rest].concat();
            if peeks {
                reader.notices.push_front(whole);
            } else if !rest.is_empty() {
                reader.notices.push_front(rest);
            }
            return Ok(Some(Received {
                bytes: notice.into(),
                flags: NOTIFICATION | eor,
                info: None,
            }));
        }
        let Some(message) = &mut reader.pending else {
            return Ok(Some(Received::default()));
        };
        let info = Some(info_of(message));
        let count = room.min(message.payload.len());
        let is_all = count == message.payload.len();
        let eor = if is_all && !message.extent.has_more() {
            libc::MSG_EOR
        } else {
            0
        };
        let bytes = if peeks {
            message.payload.slice(..count)
        } else {
            message.payload.split_to(count)
        };
        if is_all && !peeks {
            reader.pending = None;
        }
        Ok(Some(Received {
            bytes,
            flags: eor,
            info,
        }))
    }

    /// The association has ended: tells the program once by notifications, and once by an error.
    fn end(
        &self,
        reader: &mut Reader,
        connection: &Connection,
        error: Option<&TryRecvError>,
    ) -> Result<(), Errno> {
        if std::mem::replace(&mut reader.has_ended, true) {
            return Ok(());
        }
        let reason = match error {
            Some(TryRecvError::Closed(reason)) => Some(reason),
            _ => None,
        };
        let settings = lock(&self.settings).clone();
        if reason.is_none() && settings.subscribes(layout::SHUTDOWN_EVENT) {
            reader.notices.push_back(layout::shutdown_event());
        }
        if settings.subscribes(layout::ASSOC_CHANGE) {
            let state = AssocState::of_end(reason);
            reader
                .notices
                .push_back(layout::assoc_change(state, connection.association.streams()));
        }
        match reason.and_then(Errno::of_end) {
            Some(error) if reader.notices.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends one message, or ends the association as `info.flags` says. Returns the number of bytes.
    pub(crate) fn send(&self, bytes: Vec<u8>, info: &Info, is_patient: bool) -> Result<usize, Errno> {
        while self.is_connecting() {
            self.wait_writable(is_patient)?;
        }
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        let connection = self.connection()?;
        let length = bytes.len();
        if info.flags & ABORT != 0 {
            connection.association.abort(&String::from_utf8_lossy(&bytes));
            return Ok(length);
        }
        if length > 0 {
            self.queue(connection, message_of(bytes, info), is_patient)?;
        }
        match (info.flags & EOF != 0, length) {
            (true, _) => self.shut_down_sending()?,
            (false, 0) => return Err(Errno(libc::EINVAL)),
            (false, _) => {}
        }
        Ok(length)
    }

    fn queue(&self, connection: &Connection, message: Message, is_patient: bool) -> Result<(), Errno> {
        loop {
            let mut writer = lock(&self.writer);
            if writer.is_shut {
                return Err(Errno(libc::EPIPE));
            }
            match connection.association.try_send(message.clone()) {
                Ok(_) => return Ok(()),
                Err(TrySendError::Full) => self.set_full(&mut writer, true),
                Err(TrySendError::Never(error)) => return Err(Errno::of_send(&error)),
                Err(_) => return Err(Errno(libc::EIO)),
            }
            drop(writer);
            self.wait_writable(is_patient)?;
        }
    }

    /// Starts the shutdown of the association (`SHUT_WR`). What the peer still sends can be received.
    pub(crate) fn shut_down_sending(&self) -> Result<(), Errno> {
        let connection = self.connection()?;
        if !std::mem::replace(&mut lock(&self.writer).is_shut, true) {
            let association = connection.association.clone();
            let hub = Arc::clone(&connection.hub);
            Process::current().runtime()?.spawn(async move {
                let _ = association.shutdown().await;
                drop(hub);
            });
        }
        Ok(())
    }
}

fn message_of(bytes: Vec<u8>, info: &Info) -> Message {
    let reliability = match (info.flags & 0x30, info.time_to_live) {
        (0x20, count) => Reliability::Retransmissions(u16::try_from(count).unwrap_or(u16::MAX)),
        (0x30, priority) => Reliability::Priority(priority),
        (_, 0) => Reliability::Reliable,
        (_, milliseconds) => Reliability::Lifetime(Duration::from_millis(milliseconds.into())),
    };
    let mut message = Message::new(StreamId(info.stream), bytes)
        .with_ppid(Ppid(u32::from_be(info.ppid)))
        .with_reliability(reliability);
    message.unordered = info.flags & UNORDERED != 0;
    message.acknowledge_at_once = info.flags & SACK_IMMEDIATELY != 0;
    message
}

fn info_of(message: &ReceivedMessage) -> Info {
    Info {
        stream: message.stream.0,
        flags: if message.unordered { UNORDERED } else { 0 },
        ppid: message.ppid.0.to_be(),
        ..Info::default()
    }
}
