//! Ancillary data (RFC 6458 §5.3) as bytes: what does a program say beside a message, and what is it told?
//!
//! Linux has no `SCTP_EXTRCV` (RFC 6458 §5.3.3); `SCTP_NXTINFO` takes its place.

use std::net::IpAddr;

use libc::c_int;

use crate::errno::Errno;
use crate::layout::{Fields, Info};
use crate::socket::{Init, Received, Request};

/// `cmsg_type`.
mod kind {
    use libc::c_int;

    pub(super) const INIT: c_int = 0;
    pub(super) const SNDRCV: c_int = 1;
    pub(super) const SNDINFO: c_int = 2;
    pub(super) const RCVINFO: c_int = 3;
    pub(super) const NXTINFO: c_int = 4;
    pub(super) const PRINFO: c_int = 5;
    pub(super) const AUTHINFO: c_int = 6;
    pub(super) const DSTADDRV4: c_int = 7;
    pub(super) const DSTADDRV6: c_int = 8;
}

/// Longest ancillary data that is read: more fails with `ENOBUFS`, as above `net.core.optmem_max` on Linux.
pub(crate) const LONGEST: usize = 64 << 10;

/// Length of `struct cmsghdr`, to which ancillary data is aligned.
const HEADER: usize = 16;

/// Reads what a program says about a message. Data of other levels is ignored, as the kernel does.
///
/// # Errors
///
/// `EINVAL` if a length is wrong, or a type unknown.
pub(crate) fn read(mut control: &[u8], request: &mut Request) -> Result<(), Errno> {
    while control.len() >= HEADER {
        let (length, rest) = control.split_first_chunk().ok_or(Errno(libc::EINVAL))?;
        let length = usize::from_ne_bytes(*length);
        let mut fields = Fields::new(rest);
        let (level, kind) = (fields.i32()?, fields.i32()?);
        let data = control.get(HEADER..length).ok_or(Errno(libc::EINVAL))?;
        if level == libc::IPPROTO_SCTP {
            read_one(kind, data, request)?;
        }
        let next = length.checked_next_multiple_of(8).unwrap_or(control.len());
        control = control.get(next..).unwrap_or(&[]);
    }
    Ok(())
}

fn read_one(kind: c_int, data: &[u8], request: &mut Request) -> Result<(), Errno> {
    let mut fields = Fields::new(data);
    match kind {
        kind::INIT => request.init = Some(Init::read(data)?),
        kind::SNDRCV => request.info = Some(Info::of_sndrcv(data)?),
        kind::SNDINFO => request.info = Some(Info::of_snd(data)?),
        kind::PRINFO => request.reliability = Some(read_prinfo(data)?),
        kind::AUTHINFO => request.key = Some(fields.u16()?),
        kind::DSTADDRV4 => {
            let ip: [u8; 4] = fields.bytes(4)?.try_into().map_err(|_| Errno(libc::EINVAL))?;
            request.more.push(IpAddr::from(ip));
        }
        kind::DSTADDRV6 => {
            let ip: [u8; 16] = fields.bytes(16)?.try_into().map_err(|_| Errno(libc::EINVAL))?;
            request.more.push(IpAddr::from(ip).to_canonical());
        }
        _ => return Err(Errno(libc::EINVAL)),
    }
    Ok(())
}

/// Reads `struct sctp_prinfo`: policy and value.
///
/// # Errors
///
/// `EINVAL` if it is too short.
pub(crate) fn read_prinfo(data: &[u8]) -> Result<(u16, u32), Errno> {
    let mut fields = Fields::new(data);
    let policy = fields.u16()?;
    fields.bytes(2)?;
    Ok((policy, fields.u32()?))
}

/// Descriptors that a message of another socket passes to its receiver (`SCM_RIGHTS`).
pub(crate) fn passed_descriptors(mut control: &[u8]) -> Vec<c_int> {
    let mut found = Vec::new();
    while let Some((length, rest)) = control.split_first_chunk() {
        let length = usize::from_ne_bytes(*length);
        let mut fields = Fields::new(rest);
        let kind = (fields.i32(), fields.i32());
        let Some(data) = control.get(HEADER..length) else {
            break;
        };
        if kind == (Ok(libc::SOL_SOCKET), Ok(libc::SCM_RIGHTS)) {
            found.extend(data.chunks_exact(4).filter_map(|fd| Fields::new(fd).i32().ok()));
        }
        let next = length.checked_next_multiple_of(8).unwrap_or(control.len());
        control = control.get(next..).unwrap_or(&[]);
    }
    found
}

/// What a program wants to be told about what it received.
fn write(received: &Received) -> Vec<Vec<u8>> {
    let told = received.told;
    let mut all = Vec::new();
    if let Some(info) = received.info {
        if told.rcvinfo {
            all.push(one(kind::RCVINFO, &info.rcv()));
        }
        if let Some(next) = received.next.filter(|_| told.nxtinfo) {
            all.push(one(kind::NXTINFO, &next.bytes()));
        }
        if told.sndrcvinfo {
            all.push(one(kind::SNDRCV, &info.sndrcv()));
        }
    }
    all
}

/// As much of what a program wants to be told as fits, and whether that is all.
pub(crate) fn write_into(received: &Received, room: usize) -> (Vec<u8>, bool) {
    let mut fitting = Vec::new();
    for item in write(received) {
        if fitting.len() + item.len() > room {
            return (fitting, false);
        }
        fitting.extend(item);
    }
    (fitting, true)
}

/// Ancillary data of this type.
fn one(kind: c_int, data: &[u8]) -> Vec<u8> {
    let length = HEADER + data.len();
    let start = [libc::IPPROTO_SCTP, kind].map(c_int::to_ne_bytes).concat();
    let mut bytes = [&length.to_ne_bytes()[..], &start, data].concat();
    bytes.resize(length.next_multiple_of(8), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancillary_data_is_read_as_it_was_written() {
        let info = Info {
            stream: 5,
            flags: 1,
            ppid: 46,
            context: 7,
            value: 0,
            assoc: 3,
        };
        let mut control = one(kind::SNDINFO, &info.snd());
        control.extend(one(kind::PRINFO, &[0x20, 0, 0, 0, 4, 0, 0, 0]));
        control.extend(one(kind::AUTHINFO, &2_u16.to_ne_bytes()));
        control.extend(one(kind::DSTADDRV4, &[192, 0, 2, 1]));
        let mut request = Request::default();
        assert_eq!(read(&control, &mut request), Ok(()));
        let wanted = Request {
            info: Some(info),
            reliability: Some((0x20, 4)),
            key: Some(2),
            more: vec![IpAddr::from([192, 0, 2, 1])],
            ..Request::default()
        };
        assert_eq!(request, wanted);
    }

    #[test]
    fn wrong_lengths_and_types_are_refused() {
        let whole = one(kind::SNDINFO, &Info::default().snd());
        for length in [0_usize, 15, 20, 33, usize::MAX] {
            let mut control = whole.clone();
            control[..8].copy_from_slice(&length.to_ne_bytes());
            let refused = read(&control, &mut Request::default());
            assert_eq!(refused, Err(Errno(libc::EINVAL)), "{length}");
        }
        assert!(read(&one(99, &[0; 8]), &mut Request::default()).is_err());
    }
}
