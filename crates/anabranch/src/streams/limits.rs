//! Limits of streams. How many may there be, and how much memory may their unread messages take?

use anabranch_policy::catalog::{InterleavingChoice, StreamSchedulerChoice};
use anabranch_proto::AssociationConfig;

use super::frame::{ADAPTATION_LAYER, INITIAL_WINDOW};

/// Limits of the streams of an association: [`EndpointBuilder::streams`](crate::EndpointBuilder::streams).
///
/// Unread messages of a stream take at most its window, twice that if it has unordered messages, and one message more. Windows begin at
/// 16 KiB. They grow, up to 8 MiB, out of one budget for all streams, where the reader keeps up. So the unread messages of an association
/// take at most [`memory`](Self::memory) bytes, whoever sends them: the association with a peer that sends more is aborted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(default, deny_unknown_fields, rename_all = "kebab-case")
)]
pub struct StreamLimits {
    /// How many streams both ends together may have open at the same time; each opens up to half of them. Default 1,024.
    pub streams: u16,
    /// Bytes by which all windows together may grow. Default 64 MiB.
    pub budget: u64,
    /// Length in bytes of the longest message of a stream, in both directions. Default 64 KiB.
    pub longest_message: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            streams: 1_024,
            budget: 64 << 20,
            longest_message: 64 << 10,
        }
    }
}

impl StreamLimits {
    /// Upper bound of the memory of unread messages of an association, in bytes.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        self.streams as u64 * (2 * INITIAL_WINDOW + self.longest_message as u64) + 2 * self.budget
    }

    /// The configuration of an association with such streams.
    pub(crate) fn apply(&self, mut config: AssociationConfig) -> AssociationConfig {
        config.adaptation_layer = Some(ADAPTATION_LAYER);
        config.outbound_streams = self.streams;
        config.max_inbound_streams = self.streams;
        config.max_message = config.max_message.min(self.longest_message);
        // A long message of one stream does not delay the others.
        config.policies.interleaving = InterleavingChoice::On(Default::default());
        if matches!(
            config.policies.stream_scheduler,
            StreamSchedulerChoice::FirstCome(_)
        ) {
            config.policies.stream_scheduler = StreamSchedulerChoice::WeightedFair(Default::default());
        }
        config
    }
}

/// Statistics of the streams of an association: [`Association::stream_statistics`](crate::Association::stream_statistics).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct StreamStatistics {
    /// Streams that are open in a direction at least, or that have unread messages.
    pub open: usize,
    /// Bytes of messages that were received and not read, with their overhead of 64 bytes for each message.
    pub unread: u64,
    /// Bytes that windows may still grow by.
    pub spare: u64,
}
