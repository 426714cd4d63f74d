//! Structures of `netinet/sctp.h` as bytes: what is where?
//!
//! A program in the tests compares the lengths with those of Debian's header.

use anabranch::CloseReason;

/// Number of a notification (`sn_type`) of `sctp_event_subscribe`'s first field; the others follow in its order.
pub(crate) const SN_TYPE_BASE: u16 = 1 << 15;
pub(crate) const ASSOC_CHANGE: u16 = SN_TYPE_BASE + 1;
pub(crate) const SHUTDOWN_EVENT: u16 = SN_TYPE_BASE + 5;

/// Number of fields of `sctp_event_subscribe`.
pub(crate) const EVENTS: usize = 14;

/// All associations of one-to-one style sockets have this identifier.
pub(crate) const ASSOC_ID: i32 = 1;

/// `sac_state` of `sctp_assoc_change`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AssocState {
    CommUp = 0,
    CommLost = 1,
    ShutdownComplete = 3,
}

impl AssocState {
    pub(crate) const fn of_end(reason: Option<&CloseReason>) -> Self {
        match reason {
            None | Some(CloseReason::Finished) => Self::ShutdownComplete,
            Some(_) => Self::CommLost,
        }
    }
}

/// `struct sctp_assoc_change`.
pub(crate) fn assoc_change(state: AssocState, (outbound, inbound): (u16, u16)) -> Vec<u8> {
    let mut bytes = header(ASSOC_CHANGE, 20);
    bytes.extend(
        [state as u16, 0, outbound, inbound]
            .map(u16::to_ne_bytes)
            .concat(),
    );
    bytes.extend(ASSOC_ID.to_ne_bytes());
    bytes
}

/// `struct sctp_shutdown_event`.
pub(crate) fn shutdown_event() -> Vec<u8> {
    let mut bytes = header(SHUTDOWN_EVENT, 12);
    bytes.extend(ASSOC_ID.to_ne_bytes());
    bytes
}

fn header(kind: u16, length: u32) -> Vec<u8> {
    [&kind.to_ne_bytes()[..], &[0; 2], &length.to_ne_bytes()].concat()
}

/// What a program says about a message that it sends, or learns about one that it receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Info {
    pub(crate) stream: u16,
    /// `sinfo_flags`.
    pub(crate) flags: u16,
    /// In the byte order of the program, which usually is that of the network.
    pub(crate) ppid: u32,
    pub(crate) context: u32,
    /// Milliseconds; 0 for no limit.
    pub(crate) time_to_live: u32,
}

impl Info {
    /// `struct sctp_sndrcvinfo`.
    pub(crate) fn sndrcv(&self) -> Vec<u8> {
        let start = [self.stream, 0, self.flags, 0].map(u16::to_ne_bytes).concat();
        let rest = [
            self.ppid,
            self.context,
            self.time_to_live,
            0,
            0,
            ASSOC_ID.cast_unsigned(),
        ];
        [start, rest.map(u32::to_ne_bytes).concat()].concat()
    }

    /// `struct sctp_rcvinfo`.
    pub(crate) fn rcv(&self) -> Vec<u8> {
        let start = [self.stream, 0, self.flags, 0].map(u16::to_ne_bytes).concat();
        let rest = [self.ppid, 0, 0, self.context, ASSOC_ID.cast_unsigned()];
        [start, rest.map(u32::to_ne_bytes).concat()].concat()
    }

    /// `struct sctp_sndinfo`.
    pub(crate) fn snd(&self) -> Vec<u8> {
        let start = [self.stream, self.flags].map(u16::to_ne_bytes).concat();
        let rest = [self.ppid, self.context, ASSOC_ID.cast_unsigned()];
        [start, rest.map(u32::to_ne_bytes).concat()].concat()
    }

    /// Reads `struct sctp_sndrcvinfo`; `None` if too short.
    pub(crate) fn of_sndrcv(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            stream: u16_at(bytes, 0)?,
            flags: u16_at(bytes, 4)?,
            ppid: u32_at(bytes, 8)?,
            context: u32_at(bytes, 12)?,
            time_to_live: u32_at(bytes, 16)?,
        })
    }

    /// Reads `struct sctp_sndinfo`; `None` if too short.
    pub(crate) fn of_snd(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            stream: u16_at(bytes, 0)?,
            flags: u16_at(bytes, 2)?,
            ppid: u32_at(bytes, 4)?,
            context: u32_at(bytes, 8)?,
            time_to_live: 0,
        })
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}
