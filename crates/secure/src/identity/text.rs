//! Text form of keys: base64 (RFC 4648 §4) of 32 bytes, as WireGuard writes its keys.

use super::KEY_LEN;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a key, one `=` included.
const TEXT_LEN: usize = 44;

/// Why a text is no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyParseError {
    /// It has another length.
    #[error("a key has {TEXT_LEN} characters of base64, not {0}")]
    Length(usize),
    /// The character at this offset is not the one that base64 of 32 bytes can have there.
    #[error("no base64 of a key: wrong character at offset {0}")]
    Character(usize),
}

pub(super) fn encode(bytes: &[u8; KEY_LEN]) -> String {
    let mut text = String::with_capacity(TEXT_LEN);
    for group in bytes.chunks(3) {
        let mut bits = 0;
        for (index, byte) in group.iter().enumerate() {
            bits |= u32::from(*byte) << (16 - 8 * index);
        }
        for position in 0..=group.len() {
            let value = (bits >> (18 - 6 * position)) & 63;
            text.push(char::from(ALPHABET[value as usize]));
        }
    }
    text.push('=');
    text
}

/// Only what [`encode`] writes is accepted, so that each key has one text.
pub(super) fn decode(text: &str) -> Result<[u8; KEY_LEN], KeyParseError> {
    let text = text.as_bytes();
    if text.len() != TEXT_LEN {
        return Err(KeyParseError::Length(text.len()));
    }
    let (digits, padding) = text.split_at(TEXT_LEN - 1);
    if padding != b"=" {
        return Err(KeyParseError::Character(TEXT_LEN - 1));
    }
    let (mut bits, mut count) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(KEY_LEN);
    for (offset, digit) in digits.iter().enumerate() {
        let value = ALPHABET.iter().position(|known| known == digit);
        let value = value.ok_or(KeyParseError::Character(offset))?;
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    let is_canonical = bits & ((1 << count) - 1) == 0;
    let bytes = bytes.try_into().ok().filter(|_| is_canonical);
    bytes.ok_or(KeyParseError::Character(TEXT_LEN - 2))
}
