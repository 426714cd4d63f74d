//! Trace analysis of a capture from the simulated network.

use anabranch_netsim::capture::SharedBuffer;
use anabranch_sim::Side;
use anabranch_trace::flow::{View, draw_svg, draw_text};
use anabranch_trace::{Conversation, Direction, Segment, conversations, frames};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, mbit, ms, secs};

/// Capture at Alice while she sends `count` messages on two paths and one packet is lost.
fn captured(count: u64) -> Conversation {
    let sink = SharedBuffer::default();
    let kept = sink.clone();
    let mut pair = Pair::two_paths(mbit(10), ms(20))
        .scenario(move |scenario| scenario.capture(Side::Near, sink))
        .connected();
    pair.run_for(ms(200));
    pair.drop_next(1, kind::DATA);
    pair.alice()
        .send_messages(count, 1_400, anabranch_sim::app::Streams::in_turn(2));
    pair.deliver_all(secs(10));
    pair.simulation.finish_captures().unwrap();
    let frames = frames(&kept.take()[..]).unwrap().frames;
    let segments = (1..)
        .zip(&frames)
        .filter_map(|(number, frame)| Segment::of(number, frame));
    let mut all = conversations(segments.collect());
    assert_eq!(all.len(), 1, "one association");
    all.remove(0)
}

#[test]
fn trace_shows_sacks_and_the_retransmission() {
    let conversation = captured(200);
    assert_eq!((conversation.protocol, conversation.paths.len()), ("SCTP", 2));
    let rows = &conversation.rows;
    let covered: Vec<usize> = rows
        .iter()
        .filter_map(|row| row.acknowledges.as_ref())
        .flat_map(|acknowledged| acknowledged.covers.iter().copied())
        .collect();
    let data = |row: &&anabranch_trace::Row| !row.carries.is_empty();
    assert!(
        rows.iter()
            .filter(data)
            .all(|row| row.direction == Direction::Forward)
    );
    let sent: Vec<usize> = (0..rows.len()).filter(|place| data(&&rows[*place])).collect();
    assert!(sent.iter().all(|place| covered.contains(place)));
    assert_eq!(rows.iter().filter(|row| row.retransmission).count(), 1);
    assert!(
        sent.iter().any(|place| rows[*place].path == 0) && sent.iter().any(|place| rows[*place].path == 1)
    );
}

#[test]
fn text_and_svg_diagrams_show_every_segment() {
    let conversation = captured(20);
    let (text, svg) = (
        draw_text(&conversation, &View::default(), 160),
        draw_svg(&conversation, &View::default()),
    );
    for row in &conversation.rows {
        assert!(text.contains(&format!("#{} ", row.number)) && svg.contains(&format!("#{} ", row.number)));
    }
    assert!(text.contains("INIT") && text.contains("(retransmission)") && text.contains("covers #"));
}
