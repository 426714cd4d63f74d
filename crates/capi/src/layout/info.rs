//! What a program says about a message that it sends, or learns about one that it receives (RFC 6458 §5.3).

use std::time::Duration;

use anabranch::{Message, Ppid, ReceivedMessage, Reliability, StreamId};

use super::{Build, Fields};
use crate::errno::Errno;

/// Bits of `sinfo_flags`, `snd_flags` and `rcv_flags`.
#[derive(Debug)]
pub(crate) struct SinfoFlags;

impl SinfoFlags {
    pub(crate) const UNORDERED: u16 = 1;
    pub(crate) const ABORT: u16 = 1 << 2;
    pub(crate) const SACK_IMMEDIATELY: u16 = 1 << 3;
    pub(crate) const SEND_ALL: u16 = 1 << 6;
    pub(crate) const EOF: u16 = 0x200;
    /// All that a program may set; the second is `SCTP_ADDR_OVER`, the last but one `SCTP_PR_SCTP_ALL`.
    pub(crate) const KNOWN: u16 = 0b1111 | PR_MASK | 1 << 6 | 1 << 7 | Self::EOF;
}

/// The bits of `sinfo_flags` that select when a message is abandoned (RFC 7496).
pub(crate) const PR_MASK: u16 = 0x30;

/// `struct sctp_sndrcvinfo` and its successors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Info {
    pub(crate) stream: u16,
    /// `sinfo_flags`, with the policy of partial reliability.
    pub(crate) flags: u16,
    /// In the byte order of the program, which usually is that of the network.
    pub(crate) ppid: u32,
    pub(crate) context: u32,
    /// `sinfo_timetolive` or `pr_value`: milliseconds, a count or a priority; 0 for a reliable message without policy.
    pub(crate) value: u32,
    /// 0 if the program names the peer by its address.
    pub(crate) assoc: i32,
}

impl Info {
    pub(crate) fn of(message: &ReceivedMessage, assoc: i32, context: u32) -> Self {
        Self {
            stream: message.stream.0,
            flags: if message.unordered {
                SinfoFlags::UNORDERED
            } else {
                0
            },
            ppid: message.ppid.0.to_be(),
            context,
            value: 0,
            assoc,
        }
    }

    pub(crate) fn message(&self, bytes: Vec<u8>) -> Message {
        let reliability = match (self.flags & PR_MASK, self.value) {
            (0x20, count) => Reliability::Retransmissions(u16::try_from(count).unwrap_or(u16::MAX)),
            (0x30, priority) => Reliability::Priority(priority),
            (_, 0) => Reliability::Reliable,
            (_, milliseconds) => Reliability::Lifetime(Duration::from_millis(milliseconds.into())),
        };
        let mut message = Message::new(StreamId(self.stream), bytes)
            .with_ppid(Ppid(u32::from_be(self.ppid)))
            .with_reliability(reliability);
        message.unordered = self.has(SinfoFlags::UNORDERED);
        message.acknowledge_at_once = self.has(SinfoFlags::SACK_IMMEDIATELY);
        message
    }

    pub(crate) const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// `struct sctp_sndrcvinfo`.
    pub(crate) fn sndrcv(&self) -> Vec<u8> {
        let build = Build::new().u16(self.stream).u16(0).u16(self.flags).u16(0);
        let build = build
            .u32(self.ppid)
            .u32(self.context)
            .u32(self.value)
            .u32(0)
            .u32(0);
        build.i32(self.assoc).done()
    }

    /// `struct sctp_rcvinfo`.
    pub(crate) fn rcv(&self) -> Vec<u8> {
        let build = Build::new().u16(self.stream).u16(0).u16(self.flags).u16(0);
        let build = build.u32(self.ppid).u32(0).u32(0).u32(self.context);
        build.i32(self.assoc).done()
    }

    /// `struct sctp_sndinfo`.
    pub(crate) fn snd(&self) -> Vec<u8> {
        let build = Build::new().u16(self.stream).u16(self.flags);
        build.u32(self.ppid).u32(self.context).i32(self.assoc).done()
    }

    /// Reads `struct sctp_sndrcvinfo`.
    pub(crate) fn of_sndrcv(bytes: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields::new(bytes);
        let (stream, _, flags, _) = (fields.u16()?, fields.u16()?, fields.u16()?, fields.u16()?);
        let (ppid, context, value) = (fields.u32()?, fields.u32()?, fields.u32()?);
        fields.bytes(8)?;
        Ok(Self {
            stream,
            flags,
            ppid,
            context,
            value,
            assoc: fields.i32()?,
        })
    }

    /// Reads `struct sctp_sndinfo`.
    pub(crate) fn of_snd(bytes: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields::new(bytes);
        Ok(Self {
            stream: fields.u16()?,
            flags: fields.u16()?,
            ppid: fields.u32()?,
            context: fields.u32()?,
            value: 0,
            assoc: fields.i32()?,
        })
    }

    /// Sets the policy of partial reliability and its value, as `struct sctp_prinfo` and `struct sctp_default_prinfo` have them.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such policy.
    pub(crate) fn set_policy(&mut self, policy: u16, value: u32) -> Result<(), Errno> {
        if policy & !PR_MASK != 0 {
            return Err(Errno(libc::EINVAL));
        }
        self.flags = self.flags & !PR_MASK | policy;
        self.value = if policy == 0 { 0 } else { value };
        Ok(())
    }
}

/// What a program learns about the message after the one that it received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    pub(crate) info: Info,
    pub(crate) is_notice: bool,
    pub(crate) length: u32,
}

impl Next {
    /// `struct sctp_nxtinfo`. Linux' header has no `SCTP_COMPLETE`.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        const NOTIFICATION: u16 = 0x8000;
        let flags = self.info.flags | if self.is_notice { NOTIFICATION } else { 0 };
        let build = Build::new().u16(self.info.stream).u16(flags);
        build
            .u32(self.info.ppid)
            .u32(self.length)
            .i32(self.info.assoc)
            .done()
    }
}
