//! The buffer is blocked: what moves to another path (chunk rescheduling)?
//!
//! | name | looks at |
//! |---|---|
//! | `none` | nothing: what was sent stays where it is |
//! | `sender` | the send buffer |
//! | `receiver` | the peer's receive buffer |
//! | `both` | both |
//! | `sar-modified` | both, and moves all that the path owes below the first gap |

mod none;
mod sar_modified;
mod threshold;

pub use none::Never;
pub use sar_modified::SarModified;
pub use threshold::{Shares, Threshold, ThresholdParameters, Watched};

#[cfg(test)]
mod tests;
