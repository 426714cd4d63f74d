//! How much may be in flight on each path?
//!
//! | name | idea | couples paths |
//! |---|---|---|
//! | `cmt` | RFC 9260 on each path alone | no |
//! | `reno` | RFC 5681 on each path alone, as TCP does | no |
//! | `cubic` | window as a cubic function of time since the last loss | no |
//! | `cmt-rpv1` | one step for all paths together, shared by slow-start thresholds; losses cut half of the sum | yes |
//! | `cmt-rpv2` | the same, shared by rates | yes |
//! | `lia` | all paths together take no more than one flow would on the best of them | yes |
//! | `olia` | the same, balanced as theory asks, and quick to move to a better path | yes |
//! | `balia` | between the two: steps and cuts depend on how a path compares with the best | yes |
//! | `fixed` | constant | no |

mod balia;
mod cmt;
mod coupled;
mod cubic;
mod fixed;
mod growth;
mod hystart;
mod independent;
mod lia;
mod olia;
mod partial;
mod reno;
mod rpv1;
mod rpv2;
mod window;

pub use balia::{BalancedAdaptation, Balia};
pub use cmt::{Cmt, CmtParameters, CmtState};
pub use coupled::{Coupled, CoupledParameters, Coupling, Group, Groups, Member, Part};
pub use cubic::{Cubic, CubicParameters, CubicState};
pub use fixed::{Fixed, FixedParameters};
pub use growth::Growth;
pub use independent::{Acked, Independent, SinglePath};
pub use lia::{Lia, LinkedIncreases};
pub use olia::{Olia, OpportunisticIncreases};
pub use reno::{Reno, RenoParameters, RenoState};
pub use rpv1::{CmtRpV1, ThresholdShares};
pub use rpv2::{CmtRpV2, RateShares};
