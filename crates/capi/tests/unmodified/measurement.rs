//! Programs that measure: iperf3, netperfmeter, qperf, stress-ng.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::harness::{Running, has, library, port, program, run, source};

/// Runs iperf3's server and client for a transfer with these options.
fn iperf3(options: &[&str]) {
    if !has("/usr/bin/iperf3") {
        return;
    }
    let port = port();
    let mut server = program(
        "iperf3",
        ["--server", "--one-off", "--forceflush", "--port", &port],
    );
    let mut server = server.stderr(Stdio::null()).spawn().unwrap();
    // It listens when it has said so.
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Server listening")));
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<String>>());
    let arguments = [
        &[
            "--sctp",
            "--client",
            "127.0.0.1",
            "--port",
            &port,
            "--bytes",
            "20M",
        ],
        options,
    ];
    let told = run(&mut program("iperf3", arguments.concat()));
    let at_server = reader.join().unwrap();
    assert!(server.wait().unwrap().success(), "{at_server:?}");
    eprintln!("{told}");
    assert!(told.contains("iperf Done."), "{told}");
}

#[test]
fn iperf3_sends() {
    iperf3(&[]);
}

#[test]
fn iperf3_receives() {
    iperf3(&["--reverse"]);
}

#[test]
fn iperf3_sends_over_four_associations() {
    iperf3(&["--parallel", "4"]);
}

/// Two addresses of its own. Without `-4`, this version looks for addresses of IPv6.
#[test]
fn iperf3_sends_from_two_addresses() {
    iperf3(&["-4", "--xbind", "127.0.0.2", "--xbind", "127.0.0.3"]);
}

/// Over two links between two network namespaces, for which this test needs root. Both carry data; one is cut, and the transfer goes on.
fn iperf3_over_two_links(version: &str) {
    if !has("/usr/bin/iperf3") {
        return;
    }
    let allowed = Command::new("unshare")
        .args(["--net", "--mount", "true"])
        .output();
    if !allowed.as_ref().is_ok_and(|allowed| allowed.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "{allowed:?}");
        eprintln!("skipped: a network namespace needs root");
        return;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "--mount", "timeout", "--kill-after=1", "50", "sh"]);
    unshare.arg(source("two_links.sh")).arg(library()).arg(version);
    let output = unshare.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    eprintln!("{told}");
    assert!(
        output.status.success() && told.contains("both carried"),
        "{output:?}"
    );
}

#[test]
fn iperf3_goes_on_over_one_of_two_links_of_ipv4() {
    iperf3_over_two_links("4");
}

#[test]
fn iperf3_goes_on_over_one_of_two_links_of_ipv6() {
    iperf3_over_two_links("6");
}

/// It binds UDP at the port of its SCTP socket, so ours is elsewhere. Its control association is SCTP too.
#[test]
fn netperfmeter_measures() {
    if !has("/usr/bin/netperfmeter") {
        return;
    }
    let port = port();
    let ours: u16 = port.parse::<u16>().unwrap() - 1_000;
    let everywhere = ("ANABRANCH_UDP_PORT", "+64536");
    let mut serving = program("netperfmeter", [port.as_str()]);
    let server = Running::serve(serving.env(everywhere.0, everywhere.1), &ours.to_string());
    let folder = tempfile::tempdir().unwrap();
    let mut measuring = program(
        "netperfmeter",
        [
            &format!("127.0.0.1:{port}"),
            "-runtime=2",
            "-vector=vectors.vec.bz2",
            "-scalar=scalars.sca.bz2",
            "-sctp",
            "const20:const1000:const20:const1000",
        ],
    );
    let told = run(measuring.env(everywhere.0, everywhere.1).current_dir(&folder));
    let received = received_packets(&told);
    assert!(received.is_some_and(|count| count > 10), "{told}");
    server.interrupt();
}

/// The number of packets that have arrived, from the results.
fn received_packets(told: &str) -> Option<u64> {
    let (_, reception) = told.split_once("- Reception:")?;
    let (_, packets) = reception.split_once("Packets:")?;
    packets.split_whitespace().next()?.parse().ok()
}

#[test]
fn qperf_measures_bandwidth_and_latency() {
    if !has("/usr/bin/qperf") {
        return;
    }
    let port = port();
    let server = Running::start(&mut program("qperf", ["--listen_port", &port]));
    // It waits for the server.
    let told = run(&mut program(
        "qperf",
        [
            "--listen_port",
            &port,
            "--wait_server",
            "10",
            "--time",
            "1",
            "127.0.0.1",
            "sctp_bw",
            "sctp_lat",
        ],
    ));
    assert!(told.contains("bw  =") && told.contains("latency  ="), "{told}");
    server.interrupt();
}

/// Its server accepts in a child after a fork, whose client is the parent.
#[test]
fn stress_ng_passes() {
    if !has("/usr/bin/stress-ng") {
        return;
    }
    let port = port();
    let told = run(&mut program(
        "stress-ng",
        [
            "--sctp",
            "1",
            "--sctp-ops",
            "500",
            "--sctp-if",
            "lo",
            "--sctp-port",
            &port,
            "--metrics-brief",
            "--verify",
        ],
    ));
    let line = told.lines().find(|line| line.contains(" sctp "));
    let count = line.and_then(|line| {
        line.split(" sctp ")
            .nth(1)?
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    });
    assert!(count.is_some_and(|count| count >= 500), "{told}");
}
