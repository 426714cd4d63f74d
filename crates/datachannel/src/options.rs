//! Properties of a data channel (RFC 8831 §6.4). How are its messages delivered, and what is it called?

use alloc::string::String;
use core::num::NonZeroU16;
use core::time::Duration;

//= rfc8831 6.4-2
/// Priorities of data channels (RFC 8831 §6.4).
pub mod priority {
    /// Half the share of a normal channel.
    pub const BELOW_NORMAL: u16 = 128;
    /// The default.
    pub const NORMAL: u16 = 256;
    /// Twice the share of a normal channel.
    pub const HIGH: u16 = 512;
    /// Four times the share of a normal channel.
    pub const EXTRA_HIGH: u16 = 1_024;
}

/// When a message may be abandoned, in milliseconds and retransmissions as they are on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ChannelReliability {
    /// Never.
    #[default]
    Reliable,
    /// When it would be retransmitted more often than this.
    Retransmissions(u32),
    /// When so many milliseconds have passed since it was sent by the application.
    Lifetime(u32),
}

impl ChannelReliability {
    /// A lifetime in whole milliseconds, rounded down; at most 2³² - 1.
    #[must_use]
    pub fn lifetime(time: Duration) -> Self {
        Self::Lifetime(u32::try_from(time.as_millis()).unwrap_or(u32::MAX))
    }
}

/// Properties of a data channel, equal in both directions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ChannelOptions {
    /// The name of the channel, at most 65,535 bytes. Names need not be unique.
    pub label: String,
    /// The protocol of its messages, as registered for WebSocket; empty if unspecified. At most 65,535 bytes.
    pub protocol: String,
    /// Whether messages are delivered in order. Default true.
    pub ordered: bool,
    /// When messages may be abandoned. Default [`ChannelReliability::Reliable`].
    pub reliability: ChannelReliability,
    /// Its share of the capacity relative to other channels: the weight of weighted fair queueing. Default [`priority::NORMAL`].
    pub priority: u16,
}

impl ChannelOptions {
    /// A reliable and ordered channel of normal priority.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            protocol: String::new(),
            ordered: true,
            reliability: ChannelReliability::Reliable,
            priority: priority::NORMAL,
        }
    }

    /// Sets the protocol.
    #[must_use]
    pub fn protocol(self, protocol: impl Into<String>) -> Self {
        Self {
            protocol: protocol.into(),
            ..self
        }
    }

    /// Delivers messages as they arrive.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self {
            ordered: false,
            ..self
        }
    }

    /// Sets when messages may be abandoned.
    #[must_use]
    pub fn reliability(self, reliability: ChannelReliability) -> Self {
        Self { reliability, ..self }
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(self, priority: u16) -> Self {
        Self { priority, ..self }
    }

    //= rfc8831 6.4-1
    /// The weight of its stream (RFC 8831 §6.4). A priority of 0 counts as 1.
    pub(crate) fn weight(&self) -> NonZeroU16 {
        NonZeroU16::new(self.priority).unwrap_or(NonZeroU16::MIN)
    }

    /// Length of its strings in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        self.label.len() + self.protocol.len()
    }
}
