//! Custom policies, which are not in the catalog and replace policies of the recipe.

use alloc::sync::Arc;
use core::fmt;

use anabranch_policy::PolicySet;

/// A function that replaces policies of an association.
///
/// It is called once for each association, after the recipe's policies were built and before the first path is added.
///
/// ```
/// use anabranch_policy::path_scheduler::Primary;
/// use anabranch_policy::NoParameters;
/// use anabranch_proto::{AssociationConfig, OwnPolicies};
///
/// let config = AssociationConfig {
///     own_policies: Some(OwnPolicies::new(|policies| {
///         policies.path_scheduler = Box::new(Primary::new(NoParameters));
///     })),
///     ..AssociationConfig::default()
/// };
/// # let _ = config;
/// ```
#[derive(Clone)]
pub struct OwnPolicies(Arc<dyn Fn(&mut PolicySet) + Send + Sync>);

impl OwnPolicies {
    /// Replaces policies by calling `replace` with the set of each new association.
    pub fn new(replace: impl Fn(&mut PolicySet) + Send + Sync + 'static) -> Self {
        Self(Arc::new(replace))
    }

    pub(crate) fn replace_in(&self, policies: &mut PolicySet) {
        (self.0)(policies);
    }
}

/// Equal if they are clones of each other.
impl PartialEq for OwnPolicies {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for OwnPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnPolicies")
    }
}
