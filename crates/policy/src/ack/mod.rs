//! Ack policies. When is a SACK sent (RFC 9260 §6.2)?
//!
//! | name | sends a SACK |
//! |---|---|
//! | `rfc9260` | for every second packet or after 200 ms; at once while there are gaps |
//! | `immediate` | for every packet |
//! | `dac` | for every second packet or after 200 ms, gaps or not, with the number of packets in it |
//! | `qr-dac` | the same, and for every packet while something is lost and not just late |

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
