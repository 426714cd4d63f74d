//! Stream schedulers. Which stream sends next (RFC 8260 §3)?
//!
//! | name | order |
//! |---|---|
//! | `fcfs` | messages in the order of submission |
//! | `rr` | round robin, one message per turn |
//! | `rr-packet` | round robin, one packet per turn |
//! | `priority` | the stream with the highest priority, round robin among equals |
//! | `fair-bandwidth` | the same number of bytes for each stream |
//! | `wfq` | weighted fair queueing: bytes in proportion to weights |
//! | `fixed-map` | each stream is mapped to a path by a table |
//! | `dynamic-map` | each stream is mapped to a path by measured rates and demands |
//!
//! With `wfq`, streams may be bound to one path, or to the fastest ones ([`crate::PathUse`]); other schedulers ignore that.
//!
//! The two maps observe the paths ([`crate::StreamScheduler::observe`]); a path to which no stream is mapped can take
//! no data.
//!
//! With message interleaving (RFC 8260 §2) the core calls before each chunk, without it between messages only. No
//! scheduler needs to distinguish the two: a turn is one chunk with interleaving and one message without.

mod bound;
mod dynamic_map;
mod fair_bandwidth;
mod fcfs;
mod fixed_map;
mod path_queues;
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
