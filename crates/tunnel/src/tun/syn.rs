//! SYN: what an end says when it opens a TCP connection, and the SYN-ACK that another end's SYN becomes.

use etherparse::{TcpHeaderSlice, TcpOptionElement};

use super::answer::ip;
use super::packet::Ends;

/// A SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Syn {
    /// Initial sequence number.
    pub(super) isn: u32,
    window: u16,
    mss: Option<u16>,
    window_scale: Option<u8>,
    /// Selective acknowledgements are permitted (RFC 2018).
    permits_sack: bool,
    /// `TSval` (RFC 7323 §3.2).
    timestamp: Option<u32>,
}

impl Syn {
    /// The fields of a TCP header. Options that are not valid end the list, as in the kernel.
    pub(super) fn of(header: &TcpHeaderSlice<'_>) -> Self {
        let mut syn = Self {
            isn: header.sequence_number(),
            window: header.window_size(),
            mss: None,
            window_scale: None,
            permits_sack: false,
            timestamp: None,
        };
        for option in header.options_iterator().map_while(Result::ok) {
            match option {
                TcpOptionElement::MaximumSegmentSize(size) => syn.mss = Some(size),
                TcpOptionElement::WindowScale(shift) => syn.window_scale = Some(shift),
                TcpOptionElement::SelectiveAcknowledgementPermitted => syn.permits_sack = true,
                TcpOptionElement::Timestamp(value, _) => syn.timestamp = Some(value),
                TcpOptionElement::Noop | TcpOptionElement::SelectiveAcknowledgement(..) => {}
            }
        }
        syn
    }

    /// This SYN as an answer to `peer`, which came with the reverse of `ends`. What both offer is agreed; data with a SYN (RFC 7413), ECN and other options are not.
    pub(super) fn as_answer_to(&self, peer: &Self, ends: Ends) -> Option<Vec<u8>> {
        let mut options = Vec::new();
        options.extend(self.mss.map(TcpOptionElement::MaximumSegmentSize));
        if self.permits_sack && peer.permits_sack {
            options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
        }
        if let (Some(ours), Some(theirs)) = (self.timestamp, peer.timestamp) {
            options.push(TcpOptionElement::Timestamp(ours, theirs));
        }
        if let (Some(shift), Some(_)) = (self.window_scale, peer.window_scale) {
            options.push(TcpOptionElement::WindowScale(shift));
        }
        let builder = ip(ends.source.ip(), ends.destination.ip())?
            .tcp(ends.source.port(), ends.destination.port(), self.isn, self.window)
            .syn()
            .ack(peer.isn.wrapping_add(1))
            .options(&options)
            .ok()?;
        let mut out = Vec::new();
        builder.write(&mut out, &[]).ok()?;
        Some(out)
    }
}
