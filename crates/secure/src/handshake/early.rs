//! Early data packets. Which of those that have overtaken the end of the handshake wait for their keys? (ADR 0215)

use anabranch_types::PathAddr;

/// More packets than an association begins with.
const MAX_PACKETS: usize = 4;
/// Longer than any packet before the path MTU is known.
const MAX_LEN: usize = 2_048;

/// Packets that wait, with the paths on which they arrived.
#[derive(Debug, Default)]
pub(super) struct EarlyData(Vec<(PathAddr, Vec<u8>)>);

impl EarlyData {
    /// Whether there is room for the packet, which waits then.
    pub(super) fn hold(&mut self, from: PathAddr, datagram: &[u8]) -> bool {
        let has_room = self.0.len() < MAX_PACKETS && datagram.len() <= MAX_LEN;
        if has_room {
            self.0.push((from, datagram.to_vec()));
        }
        has_room
    }

    pub(super) fn take(&mut self) -> Vec<(PathAddr, Vec<u8>)> {
        core::mem::take(&mut self.0)
    }
}
