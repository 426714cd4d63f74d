//! Structures of `netinet/sctp.h` as bytes: what is where?
//!
//! A program in the tests compares lengths and offsets with those of Debian's header.

mod info;
mod notice;
mod setup;

use std::net::SocketAddr;

pub(crate) use info::{Info, Next, PR_MASK, SinfoFlags};
pub(crate) use notice::{
    AddressState, AssocState, EVENTS, KeyChange, Outcome, SN_TYPE_BASE, SendFailure, adaptation,
    address_change, assoc_change, assoc_reset, auth_key, kind, partial_delivery, remote_error, send_failed,
    send_failed_event, sender_dry, shutdown_event, stream_change, stream_reset,
};
pub(crate) use setup::{ConnectX, LONGEST_OPTION, PeelOff};

use crate::address;
use crate::errno::Errno;

/// Length of `struct sockaddr_storage`.
pub(crate) const STORAGE: usize = 128;

/// `sctp_assoc_t` of associations to come, of all present ones, and of both.
pub(crate) const FUTURE_ASSOC: i32 = 0;
pub(crate) const CURRENT_ASSOC: i32 = 1;
pub(crate) const ALL_ASSOC: i32 = 2;

/// A structure that a program gave, read from its beginning. Each method fails with `EINVAL` behind its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'b> {
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'b [u8], Errno> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Errno(libc::EINVAL))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Errno(libc::EINVAL))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Errno> {
        Ok(u8::from_ne_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Errno> {
        Ok(u16::from_ne_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Errno> {
        Ok(u32::from_ne_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Errno> {
        Ok(i32::from_ne_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Errno> {
        Ok(u64::from_ne_bytes(self.array()?))
    }

    /// A `struct sockaddr_storage`; `None` if its family is 0.
    pub(crate) fn storage(&mut self) -> Result<Option<SocketAddr>, Errno> {
        let bytes = self.bytes(STORAGE)?;
        if bytes[..2] == [0, 0] {
            return Ok(None);
        }
        address::read(bytes).map(Some)
    }

    pub(crate) const fn rest(&self) -> &'b [u8] {
        self.rest
    }
}

/// A structure for a program, written from its beginning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Build(Vec<u8>);

impl Build {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    pub(crate) fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(crate) fn i32(self, value: i32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Zeros up to this length.
    pub(crate) fn pad(mut self, length: usize) -> Self {
        self.0.resize(length, 0);
        self
    }

    /// A `struct sockaddr_storage` with this address, written by [`address::write`].
    pub(crate) fn storage(self, address: &[u8]) -> Self {
        let end = self.0.len() + STORAGE;
        self.bytes(address).pad(end)
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.0
    }
}
