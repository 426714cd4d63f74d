//! Do others understand us, and we them? Conversations with real peers over real sockets, judged by a dissector.
//!
//! | file | what |
//! |---|---|
//! | `host` | our core on a UDP socket, everything that passes recorded |
//! | `tsctp` | usrsctp's test program as a peer |
//! | `verdict` | tshark's opinion of what was recorded |
//! | `tools` | what happens if one of these programs is missing |

mod host;
mod tools;
mod tsctp;
mod verdict;

pub use host::Host;
pub use tools::{Tools, free_udp_port};
pub use tsctp::Tsctp;
pub use verdict::Verdict;
