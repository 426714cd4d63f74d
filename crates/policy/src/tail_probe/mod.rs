//! Is the tail of what was sent still there? Nothing behind it would tell, but the T3 timer.
//!
//! | name | probes |
//! |---|---|
//! | `none` | never: the T3 timer finds a lost tail |
//! | `tlp` | after two round trips |

mod none;
mod tlp;

pub use none::Never;
pub use tlp::{Tlp, TlpParameters};

#[cfg(test)]
mod tests;
