//! BBR congestion control: cwnd and pacing rate from a model of the path, not from single losses.
//!
//! | file | question |
//! |---|---|
//! | `delivery_rate` | how fast does the path deliver? |
//! | `min_rtt` | how long does it take without a queue? |
//! | `filters` | rounds, maxima, aggregation, full pipe |
//! | `modelled` | a model on each path of an association |
//! | `version3` | BBR as draft-ietf-ccwg-bbr describes it |
//! | `version1` | BBR as Linux' `tcp_bbr` has it |

mod delivery_rate;
mod filters;
mod min_rtt;
mod modelled;
#[cfg(test)]
mod testing;
mod version1;
mod version3;

pub use delivery_rate::{DeliveryRate, Flight, RateSample};
pub use modelled::{Modelled, Observation, Outcome, PathContext, PathModel};
pub use version1::{BbrV1, BbrV1Parameters, BbrV1State};
pub use version3::{Bbr, BbrParameters, BbrState};
