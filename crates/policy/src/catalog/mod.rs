//! The catalog: all algorithms by extension point, with names, sources and parameters.
//!
//! One line in the list of its extension point registers an algorithm: from the lists come the types that recipes are
//! made of, construction by name, the documentation and the property tests.

mod choice;
mod options;
mod policies;

use crate::parameters::Parameter;

pub use choice::{Choice, PolicyChoice};
pub use options::*;
pub use policies::*;

/// One algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Algorithm {
    /// The name that users type.
    pub name: &'static str,
    /// Its effect, in one line.
    pub summary: &'static str,
    /// Its source; begins with `our reading of` if the source leaves the definition open.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// One kind of mechanism and the algorithms for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtensionPoint {
    /// The name that users type.
    pub name: &'static str,
    /// Its decision, as a question.
    pub description: &'static str,
    /// The algorithms to choose from.
    pub algorithms: &'static [Algorithm],
}

pub use crate::recipe::CATALOG;
