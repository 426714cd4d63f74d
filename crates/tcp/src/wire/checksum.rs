//! TCP checksum: the Internet checksum over the pseudo-header and the segment.

use core::net::IpAddr;

use super::{DecodeError, DecodeErrorKind};

/// The protocol number of TCP (RFC 9293 §3.1).
const TCP: u8 = 6;

/// The Internet checksum (RFC 1071) over pieces, of which only the last may have an odd length.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sum(u64);

impl Sum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (fours, rest) = bytes.as_chunks::<4>();
        self.0 += fours
            .iter()
            .map(|four| u64::from(u32::from_be_bytes(*four)))
            .sum::<u64>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.0 += u64::from(u32::from_be_bytes(last));
    }

    pub(super) const fn value(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

/// The checksum of `segment` with its checksum field included: 0 for an undamaged segment.
///
/// # Errors
///
/// [`DecodeErrorKind::MixedAddresses`].
pub(crate) fn checksum(segment: &[u8], source: IpAddr, destination: IpAddr) -> Result<u16, DecodeError> {
    let mut sum = Sum::default();
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            sum.add(&source.octets());
            sum.add(&destination.octets());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            sum.add(&source.octets());
            sum.add(&destination.octets());
        }
        _ => {
            return Err(DecodeError {
                at: 0,
                kind: DecodeErrorKind::MixedAddresses,
            });
        }
    }
    let length = u32::try_from(segment.len()).unwrap_or(u32::MAX);
    sum.add(&length.to_be_bytes());
    sum.add(&[0, 0, 0, TCP]);
    sum.add(segment);
    Ok(sum.value())
}

/// Writes the checksum of `segment`, whose checksum field is 0.
///
/// # Panics
///
/// If the addresses are of two IP versions.
pub(crate) fn seal(segment: &mut [u8], source: IpAddr, destination: IpAddr) {
    let checksum = checksum(segment, source, destination);
    let checksum = checksum.expect("both ends of a connection are of one IP version");
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
}
