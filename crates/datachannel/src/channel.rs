//! A data channel: its stage between opening and the resets of both streams.

use anabranch_types::StreamId;

use crate::error::CloseCause;
use crate::options::ChannelOptions;

/// A channel. A later channel on the same stream has another id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChannelId {
    pub(crate) stream: StreamId,
    pub(crate) number: u32,
}

impl ChannelId {
    /// The stream of the channel, in both directions.
    #[must_use]
    pub const fn stream(self) -> StreamId {
        self.stream
    }
}

/// The state of a channel, as applications of WebRTC know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelState {
    /// The peer has not answered yet. Messages can be sent.
    Connecting,
    /// Open.
    Open,
    /// One side has closed it. Messages are neither sent nor received.
    Closing,
    /// Both streams are reset, or the association has ended.
    Closed,
}

/// Who opened a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Local,
    Peer,
    /// Both applications, without DCEP (RFC 8831 §6.5).
    Negotiated,
    /// Nobody: the peer used the stream without opening a channel. The application does not know it.
    Nobody,
}

/// Where a channel is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Nothing was received yet.
    Opening,
    Open,
    Closing {
        cause: CloseCause,
        /// The reset of our outgoing stream.
        own: OwnReset,
        /// The peer has reset its outgoing stream.
        peer_done: bool,
    },
    /// The reset was refused, so the stream cannot be used again.
    Retired,
}

/// Progress of the reset of our outgoing stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnReset {
    Wanted,
    Requested,
    Done,
}

/// Resets of the previous channel on this stream that are performed, but not reported yet: the peer may use the stream as soon as it has
/// performed both, and its first message may overtake the reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LateReports {
    pub(crate) inbound: bool,
    pub(crate) outbound: bool,
}

/// The state of a channel.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) number: u32,
    pub(crate) origin: Origin,
    pub(crate) options: ChannelOptions,
    pub(crate) stage: Stage,
    pub(crate) late: LateReports,
}

impl Channel {
    /// Whether messages can be sent and received.
    pub(crate) const fn is_usable(&self) -> bool {
        matches!(self.stage, Stage::Opening | Stage::Open)
    }

    /// Whether the application knows it.
    pub(crate) fn is_announced(&self) -> bool {
        self.origin != Origin::Nobody
    }

    pub(crate) const fn state(&self) -> ChannelState {
        match self.stage {
            Stage::Opening => ChannelState::Connecting,
            Stage::Open => ChannelState::Open,
            Stage::Closing { .. } => ChannelState::Closing,
            Stage::Retired => ChannelState::Closed,
        }
    }

    //= rfc8832 6-9, 6-10, 6-11
    /// Whether our messages are unordered: until the peer has answered, it might not know the channel yet.
    pub(crate) fn sends_unordered(&self) -> bool {
        !self.options.ordered && self.stage == Stage::Open
    }

    /// Whether an unordered message of the peer is against the rules. With out-of-band negotiation, the options of both directions may
    /// differ.
    pub(crate) fn forbids_unordered(&self) -> bool {
        self.options.ordered && self.origin != Origin::Negotiated
    }
}
