//! The opinions of a multipath transport: one trait for each question, several answers to each.
//!
//! A policy sees facts and returns a decision; it never acts. It knows no packet, no clock and no association,
//! so it can be compiled, tested and swapped alone. The questions, in the order in which a packet meets them:
//!
//! | question | trait |
//! |---|---|
//! | whose bytes are next? | [`StreamScheduler`] |
//! | which path takes the next packet, or is waiting better? | [`PathScheduler`] |
//! | how much may be in flight on each path? | [`CongestionControl`] |
//! | how many packets may leave at once? | [`BurstPolicy`] |
//! | how much of the shared buffers may a path hold? | [`BufferPolicy`] |
//! | the buffer is blocked: what moves to another path? | [`ReschedulingPolicy`] |
//! | when is a SACK sent? | [`AckPolicy`] |
//! | on which path is a SACK sent? | [`SackPath`] |
//! | which acknowledgements measure a round trip? | [`RttSampling`] |
//! | which outstanding chunks are lost? | [`LossDetection`] |
//! | is the tail of what was sent still there? | [`TailProbe`] |
//! | where does a lost chunk go? | [`RetransmissionPolicy`] |
//! | when is a path suspected, dead or back? | [`FailoverPolicy`] |
//!
//! Rules of an extension point: correct to ask twice; ties broken by [`anabranch_types::PathId`]; no allocation
//! per call after warm-up; the same inputs give the same answers; the core checks each answer.
//!
//! Algorithms are chosen by name: [`catalog`] lists them all, a [`PolicyRecipe`] is one choice for each question,
//! and [`PolicyRecipe::build`] makes the [`PolicySet`] of an association from it.
#![no_std]

extern crate alloc;

mod facts;
mod math;
mod parameters;
mod path_table;
mod profile;
mod question;
mod recipe;
mod rtt;
mod set;
mod unknown_name;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod testing;

pub mod ack;
pub mod buffer;
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
pub mod stream_scheduler;
pub mod tail_probe;

pub use anabranch_types::Instant;
pub use facts::*;
pub use parameters::{NoParameters, Parameter, Parameters, Refused, Slot, Text};
pub use profile::{PROFILES, Profile};
pub use question::*;
pub use recipe::{PolicyRecipe, RecipeError};
pub use rtt::RttEstimator;
pub use set::PolicySet;
pub use unknown_name::{UnknownName, nearest};
