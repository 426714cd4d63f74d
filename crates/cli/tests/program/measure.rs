//! Tests of `anabranch test`. Do both ends report what arrived, in the shape of iperf3's JSON, whatever ends the test?

use std::io::{BufRead, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};

use anabranch::{Association, Endpoint, Message, StreamId};
use serde_json::Value;

use crate::harness::{PROGRAM, Receiver, Running, anabranch, file, ip, needs_root, run, send_signal};

/// A server of tests and where it listens.
pub(crate) struct Server {
    running: Running,
    /// As clients take it.
    to: String,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = anabranch();
        command.args([
            "test",
            "--server",
            "--json",
            "--listen",
            "127.0.0.1:0,127.0.0.2:0",
        ]);
        let mut running = Running::start(command.args(options));
        let listening = running.event("test-listening");
        let to = listening["to"].as_str().unwrap().to_owned();
        Self { running, to }
    }

    pub(crate) fn client(&self, options: &[&str]) -> Output {
        run(&[&["test", &self.to, "--from", "127.0.0.3,127.0.0.4"], options].concat())
    }

    /// The results of a client.
    fn results(&self, options: &[&str]) -> Value {
        let output = self.client(&[&["--json"], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A client that runs, after its first interval.
    fn running_client(&self) -> Child {
        let mut command = Command::new(PROGRAM);
        command
            .env("XDG_CONFIG_HOME", crate::harness::CONFIGURATION)
            .args(["test", &self.to, "--time", "120s", "--interval", "50ms"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("sent") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0);
        }
        child.stdout = Some(lines.into_inner());
        child
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn bytes(sum: &Value) -> u64 {
    sum["bytes"].as_u64().unwrap()
}

#[test]
fn both_ends_report_what_arrived_over_each_path() {
    let mut server = Server::start(&["--one-off"]);
    let results = server.results(&["--time", "600ms", "--interval", "100ms"]);
    let end = &results["end"];
    let received = bytes(&end["sum_received"]);
    assert!(received > 0 && received == bytes(&end["sum_sent"]), "{end:#}");
    assert_eq!(end["sum_received"]["sender"], false);
    // Both ends report all paths.
    for by in ["client", "server"] {
        let paths = end["paths"].as_array().unwrap().iter();
        let carrying =
            paths.filter(|path| path["measured_by"] == by && path["bits_per_second"].as_f64() > Some(0.0));
        assert!(carrying.count() >= 2, "{by}: {end:#}");
    }
    // Namespaces and loopback have one clock.
    assert_eq!(end["one_way_delay"]["clock"], "same");
    assert_eq!(end["one_way_delay"]["error_ms"], Value::Null);
    let delays = &end["one_way_delay"];
    let order = ["min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms"].map(|name| delays[name].as_f64().unwrap());
    assert!(order.is_sorted() && order[0] >= 0.0, "{delays}");
    assert!(end["round_trip_time"]["count"].as_u64() > Some(0), "{end:#}");
    let intervals = results["intervals"].as_array().unwrap();
    let sum: u64 = intervals.iter().map(|interval| bytes(&interval["sum"])).sum();
    assert_eq!(sum, bytes(&end["sum_sent"]));
    // The server has the same results.
    let of_server = server.running.event("test");
    for sum in ["sum_sent", "sum_received", "one_way_delay"] {
        assert_eq!(of_server["end"][sum], end[sum]);
    }
    assert_eq!(server.running.end(), (Some(0), String::new()));
}

#[test]
fn number_of_bytes_arrives_in_the_reverse_direction() {
    let server = Server::start(&[]);
    let results = server.results(&["--reverse", "--bytes", "3MB"]);
    let end = &results["end"];
    for sum in ["sum_sent", "sum_received"] {
        assert_eq!(
            (bytes(&end[sum]), &end[sum]["messages"]),
            (3_000_000, &46.into()),
            "{sum}"
        );
    }
    assert_eq!(results["start"]["test_start"]["reverse"], 1);
    assert_eq!(results["start"]["test_start"]["encrypted"], true);
}

#[test]
fn streams_of_parallel_associations_are_apart_in_both_directions() {
    let server = Server::start(&[]);
    let options = [
        "--bidir",
        "-P",
        "2",
        "--streams",
        "3",
        "-n",
        "2MB",
        "-l",
        "10000",
        "--unordered",
    ];
    let results = server.results(&options);
    let end = &results["end"];
    for sum in ["sum_received", "sum_received_bidir_reverse"] {
        assert_eq!(bytes(&end[sum]), 2_000_000, "{sum}");
    }
    let streams = end["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 12);
    let numbers = |stream: &Value| {
        [&stream["receiver"]["socket"], &stream["receiver"]["stream"]].map(|n| n.as_u64().unwrap())
    };
    let expected = [1, 2]
        .into_iter()
        .flat_map(|socket| [1, 2, 3].map(|stream| [socket, stream]));
    let expected: Vec<_> = expected.clone().chain(expected).collect();
    assert_eq!(streams.iter().map(numbers).collect::<Vec<_>>(), expected);
    for stream in streams {
        assert_eq!(
            stream["sender"]["messages"], stream["receiver"]["messages"],
            "{stream}"
        );
    }
    assert_eq!(results["start"]["connected"].as_array().unwrap().len(), 2);
}

/// Where nothing is lost, nothing has to be abandoned.
#[test]
fn unreliable_messages_are_measured() {
    let server = Server::start(&[]);
    let limits = [["--retransmissions", "0"], ["--lifetime", "60s"]];
    for limit in limits {
        let results = server.results(&[limit[0], limit[1], "--unordered", "-n", "200kB", "-l", "1kB"]);
        let (end, task) = (&results["end"], &results["start"]["test_start"]);
        assert!(bytes(&end["sum_received"]) <= bytes(&end["sum_sent"]), "{end:#}");
        assert!(
            end["abandoned"].is_u64() && task["unordered"] == true,
            "{results:#}"
        );
        let named = [&task["retransmissions"], &task["lifetime_seconds"]];
        assert_eq!(named.iter().filter(|limit| !limit.is_null()).count(), 1, "{task}");
    }
}

/// Programs that read iperf3's results find the same names here.
#[test]
fn results_have_the_names_of_iperf3() {
    let server = Server::start(&[]);
    let results = server.results(&["--time", "300ms", "--interval", "100ms"]);
    let names = [
        "/start/version",
        "/start/timestamp/timesecs",
        "/start/connected/0/socket",
        "/start/connected/0/local_host",
        "/start/connected/0/remote_port",
        "/start/test_start/protocol",
        "/start/test_start/num_streams",
        "/start/test_start/blksize",
        "/start/test_start/duration",
        "/start/test_start/bytes",
        "/start/test_start/reverse",
        "/start/test_start/bidir",
        "/start/test_start/target_bitrate",
        "/intervals/0/streams/0/socket",
        "/intervals/0/streams/0/bits_per_second",
        "/intervals/0/sum/start",
        "/intervals/0/sum/end",
        "/intervals/0/sum/seconds",
        "/intervals/0/sum/bytes",
        "/intervals/0/sum/bits_per_second",
        "/intervals/0/sum/omitted",
        "/intervals/0/sum/sender",
        "/end/streams/0/sender/bytes",
        "/end/streams/0/receiver/bytes",
        "/end/sum_sent/bits_per_second",
        "/end/sum_received/seconds",
        "/end/cpu_utilization_percent/host_total",
        "/end/cpu_utilization_percent/remote_total",
    ];
    for name in names {
        assert!(
            results.pointer(name).is_some_and(|value| !value.is_null()),
            "{name}"
        );
    }
}

#[test]
fn beginning_that_is_omitted_is_not_in_the_results() {
    let server = Server::start(&[]);
    let results = server.results(&[
        "--time",
        "300ms",
        "--omit",
        "200ms",
        "--interval",
        "100ms",
        "--rate",
        "80Mbit",
    ]);
    let intervals = results["intervals"].as_array().unwrap();
    let sum_of = |omitted: bool| {
        let intervals = intervals
            .iter()
            .filter(|interval| interval["sum"]["omitted"] == omitted);
        intervals.map(|interval| bytes(&interval["sum"])).sum::<u64>()
    };
    assert!(sum_of(true) > 0);
    assert_eq!(sum_of(false), bytes(&results["end"]["sum_sent"]));
}

/// The intervals do not decide when measuring begins.
#[test]
fn omitted_beginning_ends_within_an_interval() {
    let server = Server::start(&[]);
    let results = server.results(&["--time", "500ms", "--omit", "200ms", "--rate", "80Mbit"]);
    let sent = &results["end"]["sum_sent"];
    assert!(bytes(sent) > 0 && sent["seconds"].as_f64() > Some(0.0), "{sent}");
    let intervals = results["intervals"].as_array().unwrap().iter();
    let omitted: Vec<_> = intervals
        .map(|interval| interval["sum"]["omitted"] == true)
        .collect();
    assert_eq!(omitted, [true, false]);
    assert_eq!(bytes(&results["intervals"][1]["sum"]), bytes(sent));
}

#[test]
fn interrupted_client_prints_results() {
    let server = Server::start(&[]);
    let mut client = server.running_client();
    send_signal(client.id(), "-INT");
    let mut shown = String::new();
    client.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert_eq!(client.wait().unwrap().code(), Some(130));
    assert!(shown.contains("client to server: received "), "{shown}");
    assert!(shown.contains("the test ended early: interrupted"), "{shown}");
    // The server serves the next client.
    server.results(&["--bytes", "1MB"]);
}

#[test]
fn interrupted_server_prints_results_and_tells_its_client() {
    let mut server = Server::start(&[]);
    let client = server.running_client();
    server.running.interrupt();
    let results = server.running.event("test");
    assert!(bytes(&results["end"]["sum_received"]) > 0, "{results:#}");
    assert_eq!(results["error"], "interrupted");
    assert_eq!(server.running.end().0, Some(130));
    let told = client.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    let (shown, line) = (text(told.stdout), text(told.stderr));
    assert!(shown.contains("client to server: sent "), "{shown}");
    let told = "the server ended the test: the server was interrupted";
    assert!(line.contains(told), "{line}");
}

#[test]
fn busy_server_says_so_and_outlives_its_client() {
    let server = Server::start(&["--timeout", "2s"]);
    let mut client = server.running_client();
    let refused = server.client(&["--time", "1s"]);
    assert_eq!(refused.status.code(), Some(1));
    let line = text(refused.stderr);
    assert!(line.contains("another test is running"), "{line}");
    client.kill().unwrap();
    client.wait().unwrap();
    // The killed client does not say that it has gone.
    let mut server = server;
    let failure = server.running.event("error");
    assert!(
        failure["message"].as_str().unwrap().contains("127.0.0."),
        "{failure}"
    );
    server.results(&["--bytes", "1MB"]);
}

/// A server of tests in the clear, and an association with it that says what it likes.
fn with_unknown_peer(test: impl AsyncFnOnce(Server, Association)) {
    let mut command = anabranch();
    command.args(["test", "--server", "--json", "--insecure"]);
    command.args(["--timeout", "1h", "--listen", "127.0.0.1:0"]);
    let mut running = Running::start(&mut command);
    let listening = running.event("test-listening");
    let to = listening["addresses"][0].as_str().unwrap().to_owned();
    let address: SocketAddr = to.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(async {
        let builder = Endpoint::builder().insecure().local("127.0.0.3:0");
        let endpoint = builder.bind().await.unwrap();
        let association = endpoint.connect(address).await.unwrap();
        test(Server { running, to }, association).await;
    });
}

/// A task that asks for nothing unusual.
const TASK: &str = r#"{"type":"test","version":1,"salt":"","clock":"","task":{"direction":"forward","seconds":1.0,"omit_seconds":0.0,
    "interval_seconds":1.0,"associations":1,"streams":1,"length":1000,"traffic":{"kind":"constant"},"unordered":false}}"#;

async fn say(association: &Association, text: &str) {
    let message = Message::new(StreamId(0), text.to_owned());
    association.send(message).await.unwrap();
}

async fn answer(association: &Association) -> String {
    let message = association.recv().await.unwrap().unwrap();
    text(message.payload.to_vec())
}

#[test]
fn association_that_names_no_test_is_aborted() {
    with_unknown_peer(async |_server, association| {
        say(&association, r#"{"type":"data","test":"guess","number":0}"#).await;
        let reason = association.closed().await.to_string();
        assert!(reason.contains("there is no such test"), "{reason}");
    });
}

#[test]
fn unknown_peer_of_a_server_of_tests_gets_a_small_buffer() {
    with_unknown_peer(async |_server, association| {
        assert_eq!(association.statistics().peer_window, 64 << 10);
        say(&association, TASK).await;
        let accepted = answer(&association).await;
        assert!(accepted.contains(r#""type":"accept""#), "{accepted}");
        assert!(association.statistics().peer_window > 1 << 20);
    });
}

/// One source may hold 256 associations, and another one has a place.
#[test]
fn silent_peers_of_one_source_do_not_keep_others_from_a_server_of_tests() {
    with_unknown_peer(async |server, association| {
        let address = association.peer_addr().unwrap();
        let builder = Endpoint::builder().insecure().local("127.0.0.3:0");
        let endpoint = builder.bind().await.unwrap();
        let mut silent = vec![association];
        for _ in 1..256 {
            silent.push(endpoint.connect(address).await.unwrap());
        }
        let refused = endpoint.connect(address).await.unwrap_err();
        assert!(refused.to_string().contains("out of resource"), "{refused}");
        let output = run(&[
            "test",
            &server.to,
            "--insecure",
            "--bytes",
            "100kB",
            "--from",
            "127.0.0.4",
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    });
}

/// Neither associations that do not come nor questions without end keep the server from ending.
#[test]
fn server_can_be_interrupted_while_a_test_is_set_up() {
    for joins in [false, true] {
        with_unknown_peer(async |server, association| {
            say(&association, TASK).await;
            let accepted: Value = serde_json::from_str(&answer(&association).await).unwrap();
            if joins {
                let test = accepted["test"].as_str().unwrap();
                say(&association, r#"{"type":"clock","sent":1}"#).await;
                let address = association.peer_addr().unwrap();
                let builder = Endpoint::builder().insecure().local("127.0.0.4:0");
                let endpoint = builder.bind().await.unwrap();
                let data = endpoint.connect(address).await.unwrap();
                say(&data, &format!(r#"{{"type":"data","test":"{test}","number":0}}"#)).await;
                assert!(answer(&association).await.contains("ready"));
                assert!(answer(&association).await.contains("clock"));
            }
            server.running.interrupt();
            let told = answer(&association).await;
            assert!(told.contains("the server was interrupted"), "{told}");
            association.abort("goodbye");
            assert_eq!(server.running.end().0, Some(130));
        });
    }
}

#[test]
fn refused_client_does_not_end_the_server() {
    with_unknown_peer(async |server, association| {
        say(&association, &TASK.replace(r#""version":1"#, r#""version":7"#)).await;
        let told = answer(&association).await;
        assert!(told.contains("version 7"), "{told}");
        let output = run(&["test", &server.to, "--insecure", "--bytes", "100kB"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    });
}

/// More of them than are set up at once.
#[test]
fn many_associations_are_numbered_in_order() {
    let server = Server::start(&[]);
    let results = server.results(&["-P", "20", "-n", "200kB", "-l", "1kB"]);
    let connected = results["start"]["connected"].as_array().unwrap();
    let numbers = connected.iter().map(|each| each["socket"].as_u64().unwrap());
    assert!(numbers.eq(1..=20), "{connected:?}");
    assert_eq!(bytes(&results["end"]["sum_received"]), 200_000);
}

#[test]
fn tests_are_encrypted_unless_both_ends_leave_it_out() {
    let server = Server::start(&[]);
    let (_, addresses) = server.to.split_once('@').unwrap();
    let clear = run(&["test", addresses, "--insecure", "--timeout", "1s"]);
    let line = text(clear.stderr);
    assert!(line.contains("do both ends encrypt"), "{line}");
    assert_eq!(
        server.results(&["-n", "100kB"])["start"]["test_start"]["encrypted"],
        true
    );
}

#[test]
fn programs_for_files_and_for_tests_tell_each_other_apart() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "a", 10);
    let sent = run(&["send", path.to_str().unwrap(), "--to", &server.to]);
    let line = text(sent.stderr);
    assert!(line.contains("server of tests"), "{line}");
    let receiver = Receiver::start("127.0.0.1", &[]);
    let tested = run(&["test", &receiver.to]);
    let line = text(tested.stderr);
    assert!(
        line.contains("does `anabranch test --server` run there?") && !line.contains("final"),
        "{line}"
    );
    // `check` works with both.
    assert_eq!(run(&["check", &server.to]).status.code(), Some(0));
}

#[test]
fn tasks_that_cannot_be_done_are_refused_at_once() {
    for (options, reason) in [
        (&["--traffic", "poisson"][..], "a Poisson process needs a rate"),
        (&["--length", "2MB"], "16 to 1048576"),
        (&["-P", "200"], "1 to 128"),
        (&["--traffic", "on-off:1s"], "on-off:TIME,TIME"),
    ] {
        let refused = run(&[&["test", "127.0.0.1"], options].concat());
        let line = text(refused.stderr);
        assert!(
            refused.status.code() == Some(2) && line.contains(reason),
            "{line}"
        );
    }
}

/// The comparison with iperf3 in a short form. What it finds is not judged: other tests use the processor at the same time.
#[test]
fn rates_are_compared_with_those_of_iperf3() {
    let probe = format!("ev-{}", std::process::id());
    let made = needs_root("network namespaces", || {
        ip(&["netns", "add", &probe]).then_some(())
    });
    if made.is_none() {
        return;
    }
    assert!(ip(&["netns", "delete", &probe]));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/agreement");
    let mut command = Command::new("python3");
    command.args([
        script,
        PROGRAM,
        "--seconds",
        "1",
        "--omit",
        "0",
        "--rounds",
        "1",
        "--rates",
        "4,8",
    ]);
    let output = command.output().unwrap();
    let lines = text(output.stdout);
    let rates = lines.lines().skip(1).map(|line| {
        let (_, found) = line.split_once(": iperf3 ").unwrap();
        let (tcp, found) = found.split_once(", anabranch test ").unwrap();
        let (sctp, _) = found.split_once(", ").unwrap();
        [tcp, sctp].map(|rate| rate.parse::<f64>().unwrap())
    });
    let rates: Vec<_> = rates.collect();
    assert_eq!(rates.len(), 3, "{lines}{}", text(output.stderr));
    assert!(rates.iter().flatten().all(|rate| *rate > 0.0), "{lines}");
}
