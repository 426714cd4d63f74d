//! Which path takes the next packet of new data, or is waiting better?
//!
//! | name | idea |
//! |---|---|
//! | `primary` | one path at a time: the primary, another only while that one is down |
//! | `round-robin` | fill one path after the other, beginning with another one each time |
//! | `min-rtt` | the fastest path that has room |

mod min_rtt;
mod primary;
mod round_robin;

pub use min_rtt::MinRtt;
pub use primary::Primary;
pub use round_robin::RoundRobin;

use crate::{PathFacts, may_carry_data};

/// The paths that may take a packet of new data now.
fn open(paths: &[PathFacts]) -> impl Iterator<Item = &PathFacts> {
    paths
        .iter()
        .filter(|path| path.room > 0 && may_carry_data(path, paths))
}

#[cfg(test)]
mod tests;
