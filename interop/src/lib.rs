//! Interoperability tests with other stacks, checked by dissectors. Do others understand us, and we them?
//!
//! | file | what |
//! |---|---|
//! | `messages` | numbered test messages and an inbox that checks them |
//! | `core` | cores in virtual time: ours, dcsctp, sctp-proto |
//! | `core_pair` | two cores with a lossy link between them, captured |
//! | `host` | our core on UDP or raw sockets, captured |
//! | `recording` | capture of the packets of an endpoint of the library |
//! | `stack` | usrsctp, pion and aiortc, in the programs of `peers/` |
//! | `peer` | starting those programs and reading their reports |
//! | `namespace` | two hosts with several links between them |
//! | `kernel` | Linux' TCP and MPTCP in a network namespace |
//! | `tcp_host` | our TCP opposite the kernel's, over simulated links in real time |
//! | `dissect` | checks by our own dissector |
//! | `tshark` | checks by tshark |
//! | `tools` | external programs, and what to do if one is missing |

pub mod core;
pub mod core_pair;
mod dissect;
mod host;
mod kernel;
mod messages;
mod namespace;
mod peer;
mod recording;
mod stack;
mod tcp_host;
pub mod tools;
mod tshark;

pub use host::Host;
pub use kernel::{Device, Kernel, MultipathRole};
pub use messages::{Inbox, Workload, payload};
pub use namespace::Hosts;
pub use peer::{Peer, Report};
pub use recording::Recording;
pub use stack::Stack;
pub use tcp_host::TcpHost;
pub use tshark::TsharkReport;
