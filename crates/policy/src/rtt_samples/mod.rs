//! RTT sampling. Which acknowledgements are round-trip time samples?
//!
//! RFC 9260 §6.3.1 lets every acknowledgement of a chunk that was sent once measure the path of the chunk. With
//! several paths the SACK may have returned over another path; then it measured half of each.
//!
//! | name | a sample comes from |
//! |---|---|
//! | `any-path` | any SACK |
//! | `own-path` | a SACK that arrived over the path of the chunk; from any while there is nothing better |
//! | `slow-path-rtt` | a SACK that arrived over the path of the chunk, even one that was overtaken |
//! | `is-rtt` | the same, of a probe: one chunk per round trip that carries the I bit |
//!
//! Heartbeats and the handshake give samples in any case: their responses return over the same path.

mod any_path;
mod is_rtt;
mod overtaken;
mod own_path;
mod slow_path;

pub use any_path::AnyPath;
pub use is_rtt::IsRtt;
pub use own_path::{OwnPath, OwnPathParameters};
pub use slow_path::SlowPathRtt;

#[cfg(test)]
mod tests;
