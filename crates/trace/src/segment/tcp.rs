//! Parser of TCP segments in captures.

use etherparse::{TcpOptionElement, TcpSlice};

use super::{Acknowledgement, Parsed, Protocol};

/// Where flags end in the header (RFC 9293 §3.1).
const FLAGS_END: usize = 14;

/// Parses a segment whose header was captured in part: without the options that are missing.
pub(super) fn parse_part(bytes: &[u8], length: usize) -> Option<Parsed> {
    let header = usize::from(bytes.get(..FLAGS_END)?[12] >> 4) * 4;
    let mut padded = bytes.to_vec();
    // Zeros end the options.
    padded.resize(header.max(bytes.len()), 0);
    Some(parse(&TcpSlice::from_slice(&padded).ok()?, length))
}

/// Parses a segment whose length by the IP header is `length`; the capture may contain less.
pub(super) fn parse(tcp: &TcpSlice<'_>, length: usize) -> Parsed {
    let payload = length.saturating_sub(tcp.header_slice().len()) as u32;
    let first = tcp.sequence_number();
    // SYN and FIN take one sequence number each (RFC 9293 §3.4).
    let numbers = payload + u32::from(tcp.syn()) + u32::from(tcp.fin());
    let acknowledges = tcp.ack().then(|| Acknowledgement {
        before: tcp.acknowledgment_number(),
        blocks: blocks(tcp),
    });
    let mut label = flags(tcp);
    if numbers > 0 {
        label += &format!(
            " {first}–{} ({payload} B)",
            first.wrapping_add(numbers).wrapping_sub(1)
        );
    }
    if let Some(acknowledgement) = &acknowledges {
        label += &format!(
            " Ack {}{}",
            acknowledgement.before,
            super::sctp::shown(acknowledgement)
        );
    }
    Parsed {
        ports: (tcp.source_port(), tcp.destination_port()),
        protocol: Protocol::Tcp,
        label: label.trim_start().to_owned(),
        carries: (numbers > 0)
            .then(|| first..first.wrapping_add(numbers))
            .into_iter()
            .collect(),
        acknowledges,
    }
}

fn flags(tcp: &TcpSlice<'_>) -> String {
    let flags = [
        (tcp.syn(), "SYN"),
        (tcp.fin(), "FIN"),
        (tcp.rst(), "RST"),
        (tcp.psh(), "PSH"),
        (tcp.urg(), "URG"),
    ];
    let set: Vec<&str> = flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| *name)
        .collect();
    set.join(",")
}

fn blocks(tcp: &TcpSlice<'_>) -> Vec<core::ops::Range<u32>> {
    let mut blocks = Vec::new();
    for option in tcp.options_iterator().flatten() {
        if let TcpOptionElement::SelectiveAcknowledgement(first, others) = option {
            let all = core::iter::once(first).chain(others.into_iter().flatten());
            blocks.extend(all.map(|(start, end)| start..end));
        }
    }
    blocks
}
