//! Bottleneck groups. Which paths are coupled, because they share a bottleneck or may do so?

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use anabranch_types::PathId;

use crate::parameters::{Refused, Text};

/// Largest number of paths in the list.
const LISTED: usize = 16;

/// The group of each path.
///
/// By default all paths are in group 0, as in RFC 6356. Paths beyond the list belong to group 0 too: it is not known
/// that they share no bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Groups([u8; LISTED]);

impl Groups {
    /// All paths in one group.
    pub const TOGETHER: Self = Self([0; LISTED]);
    /// Each path in a group of its own, so that nothing is coupled. Covers the first 16 paths.
    pub const SEPARATE: Self = {
        let mut groups = [0; LISTED];
        let mut path = 0;
        while path < LISTED {
            groups[path] = path as u8;
            path += 1;
        }
        Self(groups)
    };

    /// The group of `path`.
    #[must_use]
    pub fn of(&self, path: PathId) -> u8 {
        self.0.get(path.index()).copied().unwrap_or_default()
    }
}

/// A list as users type it: `0,0,1`.
impl Text for Groups {
    fn read(&mut self, text: &str) -> Result<(), Refused> {
        let mut groups = Self::default();
        for (index, number) in text.split(',').enumerate() {
            let slot = groups.0.get_mut(index).ok_or(Refused::Value)?;
            *slot = number.parse().map_err(|_| Refused::Value)?;
        }
        *self = groups;
        Ok(())
    }

    /// Without trailing zeros, which are the default.
    fn write(&self) -> String {
        let said = self.0.iter().rposition(|group| *group != 0).unwrap_or(0);
        let numbers = self.0[..=said].iter().map(ToString::to_string);
        numbers.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use anabranch_types::PathId;

    use super::Groups;
    use crate::parameters::{Refused, Text};

    #[test]
    fn unlisted_paths_belong_to_group_0() {
        let mut groups = Groups::SEPARATE;
        groups.read("0,0,1,7").unwrap();
        let of = |path| groups.of(PathId(path));
        assert_eq!([of(0), of(1), of(2), of(3), of(4), of(200)], [0, 0, 1, 7, 0, 0]);
        assert_eq!(groups.write(), "0,0,1,7");
        assert_eq!(Groups::default().of(PathId(3)), 0);
        assert_eq!(Groups::default().write(), "0");
        assert_eq!(Groups::SEPARATE.of(PathId(3)), 3);
    }

    #[test]
    fn a_wrong_list_changes_nothing() {
        let mut groups = Groups::SEPARATE;
        for wrong in ["", "0,", "a", "256", "0 1", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"] {
            assert_eq!(groups.read(wrong), Err(Refused::Value), "{wrong}");
        }
        assert_eq!(groups, Groups::SEPARATE);
    }
}
