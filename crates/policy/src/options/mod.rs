//! Parameters of the core options, which are chosen by name but are no policies.

mod mtu;
mod rto;
mod sack;

pub use mtu::MtuSearchParameters;
pub use rto::RtoParameters;
pub use sack::{
    GapLimitParameters, OutstandingArrayParameters, SackWindowParameters, SlidingWindowParameters,
};
