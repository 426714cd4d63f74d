//! Shared bottlenecks. Which paths share one, so that their windows are to be coupled?
//!
//! | name | paths that share a bottleneck |
//! |---|---|
//! | `none` | no detection: uncoupled congestion controls treat all paths separately, coupled ones together |
//! | `same-queue` | those whose round-trip times rise and fall together, by the same amount |

mod none;
mod pair;
mod same_queue;

pub use none::NoDetection;
pub use same_queue::{SameQueue, SameQueueParameters};

#[cfg(test)]
mod tests;
