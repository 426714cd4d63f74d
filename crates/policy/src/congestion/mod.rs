//! Congestion control. How much may be in flight on each path (RFC 9260 §7.2)?
//!
//! | name | algorithm | couples paths |
//! |---|---|---|
//! | `cmt` | RFC 9260 on each path separately | if known to share a bottleneck |
//! | `reno` | RFC 5681 (TCP) on each path separately | if known to share a bottleneck |
//! | `cubic` | cwnd as a cubic function of the time since the last loss | if known to share a bottleneck |
//! | `bbr` | cwnd and pacing rate from a model of the path (version 3) | no |
//! | `bbr-v1` | the same, as Linux' `tcp_bbr` (version 1) | no |
//! | `loss-differentiating` | `cubic`, and `bbr` with a loss floor while losses come without a queue | if known to share a bottleneck |
//! | `cmt-rpv1` | one increase for all paths together, shared by ssthresh; a loss cuts half of the sum of cwnd | yes |
//! | `cmt-rpv2` | the same, shared by rates | yes |
//! | `lia` | all paths together take no more than one flow would on the best of them | yes |
//! | `olia` | the same, with load shifted to paths that deliver more between losses | yes |
//! | `balia` | between the two: increases and cuts depend on the rate relative to the best path | yes |
//! | `fixed` | constant cwnd | no |

mod balia;
mod bbr;
mod cmt;
mod coupled;
mod cubic;
mod fixed;
mod growth;
mod hystart;
mod independent;
mod lia;
mod loss_differentiating;
mod mean_rtt;
mod olia;
mod one_flow;
mod partial;
mod reno;
mod rpv1;
mod rpv2;
mod window;

pub use balia::{BalancedAdaptation, Balia};
pub use bbr::{
    Bbr, BbrParameters, BbrState, BbrV1, BbrV1Parameters, BbrV1State, DeliveryRate, Flight, Modelled,
    Observation, Outcome, PathContext, PathModel, RateSample,
};
pub use cmt::{Cmt, CmtParameters, CmtState};
pub use coupled::{Coupled, CoupledParameters, Coupling, Group, Groups, Member, Part};
pub use cubic::{Cubic, CubicParameters, CubicState};
pub use fixed::{Fixed, FixedParameters};
pub use growth::Growth;
pub use independent::{Acked, Independent, SinglePath};
pub use lia::{Lia, LinkedIncreases};
pub use loss_differentiating::{LossDifferentiating, LossDifferentiatingParameters};
pub use olia::{Olia, OpportunisticIncreases};
pub use reno::{Reno, RenoParameters, RenoState};
pub use rpv1::{CmtRpV1, ThresholdShares};
pub use rpv2::{CmtRpV2, RateShares};
