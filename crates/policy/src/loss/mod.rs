//! Which outstanding chunks are lost?
//!
//! | name | idea |
//! |---|---|
//! | `miss-count`, also `sfr` | three miss indications, counted on each path alone |
//! | `miss-count-association` | three miss indications, whatever path they come from: no SFR, for comparison |

mod association;
mod miss_count;
mod watermarks;

pub use association::MissCountAssociation;
pub use miss_count::{FastRetransmitOnce, MissCount, MissCountParameters};

#[cfg(test)]
mod tests;
