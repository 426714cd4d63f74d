//! Dissector: a packet as one line of text, for traces and the messages of failing tests.

use alloc::string::String;
use core::fmt::{self, Write as _};

use crate::{Packet, checksum};

/// One line for a packet, whatever its bytes.
///
/// ```
/// use anabranch_wire::dissect;
/// assert_eq!(dissect::line(&[1, 2, 3]), "!packet shorter than its header at byte 0");
/// ```
///
/// Like `5000>5001 tag=0a1b2c3d DATA tsn=17 sid=0 ssn=3 len=1400 BE | SACK cum=16 rwnd=65536 gaps=2-3,7-7`.
/// What cannot be decoded is marked by `!`; a wrong checksum is reported at the end, and so is one of zero (RFC 9653).
#[must_use]
pub fn line(bytes: &[u8]) -> String {
    let mut line = String::new();
    write_line(bytes, &mut line).expect("a string takes all that is written to it");
    line
}

fn write_line(bytes: &[u8], line: &mut String) -> fmt::Result {
    let packet = match Packet::parse_unverified(bytes) {
        Ok(packet) => packet,
        Err(error) => return write!(line, "!{error}"),
    };
    write!(line, "{}", packet.header())?;
    let mut separator = " ";
    for chunk in packet.chunks() {
        line.push_str(core::mem::replace(&mut separator, " | "));
        match chunk.and_then(crate::RawChunk::decode) {
            Ok(chunk) => write!(line, "{chunk}")?,
            Err(error) => write!(line, "!{error}")?,
        }
    }
    if checksum::is_valid(bytes) {
        Ok(())
    } else if checksum::is_zero(bytes) {
        line.write_str(" (zero checksum)")
    } else {
        line.write_str(" (wrong checksum)")
    }
}

#[cfg(test)]
mod tests;
