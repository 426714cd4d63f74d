//! Which acknowledgements tell how long a round trip takes?
//!
//! RFC 9260 §6.3.1 lets every acknowledgement of a chunk that was sent once measure the path of the chunk. With
//! several paths the SACK may have come home over another one, and then it measured half of each.
//!
//! | name | a sample comes from |
//! |---|---|
//! | `any-path` | any SACK |
//! | `own-path` | a SACK that came over the path of the chunk; from any while there is nothing better |
//! | `slow-path-rtt` | a SACK that came over the path of the chunk, even one that was overtaken |
//! | `is-rtt` | the same, of a probe: one chunk in a round trip that asks to be acknowledged at once |
//!
//! Heartbeats and the handshake measure in any case: their answers come back the same way.

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
