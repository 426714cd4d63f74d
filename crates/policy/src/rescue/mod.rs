//! The buffer is blocked: what moves to another path (chunk rescheduling)?
//!
//! | name | looks at |
//! |---|---|
//! | `none` | nothing: what was sent stays where it is |
//! | `sender` | the send buffer |
//! | `receiver` | the peer's receive buffer |
//! | `both` | both |

mod none;
mod threshold;

pub use none::Never;
pub use threshold::{Threshold, ThresholdParameters, Watched};

#[cfg(test)]
mod tests;
