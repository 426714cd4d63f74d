//! Two hosts with real stacks. What does the test bed ask of each stack?

use std::io;

use anabranch_sim::{DataCounters, HostCounters, HostState};

/// A stack on both hosts; the near one sends all that it can to the far one. The transfer ends when this is dropped.
pub(super) trait Stack {
    /// Whether the two ends are connected.
    fn is_connected(&mut self) -> io::Result<bool>;

    /// Bytes that the far application has read.
    fn bytes_read(&mut self) -> io::Result<u64>;

    /// Everything that is counted.
    fn counters(&mut self) -> io::Result<StackCounters>;
}

/// What both hosts have counted. What a stack does not tell is `None`, as are paths that it does not tell apart.
#[derive(Clone, Debug, Default)]
pub(super) struct StackCounters {
    /// Of the near host.
    pub(super) sender: HostCounters,
    /// Of the far host.
    pub(super) receiver: HostCounters,
    /// Messages that arrived changed, twice or out of order.
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

    /// The same, with what the far application has read.
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
