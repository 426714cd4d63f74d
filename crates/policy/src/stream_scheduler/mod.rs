//! Whose bytes are next (RFC 8260 §3)?
//!
//! | name | idea |
//! |---|---|
//! | `fcfs` | messages leave in the order in which the application handed them over |
//! | `rr` | streams take turns, one message each |

mod fcfs;
mod ready;
mod round_robin;

pub use fcfs::FirstCome;
pub use round_robin::RoundRobin;

#[cfg(test)]
mod tests;
