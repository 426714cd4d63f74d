//! Policies of a multipath transport: one trait for each decision, several algorithms for each trait.
//!
//! A policy sees facts and returns a decision; it never acts. It knows no packet, no clock and no association,
//! so it can be compiled, tested and replaced alone. The policy traits, in the order in which a packet meets them:
//!
//! | trait | decides |
//! |---|---|
//! | [`StreamScheduler`] | which stream sends next? |
//! | [`PathScheduler`] | which path takes the next packet, or is waiting better? |
//! | [`CongestionControl`] | how much may be in flight on each path? |
//! | [`SharedBottleneck`] | which paths share a bottleneck? |
//! | [`BurstPolicy`] | how many packets may leave at once? |
//! | [`BufferPolicy`] | how much of the shared buffers may a path hold? |
//! | [`ReschedulingPolicy`] | a buffer is blocked: which chunks move to another path? |
//! | [`AckPolicy`] | when is a SACK sent? |
//! | [`SackPath`] | on which path is a SACK sent? |
//! | [`RttSampling`] | which acknowledgements are RTT samples? |
//! | [`LossDetection`] | which outstanding chunks are lost? |
//! | [`TailProbe`] | when is a tail loss probe sent? |
//! | [`RetransmissionPolicy`] | on which path is a lost chunk retransmitted? |
//! | [`FailoverPolicy`] | when is a path potentially failed, inactive or active again? |
//!
//! Rules for every policy: calling it twice does no harm; ties are broken by [`anabranch_types::PathId`]; no allocation
//! per call after warm-up; the same inputs give the same decisions; the core checks each decision.
//!
//! Algorithms are chosen by name: [`catalog`] lists them all, a [`PolicyRecipe`] holds one choice for each trait,
//! and [`PolicyRecipe::build`] makes the [`PolicySet`] of an association from it.
#![no_std]

extern crate alloc;

mod facts;
mod math;
mod parameters;
mod path_set;
mod path_table;
mod profile;
mod recipe;
mod rtt;
mod set;
mod traits;
mod unknown_name;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;

pub mod ack;
pub mod buffer;
pub mod buffer_size;
pub mod burst;
pub mod catalog;
pub mod congestion;
pub mod failover;
pub mod loss;
pub mod options;
pub mod path_scheduler;
pub mod rescheduling;
pub mod retransmission;
pub mod rtt_samples;
pub mod sack_path;
pub mod shared_bottleneck;
pub mod stream_scheduler;
pub mod tail_probe;

pub use anabranch_types::Instant;
pub use buffer_size::{BufferSize, SizeRange};
pub use facts::*;
pub use parameters::{NoParameters, Parameter, Parameters, Refused, Slot, Text};
pub use profile::{PROFILES, Profile};
pub use recipe::{PolicyRecipe, RecipeError};
pub use rtt::RttEstimator;
pub use set::PolicySet;
pub use traits::*;
pub use unknown_name::{UnknownName, nearest};
