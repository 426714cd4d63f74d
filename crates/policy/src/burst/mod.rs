//! How many packets may leave at once?
//!
//! | name | idea |
//! |---|---|
//! | `max-burst` | four on each occasion |
//! | `unlimited` | as many as the window lets through |
//! | `paced` | spread over the round-trip time |

mod max_burst;
mod paced;
mod unlimited;

pub use max_burst::{MaxBurst, MaxBurstParameters};
pub use paced::Paced;
pub use unlimited::Unlimited;

#[cfg(test)]
mod tests;
