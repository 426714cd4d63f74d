//! DSS checksum (RFC 8684 §3.3.1). Did a middlebox change the data of a mapping?

use super::super::checksum::Sum;

/// The Internet checksum over a mapping and its bytes, which may come in pieces of any length.
///
/// ```
/// use anabranch_tcp::wire::DataChecksum;
/// let mut checksum = DataChecksum::new(9, 1, 3);
/// checksum.add(b"odd");
/// let mut same = DataChecksum::new(9, 1, 3);
/// same.add(b"o");
/// same.add(b"dd");
/// assert_eq!(checksum.value(), same.value());
/// assert!(same.matches(checksum.value()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DataChecksum {
    sum: Sum,
    /// The first byte of an incomplete 16-bit word.
    half: Option<u8>,
}

impl DataChecksum {
    /// Starts with the pseudo-header: "the data sequence number used in the pseudo-header […] is always the 64-bit value", then
    /// the subflow's number, the length and two zeros.
    #[must_use]
    pub fn new(data: u64, ssn: u32, length: u16) -> Self {
        let mut sum = Sum::default();
        sum.add(&data.to_be_bytes());
        sum.add(&ssn.to_be_bytes());
        sum.add(&u32::from(length).to_be_bytes());
        Self { sum, half: None }
    }

    /// Adds the next bytes of the mapping.
    pub fn add(&mut self, mut bytes: &[u8]) {
        if let Some(first) = self.half {
            let Some((&second, rest)) = bytes.split_first() else {
                return;
            };
            self.sum.add(&[first, second]);
            self.half = None;
            bytes = rest;
        }
        let (even, odd) = bytes.split_at(bytes.len() & !1);
        self.sum.add(even);
        self.half = odd.first().copied();
    }

    /// The value of the checksum field.
    #[must_use]
    pub fn value(&self) -> u16 {
        let mut sum = self.sum;
        if let Some(last) = self.half {
            sum.add(&[last]);
        }
        sum.value()
    }

    /// Whether `checksum` matches the bytes.
    #[must_use]
    pub fn matches(&self, checksum: u16) -> bool {
        let ones = |sum: u16| if sum == 0xffff { 0 } else { sum };
        ones(self.value()) == ones(checksum)
    }
}
