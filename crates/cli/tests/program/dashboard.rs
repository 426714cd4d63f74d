//! Tests of the live view: in a browser during a demo whose fastest path is cut, and by HTTP during a transfer and a tunnel.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::browser::{Page, chromium};
use crate::harness::{Receiver, Running, anabranch, file, run};
use crate::json::check_event;
use crate::tunnel::{edit, event, init, on_free_ports, start_server, start_server_for};

/// The body of an answer with code 200.
fn get(url: &str, target: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, query) = rest.split_once('/').unwrap();
    let mut socket = TcpStream::connect(host).unwrap();
    let request = format!("GET /{target}{query} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body.to_owned()
}

/// Where a program that was started with `--dashboard` has its live view.
fn address(running: &mut Running) -> String {
    let event = running.event("dashboard");
    check_event(&event);
    event["url"].as_str().unwrap().to_owned()
}

/// Whether two figures differ by at most 2 percent.
fn agree(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.02 * one.max(other)
}

/// Bytes of a path of a transfer that has ended: by its counters on the page, and by its rates over time.
fn carried_by(page: &mut Page, transfer: u64, path: usize) -> (f64, f64) {
    let of = format!("anabranch.transfers.get({transfer})");
    let shown = page.wait_for(&format!(
        "(() => {{
            const transfer = {of};
            const last = transfer.ended && transfer.sample.paths[{path}];
            let sum = 0, before = null;
            for (const {{ at, paths }} of transfer.points) {{
                const point = paths.find((known) => known[0] === last.path);
                // The first point stands for the time since the beginning.
                if (point && before !== null) sum += (point[1] + point[2]) * (at - before) / 8000;
                else if (point) sum += (point[1] + point[2]) * 0.25 / 8;
                before = at;
            }}
            return last && [last.sent_bytes + last.retransmitted_bytes + last.received_bytes, sum];
        }})()"
    ));
    (shown[0].as_f64().unwrap(), shown[1].as_f64().unwrap())
}

/// The cards of all paths.
const CARDS: &str = "[...document.querySelectorAll('.path')]";

/// Whether an event with this text is listed.
fn is_listed(text: &str) -> String {
    format!(
        "[...document.querySelectorAll('#events li')].some((line) => line.textContent.includes('{text}'))"
    )
}

#[test]
fn browser_shows_a_cut_path_and_the_counters_of_the_program() {
    let Some(chromium) = chromium() else {
        return;
    };
    let duration = if picture().is_some() { "12s" } else { "3s" };
    let mut command = anabranch();
    command.args(["demo", "--json", "--duration", duration, "--cut", "--dashboard"]);
    let mut demo = Running::start(&mut command);
    let url = address(&mut demo);
    let mut page = Page::open(chromium, &url);
    page.wait_for("document.getElementById('link').dataset.is === 'live'");
    demo.event("row");
    demo.event("row");
    shows_both_paths(&mut page);
    let together = demo.event("row");
    demo.event("cut");
    shows_the_cut(&mut page);
    fits_a_phone_in_the_dark(&mut page);
    take_picture(&mut page);
    let after_the_cut = demo.event("row");
    demo.event("demo");
    page.wait_for("document.getElementById('link').textContent === 'the program has ended'");
    for row in [together, after_the_cut] {
        agrees_with(&mut page, &row);
    }
    let (origin, _) = url.split_once('?').unwrap();
    let is_elsewhere = |asked: &&String| !asked.starts_with(origin) && !asked.starts_with("data:");
    assert_eq!(page.requests.iter().find(is_elsewhere), None);
    assert!(page.requests.len() >= 6, "{:?}", page.requests);
    assert!(page.errors.is_empty(), "{:#?}", page.errors);
    assert_eq!(demo.end().0, Some(0));
}

/// Both paths work and carry data, each at most what its link lets through.
fn shows_both_paths(page: &mut Page) {
    let rates = page.wait_for(&format!(
        "anabranch.shown === 3 && {CARDS}.length === 2
         && {CARDS}.every((card) => card.dataset.state === 'active')
         && anabranch.transfers.get(3).points.length > 4
         && anabranch.transfers.get(3).points.slice(-1)[0].paths.map((path) => path[1])"
    ));
    let rates: Vec<f64> = rates
        .as_array()
        .unwrap()
        .iter()
        .map(|rate| rate.as_f64().unwrap())
        .collect();
    // A burst may have been queued before.
    assert!(
        (1.0..20e6).contains(&rates[0]) && (1.0..80e6).contains(&rates[1]),
        "{rates:?}"
    );
    let said = page.wait_for("document.getElementById('sum').textContent");
    assert!(said.as_str().unwrap().contains("arrived"), "{said}");
    let charts = page.wait_for("document.querySelectorAll('#charts canvas').length");
    assert_eq!(charts, 4);
}

/// It is said at once, and the state is shown as soon as the association knows it.
fn shows_the_cut(page: &mut Page) {
    let cut = SystemTime::now();
    let says = format!("{} && Date.now()", is_listed("path 2 of the command is cut"));
    let failed = "['potentially-failed', 'inactive'].includes";
    let shows = format!("{failed}({CARDS}[1].dataset.state) && Date.now()");
    for (what, expression) in [("says", says), ("shows the state", shows)] {
        let seen = page.wait_for(&expression).as_f64().unwrap();
        let cut = cut.duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3;
        println!("the page {what} at most {:.0} ms after the cut", seen - cut);
    }
    page.wait_for(&is_listed("potentially-failed"));
    page.wait_for(&format!("{CARDS}[0].dataset.state === 'active'"));
}

/// What the page counts of a run is what the program has counted.
fn agrees_with(page: &mut Page, row: &Value) {
    let transfer = row["transfer"].as_u64().unwrap();
    for (path, carried) in row["row"]["carried"].as_array().unwrap().iter().enumerate() {
        let carried = carried.as_f64().unwrap();
        let (counted, by_rates) = carried_by(page, transfer, path);
        println!(
            "transfer {transfer}, path {path}: {carried} bytes, on the page {counted}, by its rates {by_rates:.0}"
        );
        assert!(agree(counted, carried), "{transfer}, {path}: {counted} {carried}");
        assert!(
            agree(by_rates, carried),
            "{transfer}, {path}: {by_rates} {carried}"
        );
    }
}

/// Nothing is cut off on a narrow screen, and a dark system gets a dark page.
fn fits_a_phone_in_the_dark(page: &mut Page) {
    let background = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(page.wait_for(background), "rgb(255, 255, 255)");
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    page.call("Emulation.setDeviceMetricsOverride", &phone);
    page.wait_for("innerWidth === 390 && document.documentElement.scrollWidth <= 390");
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    page.call("Emulation.setEmulatedMedia", &dark);
    page.wait_for(&format!("{background} === 'rgb(20, 23, 26)'"));
    page.call("Emulation.setEmulatedMedia", &json!({ "features": [] }));
}

/// The file that is to have the picture of README.md (`make picture`).
fn picture() -> Option<OsString> {
    std::env::var_os("ANABRANCH_PICTURE")
}

/// Takes the picture, if it is wanted.
fn take_picture(page: &mut Page) {
    let Some(file) = picture() else {
        return;
    };
    let window = json!({ "width": 1000, "height": 840, "deviceScaleFactor": 1, "mobile": false });
    page.call("Emulation.setDeviceMetricsOverride", &window);
    page.wait_for("innerWidth === 1000 && anabranch.transfers.get(4).points.length > 44");
    let shot = page.call("Page.captureScreenshot", &json!({ "format": "png" }));
    let mut decoder = Command::new("base64")
        .arg("--decode")
        .stdin(Stdio::piped())
        .stdout(fs::File::create(Path::new(&file)).unwrap())
        .spawn()
        .unwrap();
    let data = shot["data"].as_str().unwrap();
    decoder.stdin.take().unwrap().write_all(data.as_bytes()).unwrap();
    assert!(decoder.wait().unwrap().success());
}

#[test]
fn status_and_metrics_of_a_transfer_are_those_of_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big", 6 << 20);
    let mut receiver = Receiver::start("127.0.0.1,127.0.0.2", &["--dashboard"]);
    let url = receiver.url.clone().unwrap();
    let mut sender = receiver.sender(
        &path,
        &["--accept-new", "--limit-rate", "16Mbit", "--dashboard=127.0.0.1"],
    );
    let senders = address(&mut sender);
    let progress = sender.event("progress");
    receiver.running.event("progress");
    for (url, role) in [(&url, "receiver"), (&senders, "sender")] {
        let status: Value = serde_json::from_str(&get(url, "status.json")).unwrap();
        assert_eq!(
            (&status["schema"], &status["event"]),
            (&1.into(), &"status".into())
        );
        let transfer = &status["transfers"][0];
        let keys = |value: &Value| {
            value
                .as_object()
                .map(|fields| fields.keys().cloned().collect::<Vec<_>>())
        };
        let of_event: Vec<String> = keys(&progress)
            .unwrap()
            .into_iter()
            .filter(|key| !matches!(key.as_str(), "schema" | "event"))
            .collect();
        assert_eq!(keys(transfer), Some(of_event), "{role}");
        assert_eq!(keys(&transfer["paths"][0]), keys(&progress["paths"][0]), "{role}");
        let metrics = get(url, "metrics");
        assert!(
            metrics.contains("anabranch_path_rtt_seconds{name=\"big\",transfer=\"1\",path=\"0\"}"),
            "{role}: {metrics}"
        );
    }
    sender.event("summary");
    assert_eq!(sender.end().0, Some(0));
}

#[test]
fn status_of_a_tunnel_is_that_of_its_verb() {
    let folder = tempfile::tempdir().unwrap();
    let [server, client] = init(&folder);
    edit(&server, |text| on_free_ports(&text));
    let (mut server, addresses) = start_server(&server);
    edit(&client, |text| {
        let text = on_free_ports(&text)
            .replace("# Path = eth0", "Path = 127.0.0.3")
            .replace("# Path = wwan0", "Path = 127.0.0.4");
        text.replace("192.0.2.1:9899", &addresses.join(","))
    });
    let token = folder.path().join("token");
    fs::write(&token, "a-token-of-my-own\n").unwrap();
    let mut command = anabranch();
    command
        .args(["tunnel", "--json", "--dashboard", "--dashboard-token"])
        .arg(&token)
        .arg(&client);
    let mut tunnel = Running::start(&mut command);
    let url = address(&mut tunnel);
    assert!(url.ends_with("/?token=a-token-of-my-own"), "{url}");
    event(&mut server, "tunnel-up");
    event(&mut tunnel, "tunnel-up");
    let status: Value = serde_json::from_str(&get(&url, "status.json")).unwrap();
    assert_eq!(check_event(&status), "tunnel-status");
    let told = run(&["tunnel", "status", "--json", client.to_str().unwrap()]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    for field in ["name", "key"] {
        assert_eq!(status["peers"][0][field], told["peers"][0][field]);
    }
    let number = &status["peers"][0]["tunnels"][0]["transfer"];
    let labels = format!("{{name=\"server\",transfer=\"{number}\",path=\"0\"}}");
    let metrics = get(&url, "metrics");
    assert!(
        metrics.contains(&format!("anabranch_path_active{labels}")),
        "{metrics}"
    );
    tunnel.interrupt();
    assert_eq!(tunnel.end().0, Some(130));
}

/// The events of the live view that a file has, and the names of its associations.
fn kept(history: &Path) -> (Vec<Value>, Vec<String>) {
    let kept: Value = serde_json::from_slice(&fs::read(history).unwrap()).unwrap();
    let transfers = kept["transfers"].as_array().unwrap();
    let names = transfers
        .iter()
        .map(|transfer| transfer["name"].as_str().unwrap().to_owned());
    (kept["events"].as_array().unwrap().clone(), names.collect())
}

#[test]
fn history_of_the_live_view_outlives_the_tunnel() {
    let folder = tempfile::tempdir().unwrap();
    let [server, client] = init(&folder);
    let mut server = start_server_for(&client, &server);
    let history = folder.path().join("history");
    fs::write(&history, "none of ours").unwrap();
    let mut before = Vec::new();
    for is_first in [true, false] {
        let mut command = anabranch();
        command.args(["tunnel", "--json", "--dashboard", "--history"]);
        let mut tunnel = Running::start(command.arg(&history).arg(&client));
        if is_first {
            let warning = tunnel.event("warning");
            assert!(
                warning["message"].as_str().unwrap().contains("history.bad"),
                "{warning}"
            );
        }
        event(&mut server, "tunnel-up");
        event(&mut tunnel, "tunnel-up");
        tunnel.interrupt();
        assert_eq!(tunnel.end().0, Some(130));
        let (events, names) = kept(&history);
        assert_eq!(names, ["server"]);
        assert!(events.len() > before.len(), "{events:?}");
        assert_eq!(events[..before.len()], before);
        before = events;
    }
}

#[test]
fn history_without_a_live_view_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [_, client] = init(&folder);
    let refused = run(&["tunnel", "--history", "history", client.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--dashboard"));
}

#[test]
fn live_view_without_a_place_or_with_a_bad_token_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "short").unwrap();
    let inbox = folder.path().to_str().unwrap();
    let refused = run(&[
        "recv",
        "--dashboard",
        "--dashboard-token",
        token.to_str().unwrap(),
        inbox,
    ]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(2) && error.contains("at least 16"),
        "{error}"
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("--dashboard={}", taken.local_addr().unwrap());
    let refused = run(&["recv", &place, inbox]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1) && error.contains("in use"),
        "{error}"
    );
}
