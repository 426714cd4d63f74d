//! Whose bytes go first? What each stream scheduler promises (RFC 8260 §3), on one path that is too slow for all.

use std::num::NonZeroU16;

use anabranch_policy::PolicyRecipe;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_types::{Instant, StreamId};
use anabranch_wire::chunk::kind;

use crate::story::{Setting, World, mbit, ms, secs};

fn scheduled_by(name: &str) -> Setting {
    let mut policies = PolicyRecipe::recommended();
    policies.set("stream-scheduler", name).unwrap();
    World::one_path(mbit(10), ms(10)).policies(policies)
}
