//! How many packets may leave at once?
//!
//! | name | idea |
//! |---|---|
//! | `max-burst` | four on each occasion |
//! | `window-limiting` | the window shrinks to what is in flight and four |
//! | `unlimited` | as many as the window lets through |
//! | `paced` | spread over the round-trip time |

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
