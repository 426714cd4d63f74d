//! Bytes in control messages. How are they written? As hexadecimal digits, in lower case.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `N` bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Octets<const N: usize>(pub(super) [u8; N]);

/// Accepts lower-case digits only, so that the bytes have exactly one text form.
const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl<const N: usize> FromStr for Octets<N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("not {} hexadecimal digits in lower case", 2 * N);
        let mut bytes = [0; N];
        if text.len() != 2 * N {
            return Err(wrong());
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().as_chunks().0) {
            let [high, low] = digits.map(nibble);
            *byte = high
                .zip(low)
                .map(|(high, low)| (high << 4) | low)
                .ok_or_else(wrong)?;
        }
        Ok(Self(bytes))
    }
}

impl<const N: usize> fmt::Display for Octets<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Octets<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> Serialize for Octets<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Octets<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_read_as_written() {
        let text = serde_json::to_string(&Octets([0, 0x1F, 0xFF])).unwrap();
        assert_eq!(text, r#""001fff""#);
        assert_eq!(
            serde_json::from_str::<Octets<3>>(&text).unwrap(),
            Octets([0, 0x1F, 0xFF])
        );
    }

    #[test]
    fn octets_have_one_text_form() {
        for wrong in ["001ff", "001FFF", "001ff+", "001fffff", "00ä0", "00001g", ""] {
            assert!(wrong.parse::<Octets<3>>().is_err(), "{wrong}");
        }
    }
}
