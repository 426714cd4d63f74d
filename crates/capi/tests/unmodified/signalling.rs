//! Programs of telephone networks: osmo-stp (M3UA), freeDiameter, SIPp, Kamailio.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::harness::{Running, has, port, program, run};

/// Starts a program; waits until a line of its standard error has these words.
fn await_line(command: &mut Command, words: &str) {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut seen = Vec::new();
    let found = lines.by_ref().map_while(Result::ok).any(|line| {
        let found = line.contains(words);
        seen.push(line);
        found
    });
    let _ = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    lines.for_each(drop);
    child.wait().unwrap();
    assert!(found, "no line with {words}: {seen:#?}");
}

/// A signalling gateway and an application server process, which becomes active by M3UA over one-to-one style sockets.
#[test]
fn osmo_stp_activates_an_application_server() {
    if !has("/usr/bin/osmo-stp") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (gateway, process) = (port(), port());
    let configuration = |lines: &str, vty: &str| {
        format!(
            "log stderr\n logging color 0\n logging level lss7 debug\nline vty\n no login\n bind {vty}\ncs7 instance 0\n{lines}"
        )
    };
    let of_gateway = format!(
        " asp asp1 {process} {gateway} m3ua\n  remote-ip 127.0.0.1\n  local-ip 127.0.0.1\n  role sg\n  sctp-role server\n \
         as as1 m3ua\n  asp asp1\n  routing-key 2 0.0.2\n listen m3ua {gateway}\n  local-ip 127.0.0.1\n"
    );
    let of_process = format!(
        " point-code 0.0.2\n asp asp1 {gateway} {process} m3ua\n  remote-ip 127.0.0.1\n  local-ip 127.0.0.1\n  role asp\n  \
         sctp-role client\n as as1 m3ua\n  asp asp1\n  routing-key 2 0.0.2\n"
    );
    // Addresses of their telnet interfaces, whose port is fixed.
    fs::write(
        folder.path().join("gateway"),
        configuration(&of_gateway, "127.0.71.1"),
    )
    .unwrap();
    fs::write(
        folder.path().join("process"),
        configuration(&of_process, "127.0.71.2"),
    )
    .unwrap();
    let mut serving = program("osmo-stp", ["--config-file", "gateway"]);
    let server = Running::serve(serving.current_dir(&folder), &gateway);
    let mut connecting = program("osmo-stp", ["--config-file", "process"]);
    await_line(connecting.current_dir(&folder), "state_chg to AS_ACTIVE");
    let told = server.interrupt();
    assert!(told.contains("state_chg to AS_ACTIVE"), "{told}");
    // A listening socket that looks writable has it accept in vain, all the time.
    assert!(!told.contains("failed to accept"), "{told}");
}

/// Two Diameter peers exchange capabilities, and end their server threads by cancellation. They refuse loopback addresses, so they have
/// a network namespace, for which this test needs root.
#[test]
fn free_diameter_peers_connect() {
    if !has("/usr/bin/freeDiameterd") || !has("/usr/bin/openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let (subject, key, certificate) = (
            format!("/CN={name}.test"),
            format!("{name}.key"),
            format!("{name}.pem"),
        );
        let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", &subject];
        let files = ["-keyout", &key, "-out", &certificate];
        run(Command::new("openssl").args(new).args(files).current_dir(&folder));
    }
    for (name, address, other, remote) in [
        ("a", "10.72.0.1", "b", "10.72.0.2"),
        ("b", "10.72.0.2", "a", "10.72.0.1"),
    ] {
        let configuration = format!(
            "Identity = \"{name}.test\";\nRealm = \"test\";\nPort = 3868;\nSecPort = 0;\nListenOn = \"{address}\";\nNo_TCP;\nNo_IPv6;\n\
             TcTimer = 6;\nTLS_Cred = \"{name}.pem\", \"{name}.key\";\nTLS_CA = \"{name}.pem\";\n\
             ConnectPeer = \"{other}.test\" {{ ConnectTo = \"{remote}\"; No_TLS; No_TCP; }};\n"
        );
        fs::write(folder.path().join(name), configuration).unwrap();
    }
    // The pipe stays open, for what they write when they end.
    let script = "ip link set lo up; ip addr add 10.72.0.1/32 dev lo; ip addr add 10.72.0.2/32 dev lo
        export LD_PRELOAD=$1; mkfifo lines
        freeDiameterd -c a >lines 2>&1 & first=$!
        exec 3<lines
        freeDiameterd -c b >second 2>&1 & second=$!
        while read -r line; do echo \"$line\"; case $line in *STATE_OPEN*) break;; esac; done <&3
        kill -TERM $second; wait $second; echo second $?
        kill -TERM $first; wait $first; echo first $?";
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "timeout", "40", "sh", "-c", script, "sh"]);
    let output = unshare
        .arg(crate::harness::library())
        .current_dir(&folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    if told.is_empty() && !output.status.success() {
        assert!(std::env::var_os("CI").is_none(), "{output:?}");
        eprintln!("skipped: a network namespace needs root");
        return;
    }
    assert!(told.contains("STATE_OPEN"), "{told}");
    assert!(told.contains("second 0") && told.contains("first 0"), "{told}");
}

/// Ten calls.
#[test]
fn sipp_calls() {
    if !has("/usr/bin/sipp") {
        return;
    }
    let (server_port, client_port) = (port(), port());
    let folder = tempfile::tempdir().unwrap();
    // Both use UDP at the port of their SCTP socket, so ours are elsewhere.
    let offset = ("ANABRANCH_UDP_PORT", "+64536");
    let ours = server_port.parse::<u16>().unwrap() - 1_000;
    let mut serving = program(
        "sipp",
        [
            "-sn",
            "uas",
            "-t",
            "s1",
            "-i",
            "127.0.0.1",
            "-p",
            &server_port,
            "-nostdin",
            "-m",
            "10",
        ],
    );
    let server = Running::serve(
        serving.env(offset.0, offset.1).current_dir(&folder),
        &ours.to_string(),
    );
    let remote = format!("127.0.0.1:{server_port}");
    let mut calling = program(
        "sipp",
        [
            "-sn",
            "uac",
            "-t",
            "s1",
            "-i",
            "127.0.0.1",
            "-p",
            &client_port,
            "-nostdin",
            "-m",
            "10",
            "-r",
            "50",
            &remote,
        ],
    );
    let told = run(calling.env(offset.0, offset.1).current_dir(&folder));
    let successes = told.lines().rev().find(|line| line.contains("Successful call"));
    assert!(
        successes.is_some_and(|line| line.trim_end().ends_with(" 10")),
        "{told}"
    );
    server.interrupt();
}

/// A SIP server, whose processes receive from a one-to-many style socket that their parent has bound, answers SIPp.
#[test]
fn kamailio_answers() {
    const MODULES: &str = "/usr/lib/x86_64-linux-gnu/kamailio/modules";
    if !has("/usr/sbin/kamailio") || !has("/usr/bin/sipp") || !has(&format!("{MODULES}/sctp.so")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (server_port, client_port, ours) = (port(), port(), port());
    let offset = ours
        .parse::<u16>()
        .unwrap()
        .wrapping_sub(server_port.parse().unwrap());
    let offset = ("ANABRANCH_UDP_PORT", format!("+{offset}"));
    let configuration = format!(
        "log_stderror=yes\nchildren=2\nenable_sctp=yes\ndisable_tcp=yes\nlisten=sctp:127.0.0.1:{server_port}\n\
         loadmodule \"{MODULES}/sctp.so\"\nloadmodule \"{MODULES}/sl.so\"\nloadmodule \"{MODULES}/pv.so\"\n\
         request_route {{\n sl_send_reply(\"200\", \"Here\");\n}}\n"
    );
    fs::write(folder.path().join("kamailio.cfg"), configuration).unwrap();
    let request = "OPTIONS sip:[service]@[remote_ip]:[remote_port] SIP/2.0\nVia: SIP/2.0/[transport] \
                   [local_ip]:[local_port];branch=[branch]\nFrom: <sip:a@[local_ip]>;tag=[call_number]\nTo: \
                   <sip:[service]@[remote_ip]>\nCall-ID: [call_id]\nCSeq: 1 OPTIONS\nContent-Length: 0\n\n";
    let scenario = format!(
        "<?xml version=\"1.0\"?>\n<scenario name=\"options\">\n<send><![CDATA[\n{request}]]></send>\n\
         <recv response=\"200\"></recv>\n</scenario>\n"
    );
    fs::write(folder.path().join("options.xml"), scenario).unwrap();
    let state = folder.path().to_str().unwrap();
    let in_foreground = ["-DD", "-E", "-m", "64", "-M", "8"];
    let mut serving = program("kamailio", ["-f", "kamailio.cfg", "-Y", state, "-w", state]);
    serving.args(in_foreground).env(offset.0, &offset.1);
    let server = Running::serve(serving.current_dir(&folder), &ours);
    let remote = format!("127.0.0.1:{server_port}");
    let mut calling = program(
        "sipp",
        ["-sf", "options.xml", "-t", "s1", "-i", "127.0.0.1", "-nostdin"],
    );
    calling.args(["-p", &client_port, "-m", "10", "-r", "50", &remote]);
    let told = run(calling.env(offset.0, &offset.1).current_dir(&folder));
    let successes = told.lines().rev().find(|line| line.contains("Successful call"));
    assert!(
        successes.is_some_and(|line| line.trim_end().ends_with(" 10")),
        "{told}"
    );
    server.interrupt();
}
