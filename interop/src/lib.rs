//! Do others understand us, and we them? Conversations with real peers over real sockets, judged by a dissector.
//!
//! | file | what |
//! |---|---|
//! | `core` | cores in virtual time: ours, dcsctp, sctp-proto |
//! | `letters` | messages that are recognised when they arrive |
//! | `meeting` | two cores and a bad link, everything that passes recorded |
//! | `host` | our core on a UDP socket, everything that passes recorded |
//! | `tsctp` | usrsctp's test program as a peer |
//! | `verdict` | tshark's opinion of what was recorded |
//! | `tools` | what happens if one of these programs is missing |

pub mod core;
mod host;
mod letters;
pub mod meeting;
mod tools;
mod tsctp;
mod verdict;

pub use host::Host;
pub use letters::{Inbox, Plan, payload};
pub use tools::{Tools, free_udp_port};
pub use tsctp::Tsctp;
pub use verdict::Verdict;
