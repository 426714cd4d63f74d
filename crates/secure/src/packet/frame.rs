//! Frames inside sealed handshake packets: PADDING, CRYPTO, ACK and CLOSE.

use super::{ParseError, Reader};

const PADDING: u8 = 0;
const CRYPTO: u8 = 1;
const ACK: u8 = 2;
const CLOSE: u8 = 3;

/// Bytes of a CRYPTO frame before its data.
pub(crate) const CRYPTO_HEADER: usize = 1 + 4 + 2;
/// Bytes of an ACK frame.
pub(crate) const ACK_LEN: usize = 1 + 4;

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame<'a> {
    /// A fragment of the TLS handshake stream of this level (RFC 9000 §19.6).
    Crypto { offset: u32, data: &'a [u8] },
    /// So many bytes from the start of the stream of this level have arrived without a gap.
    Ack { received: u32 },
    /// The sender gives up: a TLS alert (RFC 8446 §6).
    Close { alert: u8 },
}

/// The frames of an opened payload. Nothing follows the first error.
#[derive(Debug)]
pub(crate) struct Frames<'a>(Option<Reader<'a>>);

impl<'a> Frames<'a> {
    pub(crate) const fn new(payload: &'a [u8]) -> Self {
        Self(Some(Reader::new(payload, 0)))
    }

    fn read(reader: &mut Reader<'a>) -> Result<Frame<'a>, ParseError> {
        let at = reader.offset();
        match reader.u8()? {
            CRYPTO => {
                let offset = reader.u32()?;
                let len = reader.u16()?;
                let data = reader.take(usize::from(len))?;
                if offset.checked_add(u32::from(len)).is_none() {
                    return Err(ParseError::InvalidValue(at));
                }
                Ok(Frame::Crypto { offset, data })
            }
            ACK => Ok(Frame::Ack {
                received: reader.u32()?,
            }),
            CLOSE => Ok(Frame::Close { alert: reader.u8()? }),
            _ => Err(ParseError::InvalidValue(at)),
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.0.as_mut()?;
        while reader.peek() == Some(PADDING) {
            reader.skip();
        }
        if reader.remaining() == 0 {
            return None;
        }
        let frame = Self::read(reader);
        if frame.is_err() {
            self.0 = None;
        }
        Some(frame)
    }
}

/// Appends a CRYPTO frame. `data` has at most 65,535 bytes.
pub(crate) fn write_crypto(payload: &mut Vec<u8>, offset: u32, data: &[u8]) {
    let data = &data[..data.len().min(usize::from(u16::MAX))];
    payload.push(CRYPTO);
    payload.extend(offset.to_be_bytes());
    payload.extend((data.len() as u16).to_be_bytes());
    payload.extend(data);
}

/// Appends an ACK frame.
pub(crate) fn write_ack(payload: &mut Vec<u8>, received: u32) {
    payload.push(ACK);
    payload.extend(received.to_be_bytes());
}

/// Appends a CLOSE frame.
pub(crate) fn write_close(payload: &mut Vec<u8>, alert: u8) {
    payload.extend([CLOSE, alert]);
}
