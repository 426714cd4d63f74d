//! What programs give to the sockets library beside messages: the first byte selects the kind.

use anabranch_sctp::fuzz;

/// Parses it.
///
/// # Panics
///
/// The system denies descriptors.
pub fn exercise(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, control)) => fuzz::ancillary(control),
        Some((1, addresses)) => fuzz::addresses(addresses),
        Some((_, calls)) => fuzz::options(calls).expect("descriptors for two sockets"),
        None => {}
    }
}
