//! What was counted, for each flow and for the data?

use anabranch_policy::PathFacts;
use anabranch_types::PathId;

use super::Bundle;
use super::lane::Lane;
use crate::endpoint::FourTuple;
use crate::flow::{FlowCounters, State};

/// What is known of one flow of a connection.
#[derive(Clone, Debug)]
pub struct PathStatistics {
    /// Which flow.
    pub path: PathId,
    /// Its addresses.
    pub ends: FourTuple,
    /// Where it is in its life.
    pub state: State,
    /// What was counted.
    pub counters: FlowCounters,
    /// Chunks of data sent on it that other flows had carried before.
    pub reinjections: u64,
    /// Bytes of them.
    pub reinjected_bytes: u64,
    /// Chunks of data in flight on other flows that left on it too, as the path scheduler wished.
    pub duplicates: u64,
    /// Bytes of them.
    pub duplicated_bytes: u64,
    /// Bytes that arrived on it and wait for others before them on the same flow.
    pub out_of_order_bytes: u64,
    /// Round-trip time, window and more.
    pub facts: PathFacts,
}

/// What is known of the data that the flows of a connection carry together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataStatistics {
    /// Chunks sent on a flow after another one had carried them.
    pub reinjections: u64,
    /// Bytes of them.
    pub reinjected_bytes: u64,
    /// Bytes that arrived over one flow after they had over another.
    pub duplicate_bytes: u64,
    /// Bytes in order on their flows that wait for data before them.
    pub out_of_order_bytes: u64,
}

/// What flows counted that are no more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    counters: FlowCounters,
    reinjections: u64,
    reinjected_bytes: u64,
}

impl Past {
    pub(super) fn count(&mut self, lane: &Lane) {
        self.counters += *lane.flow.counters();
        self.reinjections += lane.reinjections;
        self.reinjected_bytes += lane.reinjected_bytes;
    }
}

impl Bundle {
    /// All flows, those that are over until their places are taken by others.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathStatistics> + '_ {
        let all = self.lanes.iter().zip(&self.facts);
        all.map(|(lane, facts)| PathStatistics {
            path: facts.id,
            ends: lane.tuple,
            state: lane.flow.state(),
            counters: *lane.flow.counters(),
            reinjections: lane.reinjections,
            reinjected_bytes: lane.reinjected_bytes,
            duplicates: lane.duplicates,
            duplicated_bytes: lane.duplicated_bytes,
            out_of_order_bytes: lane.flow.out_of_order_bytes(),
            facts: facts.clone(),
        })
    }

    /// What all flows together counted.
    pub(crate) fn counters(&self) -> FlowCounters {
        let mut sum = self.past.counters;
        for lane in &self.lanes {
            sum += *lane.flow.counters();
        }
        sum
    }

    pub(crate) fn data_statistics(&self) -> DataStatistics {
        let sum = |of: fn(&Lane) -> u64| self.lanes.iter().map(of).sum::<u64>();
        DataStatistics {
            reinjections: self.past.reinjections + sum(|lane| lane.reinjections),
            reinjected_bytes: self.past.reinjected_bytes + sum(|lane| lane.reinjected_bytes),
            duplicate_bytes: self.receiving.duplicate_bytes,
            out_of_order_bytes: self.receiving.out_of_order_bytes(),
        }
    }

    /// Bytes that arrived and cannot be read yet, on whichever level they wait.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        let flows = self.lanes.iter().map(|lane| lane.flow.out_of_order_bytes());
        self.receiving.out_of_order_bytes() + flows.sum::<u64>()
    }
}
