//! Safe paths of entries. Where in the folder of the receiver may an entry of a transfer be stored? Below one new name.
//!
//! The first name of a path follows the rules of [`FileName`]. The names below it lie in a folder that the transfer itself
//! creates, where hidden files and names of devices of other systems are ordinary.

use std::fmt;

use thiserror::Error;

use super::file_name::{BadName, FileName, LONGEST as LONGEST_NAME};

/// Maximum length of a path in bytes, and of the target of a link.
const LONGEST: usize = 4_095;

/// Maximum number of names in a path: folders are moved and removed level by level, with an open folder for each.
const DEEPEST: usize = 256;

/// A relative path of names that are separated by `/`; none of them is `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TreePath(String);

/// Why a path is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum BadPath {
    #[error("{0}")]
    Top(#[from] BadName),
    #[error("the path is longer than {LONGEST} bytes, or a name in it is longer than {LONGEST_NAME}")]
    TooLong,
    #[error("it lies more than {DEEPEST} folders deep; send the lower ones by themselves, or as an archive")]
    TooDeep,
    #[error("a name in the path is empty, . or ..")]
    Step,
    #[error("a name in the path contains control characters")]
    Control,
}

impl TreePath {
    /// # Errors
    ///
    /// See [`BadPath`].
    pub(crate) fn parse(path: &str) -> Result<Self, BadPath> {
        if path.len() > LONGEST {
            return Err(BadPath::TooLong);
        }
        if path.split('/').count() > DEEPEST {
            return Err(BadPath::TooDeep);
        }
        let mut names = path.split('/');
        FileName::parse(names.next().unwrap_or_default())?;
        for name in names {
            match name {
                "" | "." | ".." => return Err(BadPath::Step),
                _ if name.len() > LONGEST_NAME => return Err(BadPath::TooLong),
                _ if name.chars().any(is_misleading) => return Err(BadPath::Control),
                _ => {}
            }
        }
        Ok(Self(path.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The first name, which is the one in the folder of the receiver.
    pub(crate) fn top(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// Whether the path is a single name.
    pub(crate) fn is_top(&self) -> bool {
        !self.0.contains('/')
    }

    /// The names of the folders above the entry, from the top.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &str> {
        let above = self.0.rsplit_once('/').map(|(above, _)| above);
        above.into_iter().flat_map(|above| above.split('/'))
    }

    /// The last name.
    pub(crate) fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether a symbolic link at this path with this target leads to something below [`Self::top`].
    ///
    /// `..` counts only at the beginning of the target: there it leads through real folders, but behind the name of another link it
    /// could lead anywhere.
    pub(crate) fn keeps_inside(&self, target: &str) -> bool {
        let above = self.parents().count();
        let ups = target.split('/').take_while(|step| *step == "..").count();
        let is_plain = |step: &str| !matches!(step, "" | "..");
        ups < above && !target.is_empty() && target.split('/').skip(ups).all(is_plain)
    }
}

/// Whether a target of a link can be made and shown.
pub(crate) fn is_target(target: &str) -> bool {
    (1..=LONGEST).contains(&target.len()) && !target.chars().any(is_misleading)
}

/// Control characters, and those that change the direction in which a name is displayed.
fn is_misleading(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_a_tree_is_unchanged() {
        for path in [
            "a",
            "a/.git/config",
            "a/aux.c",
            "a/b c./ x",
            "a/dev\\x2d",
            "a/\u{1f469}\u{200d}\u{1f4bb}.png",
        ] {
            assert_eq!(TreePath::parse(path).unwrap().as_str(), path);
        }
        let path = TreePath::parse("a/b/c").unwrap();
        assert_eq!((path.top(), path.name(), path.is_top()), ("a", "c", false));
        assert_eq!(path.parents().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(TreePath::parse("a").unwrap().parents().count(), 0);
    }

    #[test]
    fn path_that_leaves_the_folder_is_refused() {
        for path in [
            "",
            "/",
            "/a",
            "..",
            ".",
            "../a",
            "a/..",
            "a/../b",
            "a/./b",
            "a//b",
            "a/",
            ".a",
            ".a/b",
            "a/\0",
            "a/\n",
            "a/\u{202e}gpj.exe",
            "nul/a",
        ] {
            assert!(TreePath::parse(path).is_err(), "{path:?}");
        }
        assert_eq!(TreePath::parse(&"a/".repeat(3_000)), Err(BadPath::TooLong));
        assert!(TreePath::parse(&format!("{}a", "a/".repeat(255))).is_ok());
        assert_eq!(
            TreePath::parse(&format!("{}a", "a/".repeat(256))),
            Err(BadPath::TooDeep)
        );
        assert_eq!(
            TreePath::parse(&format!("a/{}", "b".repeat(256))),
            Err(BadPath::TooLong)
        );
    }

    #[test]
    fn link_is_inside_if_its_target_is_below_the_top() {
        let path = TreePath::parse("top/folder/link").unwrap();
        for target in ["file", "x/y", "../other", "..", "./a"] {
            assert!(path.keeps_inside(target), "{target}");
        }
        for target in [
            "/etc/passwd",
            "../..",
            "../../other",
            "x/../..",
            "x/..",
            "",
            "a//b",
        ] {
            assert!(!path.keeps_inside(target), "{target}");
        }
        assert!(!TreePath::parse("link").unwrap().keeps_inside("other"));
    }
}
