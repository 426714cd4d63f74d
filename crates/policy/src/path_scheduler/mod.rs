//! Path schedulers. Which path takes the next packet of new data, or is waiting better?
//!
//! | name | chooses |
//! |---|---|
//! | `primary` | the primary path; another one only while that one has failed |
//! | `round-robin` | fills one path after the other, beginning with another one each time |
//! | `min-rtt` | the path with the lowest smoothed RTT that can take data |
//! | `largest-space` | the path with the largest cwnd minus bytes in flight |
//! | `ecf` | the fastest path that can take data, or waits for a faster one that would finish sooner |
//! | `blest` | the fastest path that can take data, or waits for a faster one that it would block |
//! | `within-window` | the path that delivers first, unless the others would use up the send window meanwhile |
//! | `stream-mapped` | any path that a stream is mapped to |
//! | `capacity` | the fastest path below its estimated capacity, or waits if all would lose packets |
//! | `in-order-arrival` | the path on which the data arrives first, waiting included; later data may be sent before |
//! | `redundant` | the fastest path that can take data, with a duplicate of each chunk on all others |

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
mod within_window;

pub use blest::{Blest, BlestParameters};
pub use capacity::{Capacity, CapacityParameters};
pub use ecf::{Ecf, EcfParameters};
pub use in_order_arrival::{InOrderArrival, InOrderArrivalParameters};
pub use largest_space::LargestSpace;
pub use min_rtt::MinRtt;
pub use primary::Primary;
pub(crate) use redundant::leaves_a_quarter;
pub use redundant::{Redundant, RedundantParameters};
pub use round_robin::RoundRobin;
pub use stream_mapped::StreamMapped;
pub use within_window::{WithinWindow, WithinWindowParameters};

use core::time::Duration;

use crate::math::mul_div;
use crate::{PathFacts, may_carry_data};

/// The paths that can take a packet of new data now.
fn open(paths: &[PathFacts]) -> impl Iterator<Item = &PathFacts> {
    paths
        .iter()
        .filter(|path| path.sendable > 0 && may_carry_data(path, paths))
}

/// The paths that can take one as soon as something is acknowledged on them.
fn full(paths: &[PathFacts]) -> impl Iterator<Item = &PathFacts> {
    paths
        .iter()
        .filter(|path| path.sendable == 0 && path.in_flight > 0 && may_carry_data(path, paths))
}

/// The path with the smallest smoothed RTT. A path without a sample comes first, to get one.
fn fastest_of<'a>(paths: impl Iterator<Item = &'a PathFacts>) -> Option<&'a PathFacts> {
    paths.min_by_key(|path| (path.srtt(), path.id))
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
