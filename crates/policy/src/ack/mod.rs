//! When is a SACK sent?
//!
//! | name | idea |
//! |---|---|
//! | `rfc9260` | every second packet or 200 ms; at once while there are gaps |
//! | `immediate` | every packet |
//! | `dac` | every second packet or 200 ms, gaps or not, with the number of packets on it |
//! | `qr-dac` | the same, and every packet while something is lost and not just late |

mod dac;
mod delay;
mod immediate;
mod qr_dac;
mod rfc9260;

pub use dac::Dac;
pub use delay::DelayParameters;
pub use immediate::Immediate;
pub use qr_dac::QrDac;
pub use rfc9260::Rfc9260;

#[cfg(test)]
mod tests;
