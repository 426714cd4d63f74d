//! Structures of options that set associations and sockets up.

use super::{Build, Fields};
use crate::errno::Errno;

/// Longest structure that an option reads; longer ones are cut.
pub(crate) const LONGEST_OPTION: usize = 64 << 10;

/// `struct sctp_getaddrs_old`: an identifier to be written, the length of the addresses, and where they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectX {
    pub(crate) length: usize,
    pub(crate) at: u64,
}

impl ConnectX {
    pub(crate) fn read(given: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields::new(given);
        let (_, length, at) = (fields.i32()?, fields.u32()?, fields.u64()?);
        Ok(Self {
            length: (length as usize).min(LONGEST_OPTION),
            at,
        })
    }

    /// What is written of it.
    pub(crate) fn answer(id: i32) -> Vec<u8> {
        Build::new().i32(id).done()
    }
}

/// `sctp_peeloff_arg_t`, with flags or without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeelOff {
    pub(crate) id: i32,
    flags: Option<i32>,
}

impl PeelOff {
    pub(crate) fn read(given: &[u8], has_flags: bool) -> Result<Self, Errno> {
        let mut fields = Fields::new(given);
        let (id, _) = (fields.i32()?, fields.i32()?);
        let flags = if has_flags { Some(fields.i32()?) } else { None };
        Ok(Self { id, flags })
    }

    /// `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
    pub(crate) fn flags(self) -> i32 {
        self.flags.unwrap_or(0)
    }

    /// The same with a descriptor.
    pub(crate) fn answer(self, descriptor: i32) -> Vec<u8> {
        let build = Build::new().i32(self.id).i32(descriptor);
        match self.flags {
            Some(flags) => build.i32(flags),
            None => build,
        }
        .done()
    }
}
