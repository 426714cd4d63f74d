//! Burst limits. How many packets may be sent at once?
//!
//! | name | limit |
//! |---|---|
//! | `max-burst` | four per transmission opportunity |
//! | `window-limiting` | the cwnd is reduced to the bytes in flight plus four packets |
//! | `unlimited` | the cwnd |
//! | `paced` | paced over the round-trip time |

mod max_burst;
mod paced;
mod unlimited;
mod window_limiting;

pub use max_burst::{MaxBurst, MaxBurstParameters};
pub use paced::Paced;
pub use unlimited::Unlimited;
pub use window_limiting::WindowLimiting;

#[cfg(test)]
mod tests;
