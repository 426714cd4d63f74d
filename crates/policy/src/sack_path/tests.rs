//! What distinguishes the paths of SACKs.

use anabranch_types::PathId;

use super::{DataSource, Primary};
use crate::parameters::NoParameters;
use crate::testing::healthy;
use crate::{Reachability, SackPath};

#[test]
fn data_source_answers_where_it_was_asked() {
    let paths = [healthy(0), healthy(1)];
    assert_eq!(DataSource::new(NoParameters).path(PathId(1), &paths), PathId(1));
}

#[test]
fn primary_answers_on_the_primary_path_while_that_works() {
    let mut paths = [healthy(0), healthy(1)];
    let mut policy = Primary::new(NoParameters);
    assert_eq!(policy.path(PathId(1), &paths), PathId(0));
    paths[0].reachability = Reachability::Inactive;
    assert_eq!(policy.path(PathId(1), &paths), PathId(1));
}
