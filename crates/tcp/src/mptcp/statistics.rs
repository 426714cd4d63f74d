//! Statistics of each subflow and of the data.

use anabranch_policy::PathFacts;
use anabranch_types::PathId;

use super::MptcpConnection;
use super::subflow::Subflow;
use crate::endpoint::FourTuple;
use crate::tcb::{State, TcpCounters};

/// What is known of one subflow of a connection.
#[derive(Clone, Debug)]
pub struct PathStatistics {
    /// Which subflow.
    pub path: PathId,
    /// Its addresses.
    pub tuple: FourTuple,
    /// Where it is in its life.
    pub state: State,
    /// What was counted.
    pub counters: TcpCounters,
    /// Chunks of data sent on it that other subflows had carried before.
    pub reinjections: u64,
    /// Bytes of them.
    pub reinjected_bytes: u64,
    /// Chunks of data in flight on other subflows that left on it too, as the path scheduler wished.
    pub duplicates: u64,
    /// Bytes of them.
    pub duplicated_bytes: u64,
    /// Bytes that arrived on it and wait for others before them on the same subflow.
    pub out_of_order_bytes: u64,
    /// Round-trip time, window and more.
    pub facts: PathFacts,
}

/// What is known of the data that the subflows of a connection carry together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataStatistics {
    /// Chunks sent on a subflow after another one had carried them.
    pub reinjections: u64,
    /// Bytes of them.
    pub reinjected_bytes: u64,
    /// Bytes that arrived over one subflow after they had over another.
    pub duplicate_bytes: u64,
    /// Bytes in order on their subflows that wait for data before them.
    pub out_of_order_bytes: u64,
}

/// What subflows counted that are no more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetiredSubflows {
    counters: TcpCounters,
    reinjections: u64,
    reinjected_bytes: u64,
}

impl RetiredSubflows {
    pub(super) fn count(&mut self, subflow: &Subflow) {
        self.counters += *subflow.tcb.counters();
        self.reinjections += subflow.reinjections;
        self.reinjected_bytes += subflow.reinjected_bytes;
    }
}

impl MptcpConnection {
    /// All subflows, those that are over until their places are taken by others.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathStatistics> + '_ {
        let all = self.subflows.iter().zip(&self.facts);
        all.map(|(subflow, facts)| PathStatistics {
            path: facts.id,
            tuple: subflow.tuple,
            state: subflow.tcb.state(),
            counters: *subflow.tcb.counters(),
            reinjections: subflow.reinjections,
            reinjected_bytes: subflow.reinjected_bytes,
            duplicates: subflow.duplicates,
            duplicated_bytes: subflow.duplicated_bytes,
            out_of_order_bytes: subflow.tcb.out_of_order_bytes(),
            facts: facts.clone(),
        })
    }

    /// What all subflows together counted.
    pub(crate) fn counters(&self) -> TcpCounters {
        let mut sum = self.retired.counters;
        for subflow in &self.subflows {
            sum += *subflow.tcb.counters();
        }
        sum
    }

    pub(crate) fn data_statistics(&self) -> DataStatistics {
        let sum = |of: fn(&Subflow) -> u64| self.subflows.iter().map(of).sum::<u64>();
        DataStatistics {
            reinjections: self.retired.reinjections + sum(|subflow| subflow.reinjections),
            reinjected_bytes: self.retired.reinjected_bytes + sum(|subflow| subflow.reinjected_bytes),
            duplicate_bytes: self.receiver.duplicate_bytes,
            out_of_order_bytes: self.receiver.out_of_order_bytes(),
        }
    }

    /// Bytes that arrived and cannot be read yet, on whichever level they wait.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        let subflows = self
            .subflows
            .iter()
            .map(|subflow| subflow.tcb.out_of_order_bytes());
        self.receiver.out_of_order_bytes() + subflows.sum::<u64>()
    }
}
