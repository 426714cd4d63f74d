//! Parameters of the core options, which are chosen by name but are no policies.

mod mtu;
mod probing;
mod rto;
mod sack;

pub use mtu::MtuSearchParameters;
pub use probing::ProbingParameters;
pub use rto::RtoParameters;
pub use sack::{
    GapLimitParameters, OutstandingArrayParameters, SackWindowParameters, SlidingWindowParameters,
};
