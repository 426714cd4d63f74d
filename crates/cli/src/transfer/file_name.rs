//! Safe file names. Under which name may a file from a peer be stored? The name must stay inside the folder on every
//! operating system and must not be displayed as a different name.

use std::fmt;

use thiserror::Error;

/// Maximum name length of common file systems, in bytes.
pub(super) const LONGEST: usize = 255;

/// Reserved device names on Windows, with any extension and in any case.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// A file name that can safely be joined to a folder's path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileName(String);

/// Why a name is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum BadName {
    /// The name is empty.
    #[error("the file name is empty")]
    Empty,
    /// The name is longer than 255 bytes.
    #[error("the file name is longer than 255 bytes")]
    TooLong,
    /// The name contains a path separator and could leave the folder.
    #[error("the file name contains a path separator")]
    Separator,
    /// Hidden files can configure programs, so a peer must not create one. This also covers `.` and `..`.
    #[error("the file name begins with a dot")]
    Dot,
    /// Terminals interpret control characters, and bidirectional marks make `gpj.exe` look like `exe.jpg`.
    #[error("the file name contains control characters")]
    Control,
    /// A leading or trailing space, or a trailing dot. Windows drops trailing ones silently, so two names can denote
    /// one file.
    #[error("the file name begins or ends with a blank, or ends with a dot")]
    Edge,
    /// A reserved device name such as `NUL` or `com1.txt`.
    #[error("the file name is that of a device on some systems")]
    Device,
}

impl FileName {
    /// # Errors
    ///
    /// See [`BadName`].
    pub(crate) fn parse(name: &str) -> Result<Self, BadName> {
        match name {
            "" => Err(BadName::Empty),
            _ if name.len() > LONGEST => Err(BadName::TooLong),
            _ if name.contains(['/', '\\']) => Err(BadName::Separator),
            _ if name.starts_with('.') => Err(BadName::Dot),
            _ if name
                .chars()
                .any(|letter| letter.is_control() || is_invisible(letter)) =>
            {
                Err(BadName::Control)
            }
            _ if name.trim() != name || name.ends_with('.') => Err(BadName::Edge),
            _ if is_device(name) => Err(BadName::Device),
            _ => Ok(Self(name.to_owned())),
        }
    }

    #[cfg(test)]
    fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Invisible characters for direction, line breaks and width that change how a name is displayed.
pub(crate) const fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    let is_port = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|number| {
            number.chars().count() == 1
                && number != "0"
                && !number.is_empty()
                && number
                    .chars()
                    .all(|digit| digit.is_ascii_digit() || "¹²³".contains(digit))
        })
    };
    DEVICES.contains(&stem.as_str()) || is_port("com") || is_port("lpt")
}

#[cfg(test)]
mod tests;
