//! What does the peer say is wrong, in words that cost little to keep?

use alloc::string::String;
use core::fmt::{self, Write as _};

/// The longest text in bytes that the application is told. A packet may quote 60 KB, and a thousand events may wait to be
/// read.
const LONGEST: usize = 256;

/// What the peer complains about, for the eyes of a human; cut where it becomes too long.
#[derive(Debug, Default)]
pub(crate) struct Complaint {
    text: String,
}

impl Complaint {
    pub(crate) fn of(cause: &impl fmt::Display) -> String {
        let mut complaint = Self::default();
        complaint.add(cause);
        complaint.finish()
    }

    pub(crate) fn add(&mut self, cause: &impl fmt::Display) {
        let separator = if self.text.is_empty() { "" } else { ", " };
        // An error says that it is full.
        let _ = write!(self, "{separator}{cause}");
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

impl fmt::Write for Complaint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| self.write_char(character))
    }

    fn write_char(&mut self, character: char) -> fmt::Result {
        if self.text.len() + character.len_utf8() > LONGEST {
            return Err(fmt::Error);
        }
        self.text.push(character);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Complaint, LONGEST};

    #[test]
    fn several_causes_share_the_room_and_no_letter_is_cut_in_two() {
        let mut complaint = Complaint::default();
        complaint.add(&"too late");
        complaint.add(&"…".repeat(LONGEST));
        let text = complaint.finish();
        assert!(text.starts_with("too late, …") && text.ends_with('…'), "{text}");
        assert!((LONGEST - 2..=LONGEST).contains(&text.len()));
    }
}
