//! Loss detection. Which outstanding chunks are lost?
//!
//! | name | a chunk is lost after |
//! |---|---|
//! | `miss-count`, also `sfr` | three miss indications, counted on each path separately |
//! | `miss-count-association` | three miss indications, whatever path they come from: no SFR, for comparison |
//! | `rack` | being overtaken on its path, and late by a part of a round trip |
//! | `reordering-aware` | three miss indications, or as with `rack` on paths where packets overtake one another |

mod association;
mod miss_count;
mod rack;
mod reordering;
mod watermarks;

pub use association::MissCountAssociation;
pub use miss_count::{FastRetransmitOnce, MissCount, MissCountParameters};
pub use rack::{Rack, RackParameters};
pub use reordering::{ReorderingAware, ReorderingParameters};

#[cfg(test)]
mod tests;
