//! In which words are stories told? Alice and Bob, the paths between them, and what happens to both.

use anabranch_sim::{Direction, LoggedPacket};
use anabranch_wire::dissect;

/// Shows a packet as its host saw it.
pub(crate) fn print_packet(packet: &LoggedPacket) {
    let arrow = match packet.direction {
        Direction::Sent => "─▶",
        Direction::Received => "◀─",
    };
    println!(
        "{} {arrow} {} {}",
        packet.at,
        packet.path,
        dissect::line(&packet.bytes)
    );
}
