//! What can be set of the ways of the core that are chosen by name, but are no policies?

mod rto;
mod sack;

pub use rto::RtoParameters;
pub use sack::{
    GapLimitParameters, OutstandingArrayParameters, SackWindowParameters, SlidingWindowParameters,
};
