//! Buffer splitting. How much of the shared send and receive buffer may a path hold?
//!
//! | name | limit |
//! |---|---|
//! | `none` | none |
//! | `sender` | each of n paths holds at most 1/n of the send buffer |
//! | `receiver` | each of n paths holds at most 1/n of the peer's receive buffer |
//! | `both` | both limits |

mod none;
mod split;

pub use none::Shared;
pub use split::{Counting, Side, Split, SplitBoth, SplitParameters, SplitReceiver, SplitSender};

#[cfg(test)]
mod tests;
