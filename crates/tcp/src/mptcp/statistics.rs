//! Statistics of each subflow and of the data.

use anabranch_policy::PathFacts;
use anabranch_types::PathId;

use super::MptcpConnection;
use super::subflow::Subflow;
use crate::endpoint::FourTuple;
use crate::tcb::{State, TcpCounters};

/// Statistics of one subflow of a connection.
#[derive(Clone, Debug)]
pub struct PathStatistics {
    /// Subflow number.
    pub path: PathId,
    /// Its addresses.
    pub tuple: FourTuple,
    /// Its TCP state.
    pub state: State,
    /// Its counters.
    pub counters: TcpCounters,
    /// Chunks reinjected on it after other subflows had carried them.
    pub reinjections: u64,
    /// Bytes of these chunks.
    pub reinjected_bytes: u64,
    /// Chunks in flight on other subflows that were duplicated on it by the path scheduler.
    pub duplicates: u64,
    /// Bytes of these chunks.
    pub duplicated_bytes: u64,
    /// Out-of-order bytes received on it that wait for a gap on the same subflow.
    pub out_of_order_bytes: u64,
    /// Round-trip time, window and more.
    pub facts: PathFacts,
}

/// Statistics of the data carried by all subflows of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataStatistics {
    /// Chunks reinjected on another subflow.
    pub reinjections: u64,
    /// Bytes of these chunks.
    pub reinjected_bytes: u64,
    /// Duplicate bytes received over different subflows.
    pub duplicate_bytes: u64,
    /// Bytes in order on their subflows that wait for a gap at data level.
    pub out_of_order_bytes: u64,
}

/// Counters of removed subflows.
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
    /// All subflows, including closed ones until their numbers are reused.
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

    /// Sum of the counters of all subflows.
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

    /// Bytes received that cannot be read yet, at either level.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        let subflows = self
            .subflows
            .iter()
            .map(|subflow| subflow.tcb.out_of_order_bytes());
        self.receiver.out_of_order_bytes() + subflows.sum::<u64>()
    }
}
