//! Tests of `Quota`: a server ends the associations of a peer that has carried too much, and knows that after a restart. Needs curl.

use std::fs;

use serde_json::{Value, json};

use crate::harness::run;
use crate::json::check_event;
use crate::tunnel::{LOOPBACK, Tunnel, Web, curl, edit, event};

/// Long periods: a test that runs over the end of one fails once in a month.
fn quota(bytes: &str) -> String {
    format!("{LOOPBACK}\nQuota = {bytes}/month")
}

fn status(file: &str) -> Value {
    let told = run(&["tunnel", "status", "--json", file]);
    let told = serde_json::from_slice(&told.stdout).unwrap();
    check_event(&told);
    told
}

#[test]
fn peer_with_a_quota_carries_that_much_and_nothing_after_a_restart() {
    let mut tunnel = Tunnel::start(&quota("3MB"));
    let web = Web::start(&tunnel.folder, vec![7; 1_000_000]);
    let socks = format!("socks5h://{}", tunnel.socks);
    let Some(output) = curl(&["--proxy", &socks, &web.url()]) else {
        return;
    };
    assert_eq!(output.stdout.len(), 1_000_000);
    // Two more are too much. The last one may end at any place.
    for _ in 0..2 {
        curl(&["--proxy", &socks, &web.url()]);
    }
    let down = event(&mut tunnel.client, "tunnel-down");
    let message = down["message"].as_str().unwrap();
    assert!(
        message.contains("the quota of 3.0 MB a month is used up until"),
        "{message}"
    );
    let told = event(&mut tunnel.server, "tunnel-down");
    assert!(message.contains(told["message"].as_str().unwrap()), "{told}");
    let server = tunnel.file("server.conf");
    let told = status(&server)["peers"][0]["quota"].clone();
    assert_eq!(
        (&told["limit"], &told["period"]),
        (&json!(3_000_000), &json!("month"))
    );
    let used = told["used"].as_u64().unwrap();
    assert!((3_000_000..4_000_000).contains(&used), "{told}");
    // The end of the program stores it.
    tunnel.server.interrupt();
    assert_eq!(tunnel.server.exit_code(), Some(130));
    let mut restarted = tunnel.restart_server();
    let down = event(&mut restarted, "tunnel-down");
    let message = down["message"].as_str().unwrap();
    assert!(message.contains("the quota of 3.0 MB"), "{message}");
    assert_eq!(status(&server)["peers"][0]["tunnels"], json!([]));
    // A larger one holds without a restart.
    edit(server.as_ref(), |text| text.replace("3MB/month", "1GB/month"));
    let reloaded = run(&["tunnel", "reload", "--json", &server]);
    let reloaded: Value = serde_json::from_slice(&reloaded.stdout).unwrap();
    assert_eq!(reloaded["changes"].as_array().unwrap().len(), 1, "{reloaded}");
    event(&mut restarted, "tunnel-up");
}

#[test]
fn quota_of_a_peer_that_listens_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let [_, client] = crate::tunnel::init(&folder);
    edit(&client, |text| format!("{text}Quota = 1GB/month\n"));
    let checked = run(&["tunnel", "check", client.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(2));
    let text = String::from_utf8(checked.stderr).unwrap();
    let lines = fs::read_to_string(&client).unwrap();
    let line = 1 + lines.lines().position(|line| line == "[Peer]").unwrap();
    assert!(text.contains(&format!("client.conf:{line}: Quota")), "{text}");
}
