//! Tail loss probe. When is a packet sent to find out whether the last data was lost?
//!
//! | name | probes |
//! |---|---|
//! | `none` | never: the T3-rtx timer detects a lost tail |
//! | `tlp` | after two round trips without an acknowledgement |

mod none;
mod tlp;

pub use none::Never;
pub use tlp::{Tlp, TlpParameters};

#[cfg(test)]
mod tests;
