//! Which path takes the next packet of new data, or is waiting better?
//!
//! | name | idea |
//! |---|---|
//! | `primary` | one path at a time: the primary, another only while that one is down |
//! | `round-robin` | fill one path after the other, beginning with another one each time |
//! | `min-rtt` | the fastest path that has room |
//! | `largest-space` | the path with the most free window |
//! | `ecf` | the fastest path that has room, or wait for a faster one that would be done sooner |
//! | `blest` | the fastest path that has room, or wait for a faster one that it would block |
//! | `stream-mapped` | any path on which a stream may go, for streams that are bound to paths |
//! | `capacity` | the fastest path that is not congested, or wait if all would lose packets |
//! | `in-order-arrival` | the path on which it arrives first, waiting included; what is behind may leave before |
//! | `redundant` | the fastest path that has room, and copies on all others |

mod blest;
mod capacity;
mod ecf;
mod in_order_arrival;
mod largest_space;
mod min_rtt;
mod primary;
mod redundant;
mod round_robin;
mod stream_mapped;

pub use blest::{Blest, BlestParameters};
pub use capacity::{Capacity, CapacityParameters};
pub use ecf::{Ecf, EcfParameters};
pub use in_order_arrival::{InOrderArrival, InOrderArrivalParameters};
pub use largest_space::LargestSpace;
pub use min_rtt::MinRtt;
pub use primary::Primary;
pub use redundant::{Redundant, RedundantParameters};
pub use round_robin::RoundRobin;
pub use stream_mapped::StreamMapped;

use core::time::Duration;

use crate::math::mul_div;
use crate::{PathFacts, may_carry_data};

/// The paths that may take a packet of new data now.
fn open(paths: &[PathFacts]) -> impl Iterator<Item = &PathFacts> {
    paths
        .iter()
        .filter(|path| path.sendable > 0 && may_carry_data(path, paths))
}

/// The paths that may take one as soon as something is acknowledged on them.
fn full(paths: &[PathFacts]) -> impl Iterator<Item = &PathFacts> {
    paths
        .iter()
        .filter(|path| path.sendable == 0 && path.in_flight > 0 && may_carry_data(path, paths))
}

/// The one with the smallest smoothed round-trip time. One without a sample goes first, to get one.
fn fastest_of<'a>(paths: impl Iterator<Item = &'a PathFacts>) -> Option<&'a PathFacts> {
    paths.min_by_key(|path| (path.srtt, path.id))
}

/// `time · factor / divisor`, saturating.
fn times(time: Duration, factor: u64, divisor: u64) -> Duration {
    Duration::from_nanos(mul_div(nanos(time), factor, divisor))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
