//! Properties of the decoder for any received bytes, shared by the tests and the fuzzer.

use anabranch_types::{Tsn, UnwrappedTsn};
use anabranch_wire::{
    CauseWriter, Causes, Chunk, Packet, PacketBuilder, Parameters, RawCause, RawChunk, RawParameter, Sack,
    ValidSack, dissect,
};

/// Decodes everything in `bytes`. Panics if a property of the decoder does not hold.
pub(crate) fn exercise(bytes: &[u8]) {
    let _ = dissect::line(bytes);
    let _ = Packet::parse(bytes);
    let Ok(packet) = Packet::parse_unverified(bytes) else {
        return;
    };
    for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
        look_inside(&chunk);
    }
    let written = rewrite(packet);
    let Ok(again) = Packet::parse(&written) else {
        assert!(written.is_empty(), "what was written is valid");
        return;
    };
    assert_eq!(words(packet), words(again), "what was written says the same");
    assert_eq!(rewrite(again), written, "writing has come to rest");
}

/// The chunks that can be decoded, as text.
fn words(packet: Packet<'_>) -> Vec<String> {
    // Positions in error messages inside lists depend on what was left out before.
    let decoded = packet.chunks().flatten().flat_map(RawChunk::decode);
    decoded
        .map(|chunk| chunk.to_string())
        .filter(|text| !text.contains('!'))
        .collect()
}

/// The chunks that can be decoded, as a packet of their own.
fn rewrite(packet: Packet<'_>) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut builder = PacketBuilder::new(&mut buffer, packet.header(), usize::MAX);
    for chunk in packet.chunks().flatten().flat_map(RawChunk::decode) {
        builder.push(&chunk).expect("what was received can be sent");
    }
    builder.finish();
    buffer
}

fn look_inside(chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Init(init) | Chunk::InitAck(init) => parameters(init.parameters),
        Chunk::Asconf(asconf) => parameters(asconf.requests),
        Chunk::AsconfAck(answer) => parameters(answer.responses),
        Chunk::Abort(abort) => causes(abort.causes),
        Chunk::Error(error) => causes(error.causes),
        Chunk::Sack(sack) => sack_claims_only_what_was_sent(sack),
        _ => {}
    }
}

fn parameters(list: Parameters<'_>) {
    for parameter in list.iter().flatten().flat_map(RawParameter::decode) {
        let _ = parameter.to_string();
    }
}

fn causes(list: Causes<'_>) {
    for cause in list.iter().flatten().flat_map(RawCause::decode) {
        let written = CauseWriter::one(cause);
        let again = Causes::new(&written)
            .iter()
            .flatten()
            .flat_map(RawCause::decode)
            .map(CauseWriter::one);
        assert!(
            again.eq([written.clone()]),
            "a cause comes back as it was written: {cause}"
        );
    }
}

fn sack_claims_only_what_was_sent(sack: &Sack<'_>) {
    for (acknowledged, sent) in [
        (sack.cumulative, 1),
        (sack.cumulative - 5, 40_000),
        (Tsn(0), 70_000),
    ] {
        let ack_point = UnwrappedTsn::first(acknowledged);
        let next = ack_point + sent;
        let Ok(valid) = ValidSack::parse(sack, ack_point, next, Default::default()) else {
            continue;
        };
        assert!(ack_point <= valid.cumulative && valid.cumulative < next);
        assert!(valid.blocks.min().is_none_or(|first| first > valid.cumulative.0));
        assert!(valid.blocks.max().is_none_or(|last| last < next.0));
        let ranges: Vec<_> = valid.blocks.iter().collect();
        assert!(
            ranges.windows(2).all(|pair| pair[0].end < pair[1].start),
            "blocks neither overlap nor touch"
        );
    }
}
