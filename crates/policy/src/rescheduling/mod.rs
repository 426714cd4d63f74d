//! Chunk rescheduling. A buffer is blocked: which chunks move to another path?
//!
//! | name | watches |
//! |---|---|
//! | `none` | nothing: chunks stay on their path |
//! | `sender` | the send buffer |
//! | `receiver` | the peer's receive buffer |
//! | `both` | both |
//! | `sar-modified` | both, and moves all chunks of the path below the first gap |

mod none;
mod sar_modified;
mod threshold;

pub use none::Never;
pub use sar_modified::{SarModified, SarModifiedParameters};
pub use threshold::{Shares, Threshold, ThresholdParameters, Watched};

#[cfg(test)]
mod tests;
