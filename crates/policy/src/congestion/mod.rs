//! How much may be in flight on each path?
//!
//! | name | idea | couples paths |
//! |---|---|---|
//! | `cmt` | RFC 9260 on each path alone | no |
//! | `cubic` | window as a cubic function of time since the last loss | no |
//! | `lia` | all paths together take no more than one flow would on the best of them | yes |
//! | `fixed` | constant | no |

mod cmt;
mod cubic;
mod fixed;
mod growth;
mod hystart;
mod independent;
mod lia;
mod partial;
mod window;

pub use cmt::{Cmt, CmtParameters, CmtState};
pub use cubic::{Cubic, CubicParameters, CubicState};
pub use fixed::{Fixed, FixedParameters};
pub use growth::Growth;
pub use independent::{Acked, Independent, SinglePath};
pub use lia::{Lia, LiaParameters};
