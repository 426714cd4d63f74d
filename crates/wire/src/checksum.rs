//! Checksum: CRC32c over the whole packet (RFC 9260 §6.8, Appendix A).
//!
//! The CRC is computed by the `crc-fast` crate, which uses the fastest instructions of the running
//! processor.

use crc_fast::{CrcAlgorithm, Digest, crc32_iscsi};

/// The position of the checksum in a packet.
const FIELD: core::ops::Range<usize> = 8..12;

//= rfc9260 6.8-1, 6.8-2
/// Writes the checksum into `packet`. Does nothing if there is no room for a common header.
pub fn seal(packet: &mut [u8]) {
    let Some(field) = packet.get_mut(FIELD) else {
        return;
    };
    // RFC 9260 §6.8: the field is filled with zeros while the checksum is calculated.
    field.fill(0);
    let crc = crc32_iscsi(packet);
    packet[FIELD].copy_from_slice(&crc.to_le_bytes());
}

/// Whether the checksum in `packet` is correct.
#[must_use]
pub fn is_valid(packet: &[u8]) -> bool {
    let Some((header, chunks)) = packet.split_first_chunk::<12>() else {
        return false;
    };
    let mut cleared = *header;
    cleared[FIELD].fill(0);
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&cleared);
    digest.update(chunks);
    // RFC 9260 Appendix A: the result is sent with its least significant byte first.
    header[FIELD] == (digest.finalize() as u32).to_le_bytes()
}

/// Whether the checksum field of `packet` is zero, as RFC 9653 permits where another layer detects errors.
#[must_use]
pub fn is_zero(packet: &[u8]) -> bool {
    packet.get(FIELD) == Some(&[0; 4])
}

#[cfg(test)]
mod tests {
    use super::{crc32_iscsi, is_valid, is_zero, seal};

    //= rfc9260 6.8-2
    #[test]
    fn crc32c_check_value_is_correct() {
        // RFC 3720 §B.4 lists the CRC of 32 zero bytes.
        assert_eq!(crc32_iscsi(&[0; 32]), 0x8a91_36aa);
    }

    //= rfc9260 6.8-1, 6.8-2
    #[test]
    fn a_sealed_packet_is_valid_until_a_bit_flips() {
        for len in [12, 16, 28, 300, 1460] {
            let mut packet = alloc::vec![0xa5; len];
            seal(&mut packet);
            assert!(is_valid(&packet) && !is_zero(&packet));
            packet[len - 1] ^= 4;
            assert!(!is_valid(&packet));
        }
        assert!(!is_valid(&[0; 11]) && !is_zero(&[0; 11]) && is_zero(&[0; 12]));
    }
}
