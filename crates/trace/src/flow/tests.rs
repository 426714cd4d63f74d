//! Tests of flow graphs of a small conversation.

use core::net::IpAddr;

use super::{View, draw_svg, draw_text};
use crate::conversation::{Acknowledged, Conversation, Direction, Row};

fn row(number: usize, millis: u64, direction: Direction, path: usize, label: &str) -> Row {
    Row {
        number,
        at: millis * 1_000_000,
        direction,
        path,
        length: 1_000,
        label: label.to_owned(),
        carries: Vec::new(),
        retransmission: false,
        acknowledges: None,
    }
}

fn conversation() -> Conversation {
    let address = |host, path| IpAddr::from([10, host, 0, path]);
    let mut sack = row(4, 40, Direction::Reverse, 1, "SACK 5 [7–8] & <more>");
    sack.acknowledges = Some(Acknowledged {
        before: 6,
        blocks: vec![7..8, 8..9],
        covers: vec![0, 1, 2],
    });
    Conversation {
        protocol: "SCTP",
        ports: (5_000, 9_899),
        paths: vec![(address(0, 0), address(1, 0)), (address(0, 1), address(1, 1))],
        rows: vec![
            row(1, 0, Direction::Forward, 0, "DATA 5 (1400 B)"),
            row(2, 1, Direction::Forward, 1, "DATA 7 (1400 B)"),
            row(3, 1, Direction::Forward, 1, "DATA 8 (1400 B)"),
            sack,
        ],
    }
}

#[test]
fn text_flow_graph_has_columns_and_time_gaps() {
    let text = draw_text(&conversation(), &View::default(), 120);
    let expected = "\
SCTP 5000 ↔ 9899: 4 segments in 0.040000 s, 3000 bytes →, 1000 bytes ←
  path 1: 10.0.0.0 ↔ 10.1.0.0
  path 2: 10.0.0.1 ↔ 10.1.0.1

   0.000000 #1 DATA 5 (1400 B)                          ───────▶  │      │

   0.001000 #2 DATA 7 (1400 B)                          │      │  ───────▶
   0.001000 #3 DATA 8 (1400 B)                          │      │  ───────▶


   0.040000                                             │      │  ◀───────  #4 SACK 5 [7–8] & <more>, covers #1–#3
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn svg_flow_graph_is_self_contained_and_shows_covers() {
    let svg = draw_svg(&conversation(), &View::default());
    assert_eq!(svg, draw_svg(&conversation(), &View::default()));
    assert!(svg.contains("id=\"f4\" data-with=\"1 2 3\""));
    assert!(svg.contains("id=\"f2\" data-with=\"4\""));
    assert!(svg.contains("SACK 5 [7–8] &amp; &lt;more&gt;, covers #1–#3"));
    assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"));
    assert_eq!(
        svg.matches("http").count(),
        1,
        "nothing outside is referred to but the name space"
    );
}

/// A SACK with many blocks, from the end that began.
#[test]
fn svg_arrows_begin_at_the_left_beside_long_labels() {
    let mut conversation = conversation();
    let blocks: Vec<String> = (0..40)
        .map(|block| format!("{}–{}", 10 * block, 10 * block + 3))
        .collect();
    conversation.rows[0].label = format!("SACK 5 [{}]", blocks.join(", "));
    let svg = draw_svg(&conversation, &View::default());
    let rows = svg.split("class=\"row\"").skip(1);
    let number = |row: &str, name: &str| -> f64 {
        let (_, rest) = row.split_once(name).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let rows: Vec<(f64, f64, usize)> = rows
        .map(|row| {
            (
                number(row, "x1=\""),
                number(row, "y1=\""),
                row.matches("<text").count(),
            )
        })
        .collect();
    assert!(rows[0].0 < 540.0, "{rows:?}");
    // The next row is below the lines of the label; one text is the time.
    assert!(
        rows[0].2 > 5 && rows[1].1 > rows[0].1 + 13.0 * (rows[0].2 - 2) as f64,
        "{rows:?}"
    );
    assert!(blocks.iter().all(|block| svg.contains(block.as_str())));
}

#[test]
fn view_limits_rows_and_reports_omitted_ones() {
    let part = View {
        time: 1_000_000..u64::MAX,
        rows: 2,
    };
    let text = draw_text(&conversation(), &part, 100);
    assert!(!text.contains("#1 DATA") && text.contains("#2 DATA") && text.contains("#3 DATA"));
    assert!(text.contains("1 rows more"), "{text}");
}
