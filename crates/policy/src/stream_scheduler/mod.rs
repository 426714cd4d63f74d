//! Whose bytes are next (RFC 8260 §3)?
//!
//! | name | idea |
//! |---|---|
//! | `fcfs` | messages leave in the order in which the application handed them over |
//! | `rr` | streams take turns, one message each |
//! | `rr-packet` | streams take turns, one packet each |
//! | `priority` | the stream with the most urgent priority, streams of equal priority in turn |
//! | `fair-bandwidth` | each stream gets as many bytes as any other |
//! | `wfq` | each stream gets bytes in proportion to its weight |
//! | `fixed-map` | each stream keeps to the path that a table gives it |
//! | `dynamic-map` | each stream keeps to a path, found by the rates of paths and the demands of streams |
//!
//! The maps are told of the paths ([`crate::StreamScheduler::observe`]); a path on which no stream may go has no room.
//!
//! With message interleaving (RFC 8260 §2) the core asks before each chunk, without it between messages only. No
//! scheduler needs to know: what is a turn of one chunk with it is a turn of one message without.

mod dynamic_map;
mod fair_bandwidth;
mod fcfs;
mod fixed_map;
mod lanes;
mod priority;
mod ready;
mod round_robin;
mod round_robin_packet;
mod shares;
mod weighted_fair;

pub use dynamic_map::DynamicMap;
pub use fair_bandwidth::FairBandwidth;
pub use fcfs::FirstCome;
pub use fixed_map::{FixedMap, FixedMapParameters, StreamMap};
pub use priority::Priority;
pub use round_robin::RoundRobin;
pub use round_robin_packet::RoundRobinPacket;
pub use weighted_fair::WeightedFair;

#[cfg(test)]
mod tests;
