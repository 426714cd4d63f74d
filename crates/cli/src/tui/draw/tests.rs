//! Tests of the drawing at several sizes: what can be read on the screen?

use anabranch_dashboard::{
    Amount, Entry, Limit, Listed, Note, PathRates, PathSample, Sample, Severity, Shown, View,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::*;
use crate::tui::key::Action;

fn path(number: u64) -> PathSample {
    PathSample {
        path: number,
        local: ([127, 0, 0, number as u8 + 1], 40_001).into(),
        remote: ([127, 0, 0, number as u8 + 1], 9_899).into(),
        state: "active",
        primary: number == 0,
        resting: false,
        cost: 0,
        cap_bit_s: None,
        mtu: 1_500,
        rtt_ms: Some(31.4),
        queue_ms: Some(11.2),
        cwnd_bytes: 44_200,
        in_flight_bytes: 43_100,
        limit: Limit::Cwnd,
        sent_bit_s: 9_600_000,
        received_bit_s: 0,
        share: 0.2,
        loss: 0.001,
        sent_bytes: 3_400_000,
        retransmitted_bytes: 10_000,
        received_bytes: 0,
        sent_chunks: 3_000,
        lost_chunks: 8,
        timeouts: 0,
    }
}

/// The fast path, which was cut a moment ago.
fn cut() -> PathSample {
    PathSample {
        state: "potentially-failed",
        rtt_ms: Some(72.0),
        queue_ms: Some(9.8),
        limit: Limit::State,
        sent_bit_s: 38_400_000,
        share: 0.8,
        loss: 0.25,
        sent_bytes: 21_000_000,
        ..path(1)
    }
}

/// Rates of the last 20 seconds: those of a path with this number rise to as many times 10 Mbit/s.
fn rates(number: u64) -> PathRates {
    let point = |at: u64| (at * 250, (number * 3 + 1) * 10_000_000 * at / 80);
    PathRates {
        path: number,
        points: (1..=80).map(point).collect(),
    }
}

fn note(at: u64, severity: Severity, text: &str) -> Entry {
    Entry {
        at,
        note: Note {
            severity,
            transfer: Some(3),
            path: None,
            text: text.to_owned(),
        },
    }
}

/// A demo with these paths.
fn scene(paths: Vec<PathSample>) -> Scene {
    let listed = |(number, name, has_ended): (u64, &str, bool)| Listed {
        transfer: number,
        name: name.to_owned(),
        has_ended,
    };
    let transfers = [
        (1, "path 0 alone", true),
        (2, "path 1 alone", true),
        (3, "all paths", false),
    ];
    let shown = Shown {
        transfer: 3,
        until: 20_000,
        rates: paths.iter().map(|path| rates(path.path)).collect(),
        sample: Some(Sample {
            transfer: 3,
            at: 20_000,
            amount: Some(Amount {
                bytes: 24_000_000,
                size: Some(90_000_000),
            }),
            unsent_bytes: 1,
            paths,
        }),
    };
    let events = vec![
        note(100, Severity::Info, "all paths: 90.0 MB ..."),
        note(
            17_000,
            Severity::Warning,
            "the link of path 1 of the command is cut",
        ),
        note(
            18_000,
            Severity::Warning,
            "path 1, 127.0.0.2:40001 -> 127.0.0.2:9899: potentially-failed",
        ),
    ];
    Scene {
        view: View {
            title: "anabranch demo".to_owned(),
            at: 20_100,
            transfers: transfers.into_iter().map(listed).collect(),
            shown: Some(shown),
            events,
        },
        choice: Choice::default(),
        notices: Vec::new(),
        theme: Theme::new(true),
    }
}

fn buffer(scene: &Scene, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, scene)).unwrap();
    terminal.backend().buffer().clone()
}

/// What can be read, without spaces at the ends of lines.
fn text(scene: &Scene, width: u16, height: u16) -> String {
    let buffer = buffer(scene, width, height);
    let line = |row: u16| {
        let cells = (0..width).map(|column| buffer[(column, row)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn common_terminal_shows_all_facts_of_two_paths() {
    let expected = "\
anabranch demo  3 of 3: all paths                                           0:20
sends 48.0 Mbit/s  receives 0.0 bit/s  arrived 24.0 MB of 90.0 MB, 27 %
path 0  works, primary  127.0.0.1:40001 -> 127.0.0.1:9899             share 20 %
  sends       9.6 Mbit/s    round trip  31 ms         in flight   43.1 kB
  receives    0.0 bit/s     of it queue 11 ms         cwnd        44.2 kB
  loss        0.1 %         sent        3.4 MB        received    0 bytes
  limited by  its congestion window             use as any other
                                                                    40.0 Mbit/s
                  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃
path 1  does not answer  127.0.0.2:40001 -> 127.0.0.2:9899            share 80 %
  sends       38.4 Mbit/s   round trip  72 ms         in flight   43.1 kB
  receives    0.0 bit/s     of it queue 9.8 ms        cwnd        44.2 kB
  loss        25 %          sent        21.0 MB       received    0 bytes
  limited by  its state                         use as any other
                                      ▁▁▁▁▂▂▂▂▃▃▃▃▄▄▄▄▅▅▅▅▅▆▆▆▆▇▇▇▇ 40.0 Mbit/s
      ▁▁▁▁▂▂▂▂▃▃▃▃▄▄▄▄▅▅▅▅▆▆▆▆▇▇▇▇█████████████████████████████████
events ─────────────────────────────────────────────────────────────────────────
0:00     all paths: 90.0 MB ...
0:17     warning: the link of path 1 of the command is cut
0:18     warning: path 1, 127.0.0.2:40001 -> 127.0.0.2:9899: potentially-failed



q ends  ↑↓ transfer  t time: 1 minute  ? keys";
    assert_eq!(text(&scene(vec![path(0), cut()]), 80, 24), expected);
}

#[test]
fn small_terminal_has_a_table_and_the_newest_event() {
    let expected = "\
anabranch demo  3 of 3: all paths   0:20
sends 48.0 Mbit/s  receives 0.0 bit/s
path  state            sends
0     works, primary   9.6 Mbit/s
1     does not answer  38.4 Mbit/s
0                      ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
1         ▁▁▁▁▂▂▂▂▂▃▃▃▃▄▄▄▄▅▅▅▅▆▆▆▆▆▇▇▇▇
events ─────────────────────────────────
         127.0.0.2:40001 ->
         127.0.0.2:9899:
         potentially-failed
q ends  ↑↓ transfer  t time: 1 minute  ?";
    assert_eq!(text(&scene(vec![path(0), cut()]), 40, 12), expected);
}

#[test]
fn wide_terminal_has_cards_side_by_side_and_high_charts() {
    let shown = text(&scene(vec![path(0), cut()]), 200, 60);
    let lines: Vec<&str> = shown.lines().collect();
    let heads = lines[2].split("path ").count() - 1;
    assert_eq!((heads, lines.len()), (2, 60), "{shown}");
    assert!(
        lines[2].ends_with("share 80 %") && lines[15].starts_with("events ─"),
        "{shown}"
    );
    assert!(
        lines[6].contains("its congestion window") && lines[6].contains("its state"),
        "{shown}"
    );
}

#[test]
fn one_cell_is_enough() {
    assert_eq!(text(&scene(vec![path(0), cut()]), 1, 1), "a");
}

#[test]
fn every_size_can_be_drawn() {
    let mut scenes = [0, 1, 2, 40].map(|count| scene((0..count).map(path).collect()));
    for scene in &mut scenes {
        scene
            .notices
            .push("listening on 127.0.0.1:9899, storing in inbox".to_owned());
        for (width, height) in (1..90)
            .step_by(4)
            .flat_map(|width| (1..30).map(move |height| (width, height)))
        {
            buffer(scene, width, height);
        }
        scene.choice.on_action(Action::Keys, &[], None);
        buffer(scene, 7, 3);
        scene.view.shown = None;
        buffer(scene, 7, 3);
        buffer(scene, 1, 1);
    }
}

#[test]
fn many_paths_have_a_line_each_and_the_rest_is_counted() {
    let shown = text(&scene((0..12).map(path).collect()), 80, 24);
    assert!(shown.contains("\n11    works            9.6 Mbit/s"), "{shown}");
    let shown = text(&scene((0..30).map(path).collect()), 80, 24);
    assert!(shown.contains("\n13 more  state "), "{shown}");
    assert!(
        shown.contains("\n16    works ") && shown.contains("\nevents ─"),
        "{shown}"
    );
}

#[test]
fn use_of_a_path_and_why_it_rests_are_words() {
    let backup = PathSample {
        cost: 255,
        cap_bit_s: Some(5_000_000),
        resting: true,
        limit: Limit::Rests,
        ..path(1)
    };
    let shown = text(&scene(vec![path(0), backup]), 80, 24);
    assert!(shown.contains("path 1  works, rests "), "{shown}");
    let words = "limited by  a path of smaller cost that works use backup, at most 5.0 Mbit/s";
    assert!(shown.contains(words), "{shown}");
}

#[test]
fn without_an_association_notices_say_what_to_do() {
    let mut waiting = scene(Vec::new());
    waiting.view = View {
        title: "anabranch recv".to_owned(),
        ..View::default()
    };
    waiting.notices = vec![
        "listening on 127.0.0.1:9899, storing in inbox".to_owned(),
        "send with: anabranch send FILE --to 127.0.0.1".to_owned(),
    ];
    let expected = "\
anabranch recv                      0:00
no association yet
listening on 127.0.0.1:9899, storing in
inbox
send with: anabranch send FILE --to
127.0.0.1
events ─────────────────────────────────


q ends  t time: 1 minute  ? keys";
    assert_eq!(text(&waiting, 40, 10), expected);
}

#[test]
fn keys_are_listed_on_demand_above_all_else() {
    let mut scene = scene(vec![path(0), cut()]);
    scene.choice.on_action(Action::Keys, &[], None);
    let shown = text(&scene, 80, 24);
    assert!(shown.contains("│ q, Ctrl-C   end "), "{shown}");
    scene.choice.on_action(Action::Back, &[], None);
    assert!(!text(&scene, 80, 24).contains("Ctrl-C"));
}

#[test]
fn names_of_peers_cannot_move_the_cursor() {
    let mut scene = scene(vec![path(0)]);
    scene.view.transfers[2].name = "\u{1b}[2Jx\u{202e}".to_owned();
    assert!(text(&scene, 80, 24).contains("\u{fffd}[2Jx\u{fffd}"));
}

#[test]
fn colours_are_left_out_if_the_user_says_so() {
    let mut scene = scene(vec![path(0), cut()]);
    let colors = |scene: &Scene| {
        let buffer = buffer(scene, 80, 24);
        let colored = buffer.content.iter().filter(|cell| cell.fg != Color::Reset);
        colored.count()
    };
    assert!(colors(&scene) > 0);
    scene.theme = Theme::new(false);
    assert_eq!(colors(&scene), 0);
}
