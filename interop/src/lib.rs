//! Do others understand us, and we them? Conversations with stacks that nobody here wrote, judged by a dissector.
//!
//! | file | what |
//! |---|---|
//! | `letters` | messages that are recognised when they arrive |
//! | `core` | cores in virtual time: ours, dcsctp, sctp-proto |
//! | `meeting` | two cores and a bad link, everything that passes recorded |
//! | `host` | our core on UDP sockets, everything that passes recorded |
//! | `stack` | usrsctp, pion and aiortc, in the programs of `peers/` |
//! | `peer` | how those are spoken to |
//! | `namespace` | two hosts with several cables between them |
//! | `kernel` | the TCP of the system, in a network namespace of its own |
//! | `tcp_host` | our TCP before it, over links of the simulator in real time |
//! | `dissect` | our own dissector's opinion |
//! | `verdict` | tshark's opinion of what was recorded |
//! | `tools` | what happens if a program is missing |

pub mod core;
mod dissect;
mod host;
mod kernel;
mod letters;
pub mod meeting;
mod namespace;
mod peer;
mod stack;
mod tcp_host;
pub mod tools;
mod verdict;

pub use host::Host;
pub use kernel::{Kernel, Line, MultipathRole};
pub use letters::{Inbox, Plan, payload};
pub use namespace::Hosts;
pub use peer::{Peer, Report};
pub use stack::Stack;
pub use tcp_host::TcpHost;
pub use verdict::Verdict;
