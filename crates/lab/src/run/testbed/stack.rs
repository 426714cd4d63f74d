//! Stack interface of the test bed. What must each stack on real hosts provide?

use std::io;

use anabranch_sim::{DataCounters, HostCounters, HostState};

/// A stack on both hosts; the near host sends as fast as it can to the far host. Dropping it ends the transfer.
pub(super) trait Stack {
    /// Whether the two ends are connected.
    fn is_connected(&mut self) -> io::Result<bool>;

    /// Bytes that the far application has read.
    fn bytes_read(&mut self) -> io::Result<u64>;

    /// Returns all counters.
    fn counters(&mut self) -> io::Result<StackCounters>;
}

/// Counters of both hosts. Counters that a stack does not report are `None`; per-path counters may be missing.
#[derive(Clone, Debug, Default)]
pub(super) struct StackCounters {
    /// Counters of the near host.
    pub(super) sender: HostCounters,
    /// Counters of the far host.
    pub(super) receiver: HostCounters,
    /// Messages that arrived corrupted, duplicated or out of order.
    pub(super) damaged: u64,
}

impl StackCounters {
    pub(super) fn new(data: DataCounters, paths: Vec<DataCounters>) -> Self {
        let sender = HostCounters {
            data,
            paths,
            ..HostCounters::default()
        };
        Self {
            sender,
            ..Self::default()
        }
    }

    /// Adds what the far application has read.
    pub(super) fn read(self, messages_read: u64, bytes_read: u64, damaged: u64) -> Self {
        let state = HostState {
            applications: 1,
            messages_read,
            bytes_read,
            ..HostState::default()
        };
        let receiver = HostCounters {
            state,
            ..HostCounters::default()
        };
        Self {
            receiver,
            damaged,
            ..self
        }
    }
}
