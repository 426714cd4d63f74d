//! Errors reported by the peer (RFC 9260 §3.3.10) for the application, of limited length.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// Maximum length of the text, and of the value, in bytes. An ERROR may quote 60 KB, and a thousand events may be queued.
const MAX_LENGTH: usize = 256;

/// An error that the peer has reported (RFC 9260 §3.3.10; `SCTP_REMOTE_ERROR` in RFC 6458 §6.1.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedError {
    /// Cause code, as IANA assigns them; 0 if the peer has refused a change of addresses.
    pub code: u16,
    /// The value of the cause as it arrived, at most its first 256 bytes.
    pub value: Vec<u8>,
    /// The cause for people, at most 256 bytes.
    pub text: String,
}

impl ReportedError {
    pub(crate) fn of(code: u16, value: &[u8], cause: &impl fmt::Display) -> Self {
        Self {
            code,
            value: value[..value.len().min(MAX_LENGTH)].to_vec(),
            text: PeerError::of(cause),
        }
    }

    /// The peer has refused a request.
    pub(crate) const fn refusal(text: String) -> Self {
        Self {
            code: 0,
            value: Vec::new(),
            text,
        }
    }
}

impl fmt::Display for ReportedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The causes of an ERROR or ABORT chunk as text, truncated if it is too long.
#[derive(Debug, Default)]
pub(crate) struct PeerError {
    text: String,
}

impl PeerError {
    pub(crate) fn of(cause: &impl fmt::Display) -> String {
        let mut error = Self::default();
        error.add(cause);
        error.finish()
    }

    /// What an application gave as its reason, if that is any text.
    pub(crate) fn said(reason: &[u8]) -> Option<String> {
        let mut error = Self::default();
        // An error means that the text is full.
        let _ = error.write_str(&String::from_utf8_lossy(reason));
        Some(error.finish()).filter(|text| !text.is_empty())
    }

    pub(crate) fn add(&mut self, cause: &impl fmt::Display) {
        let separator = if self.text.is_empty() { "" } else { ", " };
        // An error means that the text is full.
        let _ = write!(self, "{separator}{cause}");
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

impl fmt::Write for PeerError {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| self.write_char(character))
    }

    fn write_char(&mut self, character: char) -> fmt::Result {
        if self.text.len() + character.len_utf8() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.text.push(character);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, PeerError};

    #[test]
    fn long_causes_are_truncated_between_characters() {
        let mut error = PeerError::default();
        error.add(&"too late");
        error.add(&"…".repeat(MAX_LENGTH));
        let text = error.finish();
        assert!(text.starts_with("too late, …") && text.ends_with('…'), "{text}");
        assert!((MAX_LENGTH - 2..=MAX_LENGTH).contains(&text.len()));
    }

    #[test]
    fn reason_of_an_application_is_its_text_or_absent() {
        assert_eq!(PeerError::said("zu spät".as_bytes()).as_deref(), Some("zu spät"));
        assert_eq!(PeerError::said(b""), None);
        let long = PeerError::said("…".repeat(MAX_LENGTH).as_bytes());
        assert_eq!(long.map(|text| text.len()), Some(MAX_LENGTH / 3 * 3));
    }
}
