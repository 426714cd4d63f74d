//! Figures of a test. What has one end measured? Sent to the other end, so that both can report the whole.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::output::Delays;

/// What one end has measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Figures {
    /// Absent if this end does not send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sent: Option<Sum>,
    /// Absent if this end does not receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) received: Option<Sum>,
    /// One-way delays of received messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delays: Option<Delays>,
    /// Messages that were abandoned here.
    pub(super) abandoned: u64,
    pub(super) processor_percent: f64,
    pub(super) paths: Vec<PathFigures>,
}

/// One direction as one end has seen it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) seconds: f64,
    /// Bytes and messages of each stream; those of the first association come first.
    pub(super) streams: Vec<(u64, u64)>,
}

/// One path of one association as one end has seen it. Bytes of user data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct PathFigures {
    pub(super) association: u16,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) sent: u64,
    pub(super) retransmitted: u64,
    pub(super) received: u64,
    /// Smoothed round-trip time at the end.
    pub(super) rtt_ms: Option<f64>,
}
