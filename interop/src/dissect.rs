//! What does our own dissector think of a packet?

use anabranch_wire::dissect;

/// What it says, if it does not understand the packet to its end, or the checksum is wrong.
pub(crate) fn complaint(packet: &[u8]) -> Option<String> {
    let line = dissect::line(packet);
    (line.contains('!') || line.ends_with("(wrong checksum)")).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_told() {
        assert!(complaint(&[1, 2, 3]).is_some());
        assert!(complaint(&[0; 12]).is_some(), "the checksum is wrong");
    }
}
