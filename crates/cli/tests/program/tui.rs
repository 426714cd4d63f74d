//! Tests of the live view in a terminal: what it shows, what its keys do, and how it leaves the terminal.

use crate::harness::{PROGRAM, Receiver, file, run};
use crate::terminal::Terminal;
use crate::tunnel::{event, init, start_server_for};

/// Ctrl-C, as a terminal without signals of keys gets it.
const CTRL_C: &str = "\x03";

/// Ctrl-Z, in the same way.
const CTRL_Z: &str = "\x1a";

/// The key `↑`.
const UP: &str = "\x1b[A";

#[test]
fn demo_shows_its_paths_and_q_ends_it() {
    let mut terminal = Terminal::start(80, 24, &["demo", "--cut", "--duration", "6s", "--tui"]);
    terminal.wait_for("path 0  works, primary  127.0.0.1:");
    terminal.wait_for("limited by");
    // The run of all paths.
    terminal.wait_until("both paths", |shown| {
        shown.contains("3 of 3: ") && shown.contains("path 1  works")
    });
    terminal.press(UP);
    terminal.wait_until("the run before", |shown| {
        // A further run may have begun.
        shown.contains("2 of 3: ") || shown.contains("3 of 4: ")
    });
    terminal.press("?");
    terminal.wait_for("time that is drawn");
    terminal.press("?");
    terminal.wait_until("no keys", |shown| !shown.contains("time that is drawn"));
    terminal.press("q");
    let ended = terminal.end();
    assert_eq!((ended.code, ended.is_terminal_restored), (Some(130), true));
    // What was held while the view was shown.
    for text in ["path 1: 10 Mbit/s", "both paths", "error: interrupted"] {
        assert!(ended.text.contains(text), "{}", ended.text);
    }
}

#[test]
fn cut_path_is_shown_and_results_are_printed_in_the_end() {
    let mut terminal = Terminal::start(
        100,
        30,
        &["demo", "--cut", "--duration", "3s", "--tui", "--dashboard"],
    );
    terminal.wait_for("warning: the link of path ");
    terminal.wait_for("path 1  does not answer");
    let ended = terminal.end();
    assert!(ended.is_terminal_restored);
    assert!(matches!(ended.code, Some(0 | 1)), "{:?}", ended.code);
    for text in [
        "live view: http://127.0.0.1:",
        "path 2 is cut",
        "all paths together reached",
    ] {
        assert!(ended.text.contains(text), "{text}: {}", ended.text);
    }
}

#[test]
fn sender_leaves_its_summary() {
    let receiver = Receiver::start("127.0.0.1,127.0.0.2", &["--once"]);
    let path = file(&receiver.folder, "a", 300_000);
    let arguments = ["send", "--tui", "--to", &receiver.to, "--name", "b"];
    let arguments = [&arguments[..], &[path.to_str().unwrap()]].concat();
    let terminal = Terminal::start(120, 24, &arguments);
    let ended = terminal.end();
    assert_eq!((ended.code, ended.is_terminal_restored), (Some(0), true));
    let text = ended.text;
    assert!(text.contains("sent b to ") && text.contains("SHA-256"), "{text}");
}

#[test]
fn tunnel_shows_its_paths_and_where_programs_connect() {
    let folder = tempfile::tempdir().unwrap();
    let [server, client] = init(&folder);
    let mut server = start_server_for(&client, &server);
    let mut terminal = Terminal::start(80, 24, &["tunnel", client.to_str().unwrap(), "--tui"]);
    event(&mut server, "tunnel-up");
    terminal.wait_for("path 0  works");
    terminal.wait_for("server: connected");
    terminal.press("?");
    terminal.wait_for("SOCKS5 proxy at 127.0.0.1:");
    terminal.press("q");
    let ended = terminal.end();
    assert_eq!((ended.code, ended.is_terminal_restored), (Some(130), true));
    event(&mut server, "tunnel-down");
}

#[test]
fn receiver_says_what_to_type_and_fits_any_size() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = folder.path().to_str().unwrap();
    let arguments = [
        "recv",
        "--listen",
        "127.0.0.1:0",
        "--tui",
        "--word=blue harbour",
        inbox,
    ];
    let mut terminal = Terminal::start(80, 24, &arguments);
    terminal.wait_for("no association yet");
    terminal.wait_for("send with: anabranch send FILE");
    terminal.wait_for("blue harbour");
    terminal.resize(1, 1);
    terminal.wait_until("one letter", |shown| shown.trim() == "a");
    terminal.resize(40, 12);
    terminal.wait_for("listening on 127.0.0.1:");
    terminal.press(CTRL_C);
    let ended = terminal.end();
    assert_eq!((ended.code, ended.is_terminal_restored), (Some(130), true));
    assert!(ended.text.contains("error: interrupted"), "{}", ended.text);
}

#[test]
fn signals_give_the_terminal_back() {
    for signal in ["-TERM", "-HUP", "-INT"] {
        let folder = tempfile::tempdir().unwrap();
        let inbox = folder.path().to_str().unwrap();
        let mut terminal = Terminal::start(80, 24, &["recv", "--listen", "127.0.0.1:0", "--tui", inbox]);
        terminal.wait_for("no association yet");
        terminal.signal(signal);
        let ended = terminal.end();
        assert_eq!(
            (ended.code, ended.is_terminal_restored),
            (Some(130), true),
            "{signal}"
        );
    }
}

#[test]
fn ctrl_z_stops_the_program_until_the_shell_continues_it() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = folder.path().to_str().unwrap();
    // The shell goes on when the program has stopped, and says so on the normal screen.
    let script = format!(
        "'{PROGRAM}' recv --listen 127.0.0.1:0 --tui '{inbox}'; stty -a; read -r -p 'continue? ' _; fg > /dev/null"
    );
    let mut terminal = Terminal::start_shell(&script);
    terminal.wait_for("no association yet");
    terminal.press(CTRL_Z);
    terminal.wait_for_shell("continue? ");
    terminal.press("\n");
    terminal.wait_for("no association yet");
    terminal.press("q");
    let ended = terminal.end();
    assert_eq!((ended.code, ended.is_terminal_restored), (Some(130), true));
    let modes = ended.text.split("continue? ").next().unwrap();
    assert!(modes.contains(" icanon ") && modes.contains(" echo "), "{modes}");
}

#[test]
fn typed_file_is_refused_because_keys_are_typed_too() {
    let terminal = Terminal::start(
        80,
        24,
        &["send", "-", "--name", "a", "--to", "127.0.0.1", "--tui"],
    );
    let ended = terminal.end();
    assert_eq!((ended.code, ended.is_terminal_restored), (Some(2), true));
    assert!(ended.text.contains("takes keys from"), "{}", ended.text);
}

#[test]
fn view_that_cannot_be_shown_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = folder.path().to_str().unwrap();
    for (options, text) in [
        (&["--tui"][..], "use --dashboard"),
        (&["--tui", "--json"], "leave out one"),
        (&["--tui", "--quiet"], "leave out one"),
    ] {
        let refused = run(&[&["recv", inbox], options].concat());
        let told = [refused.stdout, refused.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{options:?}: {told}");
        assert!(told.contains(text) && told.lines().count() == 1, "{told}");
    }
}
