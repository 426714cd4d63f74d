//! Tests of experiment runs. Are they reproducible, found again after an interruption, and complete?

mod files;
mod rounds;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::{Cache, Progress, Record, RunError, Runner, simulate};
use crate::metric;
use crate::plan::{Plan, PlanOptions};

pub(super) const PLAN: &str = r#"
title = "Everything that can be measured"
claim = "it is"
repetitions = 2

[time]
warm-up = "500ms"
measure = "1s"

[paths.north]
rate = "unlimited"
delay = "1ms"

[paths.south]
rate = "20Mbit"
delay = "5ms"
reverse.delay = "8ms"

[bottleneck]
rate = "10Mbit"
queue = { packets = 20 }

[policies]
profile = "cmt"

[hosts.near]
processor = "desktop-3.5ghz"

[apps.sender]
kind = "bulk"
message = 1400
streams = 2

[cross-traffic.other]
policies.profile = "rfc9260"
apps.sender = { kind = "bulk", message = 1400 }

[record]
time-series = "100ms"
histograms = true
"#;

pub(super) fn plan(text: &str) -> Plan {
    Plan::read(Path::new("x.toml"), text, &PlanOptions::default()).unwrap()
}

fn go() -> AtomicBool {
    AtomicBool::new(false)
}

#[test]
fn metrics_of_a_run_match_the_list() {
    let plan = plan(PLAN);
    let record = simulate(&plan.points[0], &go()).unwrap();
    let listed = metric::names(plan.points.iter().map(|point| &*point.setting));
    let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    let measured: BTreeSet<&str> = record.values.keys().map(String::as_str).collect();
    assert_eq!(measured, listed);
    let histograms: Vec<&str> = record.histograms.keys().map(String::as_str).collect();
    assert_eq!(
        histograms,
        ["delay", "processor.near.sack", "sack.blocks", "sack.tsns"]
    );
    assert_eq!(
        record.time_series.len(),
        15 * 2 - 2,
        "from 0.1 s to 1.4 s, a row for each path"
    );
}

#[test]
fn metrics_of_a_run_are_consistent() {
    let plan = plan(PLAN);
    let record = simulate(&plan.points[0], &go()).unwrap();
    let value = |name: &str| record.values[name];
    let streams = value("stream.0.goodput") + value("stream.1.goodput");
    assert!((value("goodput") - streams).abs() < 1e-9);
    let all = value("goodput") + value("cross-traffic.other.goodput");
    assert!((8.0..9.7).contains(&all), "{all} of the bottleneck's 10 Mbit/s");
    assert!(value("path.north.srtt.mean") > 2.0);
    assert!(value("path.south.srtt.mean") > value("path.north.srtt.mean") + 8.0);
    assert!(value("bottleneck.idle") < 0.1);
    assert!(value("delay.p50") <= value("delay.p95"));
    assert!(value("path.south.rto.mean") <= value("path.south.rto.max"));
    let arrived = value("path.north.throughput") + value("path.south.throughput");
    assert!(arrived >= value("goodput") * 0.99, "{arrived}");
    // Over one second, with a processor that needs less than a microsecond per SACK.
    let micros = value("processor.near.sack-utilization") * 1e6;
    let of_one = value("processor.near.sack.mean");
    assert!(
        (micros / value("sacks") / of_one - 1.0).abs() < 0.02,
        "{of_one} of {micros} µs"
    );
}

#[test]
fn added_path_carries_data_only_after_joining() {
    let joining = PLAN.replace(
        "[policies]",
        "[[script]]\nat = \"1s\"\njoin = \"south\"\n\n[policies]\nadd-ip = \"on\"",
    );
    let plan = plan(&joining);
    let record = simulate(&plan.points[0], &go()).unwrap();
    let first = record.time_series.iter().find(|row| row.path == "south").unwrap();
    assert!((1.0..1.2).contains(&first.time), "known from {} s on", first.time);
    assert!(record.values["path.south.throughput"] > 0.5);
}

#[test]
fn transfer_is_complete_when_all_data_is_read() {
    let sending = |messages: u32| {
        let apps = format!("streams = 2\nmessages = {messages}");
        let plan = plan(&PLAN.replace("streams = 2", &apps));
        let record = simulate(&plan.points[0], &go()).unwrap();
        record.values.get("completion-time").copied()
    };
    let quick = sending(100).unwrap();
    assert!((0.08..1.2).contains(&quick), "{quick}");
    assert_eq!(sending(40_000), None);
}

#[test]
fn point_is_run_once_and_then_cached() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "this build");
    let plan = plan(PLAN);
    let counts = |cache: &Cache| {
        let last = Mutex::new(None);
        let stop = go();
        let outcomes = Runner::new(cache, 2, &stop).run(&plan.points, &|progress| {
            *last.lock().unwrap() = Some(progress);
        });
        let Progress {
            done, all, cached, ..
        } = last.into_inner().unwrap().unwrap();
        let records: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
        ((done, all, cached), records)
    };
    let (first, run) = counts(&cache);
    let (second, looked_up) = counts(&cache);
    assert_eq!((first, second), ((2, 2, 0), (2, 2, 2)));
    assert_eq!(
        run, looked_up,
        "what is read is what was written, to the last bit"
    );
    let (other, _) = counts(&Cache::new(folder.path(), "another build"));
    assert_eq!(other, (2, 2, 0));
}

#[test]
fn truncated_result_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "this build");
    let plan = plan(PLAN);
    let key = cache.key(&plan.points[0]);
    cache.store(&key, &Record::default()).unwrap();
    assert!(cache.find(&key).is_some());
    let file = folder.path().join(&key[..2]).join(format!("{key}.json"));
    std::fs::write(&file, "{\"values\": {\"good").unwrap();
    assert!(cache.find(&key).is_none());
}

#[test]
fn failed_point_is_reported_and_others_are_kept() {
    let failing = PLAN.replace("repetitions = 2", "repetitions = 1").replace(
        "[policies]",
        "[[script]]\nat = \"0s\"\ncut = \"north\"\n[[script]]\nat = \"0s\"\ncut = \"south\"\n\n[policies]",
    );
    let mut points = plan(PLAN).points;
    points.truncate(1);
    points.extend(plan(&failing).points);
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "this build");
    let outcomes = Runner::new(&cache, 2, &go()).run(&points, &|_| {});
    assert!(outcomes[0].is_ok());
    assert_eq!(outcomes[1], Err(RunError::NoAssociation));
}

#[test]
fn stopped_runner_keeps_finished_results() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "this build");
    let points = plan(PLAN).points;
    let stop = go();
    let outcomes = Runner::new(&cache, 1, &stop).run(&points, &|progress| {
        stop.store(progress.done == 1, std::sync::atomic::Ordering::Relaxed);
    });
    let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(done, 1);
    assert!(outcomes.contains(&Err(RunError::Interrupted)));
    let found = points
        .iter()
        .filter(|point| cache.find(&cache.key(point)).is_some());
    assert_eq!(found.count(), 1);
}

#[test]
fn one_plan_compares_both_transports() {
    let text = r#"
title = "SCTP and TCP side by side"
claim = "both fill the path"

[time]
measure = "5s"

[paths.net]
rate = "10Mbit"
delay = "10ms"

[apps.sender]
kind = "bulk"
message = 1400
messages = 2000
streams = 4

[[variant]]
name = "SCTP"
policies.profile = "rfc9260"

[[variant]]
name = "TCP"
transport = "tcp"
policies.profile = "tcp"
"#;
    for point in plan(text).points {
        let record = simulate(&point, &go()).unwrap();
        let value = |name: &str| record.values.get(name).copied().unwrap_or(f64::NAN);
        assert!(
            (2.3..3.5).contains(&value("completion-time")),
            "{}: {record:?}",
            point.series
        );
        assert!(
            (4.4..4.6).contains(&value("goodput")),
            "{}: {record:?}",
            point.series
        );
        assert!(
            value("path.net.cwnd.mean") > 10_000.0,
            "{}: {record:?}",
            point.series
        );
    }
}

/// Returns the record of `app` over TCP on a path of 10 Mbit/s; `more` is added to the plan.
fn over_tcp(app: &str, more: &str) -> Record {
    let text = format!(
        r#"
title = "TCP"
claim = "it gets there"
transport = "tcp"
time.measure = "5s"
policies.profile = "tcp"

[paths.net]
rate = "10Mbit"
delay = "10ms"
queue = {{ packets = 20 }}

[apps.sender]
{app}
{more}
"#
    );
    simulate(&plan(&text).points[0], &go()).unwrap()
}

#[test]
fn several_tcp_connections_do_not_delay_messages() {
    let app = "kind = \"periodic\"\nmessage = 1000\ninterval = \"10ms\"\nstreams = 4";
    let record = over_tcp(app, "[tcp]\nnagle = false");
    let (mean, messages) = (record.values["delay.mean"], record.values["messages"]);
    assert!((10.8..15.0).contains(&mean), "{mean} ms");
    assert!((480.0..=500.0).contains(&messages), "{messages}");
}

const BULK: &str = "kind = \"bulk\"\nmessage = 1400";

#[test]
fn tcp_is_cwnd_limited_when_no_segment_fits() {
    let record = over_tcp(BULK, "");
    let full = record.values["path.net.cwnd-limited"];
    assert!(full > 0.9, "{full}");
    assert_eq!(record.values["path.net.queue.max"], 20.0);
}

#[test]
fn simultaneous_script_steps_run_in_plan_order() {
    let cut = "[[script]]\nat = \"1s\"\ncut = \"net\"\n";
    let restore = "[[script]]\nat = \"1s\"\nrestore = \"net\"\n";
    let goodput = |script: [&str; 2]| over_tcp(BULK, &script.concat()).values["goodput"];
    assert!(goodput([cut, restore]) > 6.0 && goodput([restore, cut]) < 3.0);
}

/// A TCP flow that shares a bottleneck of 10 Mbit/s with the flow of the variant.
const MIXED: &str = r#"
title = "Who gets how much"
claim = "each gets something"

[time]
warm-up = "2s"
measure = "20s"

[paths.first]
rate = "unlimited"
delay = "1ms"

[bottleneck]
rate = "10Mbit"
delay = "10ms"
queue = { packets = 60 }

[policies]
profile = "rfc9260"

[apps.sender]
kind = "bulk"
message = 1400

[cross-traffic.tcp]
transport = "tcp"
policies.profile = "tcp"
apps.sender = { kind = "bulk", message = 1400 }

[[variant]]
name = "SCTP"

[[variant]]
name = "TCP"
transport = "tcp"
policies.profile = "tcp"

[[variant]]
name = "TCP beside SCTP"
transport = "tcp"
policies.profile = "tcp"
cross-traffic.tcp.transport = "sctp"
cross-traffic.tcp.policies.profile = "rfc9260"
"#;

#[test]
fn variants_and_cross_traffic_have_their_own_transport() {
    let plan = plan(MIXED);
    let records = plan.points.iter().map(|point| simulate(point, &go()).unwrap());
    let shares: Vec<(f64, f64)> = records
        .map(|record| {
            let idle = record.values["bottleneck.idle"];
            assert!(idle < 0.1, "the bottleneck idles for {idle}");
            assert!(record.values["bottleneck.queue.mean"] > 1.0);
            (
                record.values["goodput"],
                record.values["cross-traffic.tcp.goodput"],
            )
        })
        .collect();
    assert_eq!(shares.len(), 3);
    for (ours, theirs) in &shares {
        assert!((8.0..10.0).contains(&(ours + theirs)), "{shares:?}");
        assert!(ours.min(*theirs) > 1.0, "{shares:?}");
    }
    assert_ne!(shares[0], shares[1], "SCTP is not TCP");
    assert_ne!(shares[1], shares[2], "and neither is the cross traffic");
}

#[test]
fn cross_traffic_over_tcp_needs_a_tcp_application() {
    let text = MIXED.replace(
        "{ kind = \"bulk\", message = 1400 }",
        "{ kind = \"client\", message = 100 }",
    );
    let refused = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap_err();
    assert!(
        refused.to_string().contains("over TCP, expected `kind`"),
        "{refused}"
    );
}

/// Two paths of 10 Mbit/s, with cross traffic on the first.
const ON_ONE_PATH: &str = r#"
title = "Beside one path"
claim = "only that path has less"

[time]
warm-up = "2s"
measure = "20s"

[paths.shared]
rate = "10Mbit"
delay = "10ms"
queue = { packets = 60 }

[paths.own]
rate = "10Mbit"
delay = "10ms"
queue = { packets = 60 }

[policies]
profile = "cmt"

[apps.sender]
kind = "bulk"
message = 1400

[cross-traffic.tcp]
transport = "tcp"
through = "shared"
policies.profile = "tcp"
apps.sender = { kind = "bulk", message = 1400 }
"#;

#[test]
fn cross_traffic_can_share_the_link_of_a_path() {
    let plan = plan(ON_ONE_PATH);
    let record = simulate(&plan.points[0], &go()).unwrap();
    let of = |name: &str| record.values[name];
    assert!(of("path.own.throughput") > 8.5);
    assert!(of("path.shared.throughput") < 8.0);
    assert!(of("cross-traffic.tcp.goodput") > 1.5);
    let unknown = ON_ONE_PATH.replace("through = \"shared\"", "through = \"shard\"");
    let refused = Plan::read(Path::new("x.toml"), &unknown, &PlanOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("shared"), "{refused}");
}

/// SCTP and Multipath TCP over the same two paths.
const OVER_BOTH: &str = r#"
title = "SCTP and Multipath TCP side by side"
claim = "both fill two paths"

[time]
warm-up = "2s"
measure = "10s"

[paths.one]
rate = "10Mbit"
delay = "10ms"
queue = { packets = 60 }

[paths.two]
rate = "5Mbit"
delay = "20ms"
queue = { packets = 60 }

[[script]]
at = "9s"
cut = "two"

[record]
time-series = "100ms"
histograms = true

[apps.sender]
kind = "bulk"
message = 1400

[[variant]]
name = "SCTP"
policies.profile = "cmt"

[[variant]]
name = "MPTCP"
transport = "mptcp"
mptcp.nr-sack = "short"
mptcp.checksum = true
policies.profile = "tcp"
"#;

#[test]
fn mptcp_run_has_the_metrics_of_sctp() {
    let records: Vec<Record> = plan(OVER_BOTH)
        .points
        .iter()
        .map(|point| simulate(point, &go()).unwrap())
        .collect();
    for record in &records {
        let of = |name: &str| record.values[name];
        // Both paths are up most of the time. Data lost on the path that is cut arrive late or not at all.
        assert!((9.5..14.0).contains(&of("goodput")), "{:?}", record.values);
        let arrived = of("path.one.throughput") + of("path.two.throughput");
        assert!(arrived >= of("goodput") * 0.99, "{:?}", record.values);
        assert!(
            (2.0..3.5).contains(&of("path.two.throughput")),
            "{:?}",
            record.values
        );
        assert!(of("delay.p50") > 10.0 && of("messages") > 9_000.0);
        assert!(of("receive-buffer.max") > 0.0 && of("send-buffer.mean") > 0.0);
        assert!(of("path.one.srtt.mean") > 20.0 && of("path.two.srtt.mean") > 40.0);
        assert!(of("path.two.timeouts") >= 1.0);
        let has = |path| {
            record
                .time_series
                .iter()
                .any(|row| row.path == path && row.cwnd > 10_000)
        };
        assert!(has("one") && has("two"));
        assert!(record.histograms.contains_key("delay"));
    }
    assert!(records[1].values["reinjections"] > 0.0);
}

#[test]
fn options_of_another_transport_are_refused() {
    for (from, to, word) in [
        (
            "transport = \"mptcp\"",
            "transport = \"tcp\"",
            "TCP uses a single path",
        ),
        ("mptcp.checksum = true", "tcp.nr-sack = true", "mptcp.nr-sack"),
        ("nr-sack = \"short\"", "nr-sack = \"shrt\"", "short"),
    ] {
        let text = OVER_BOTH.replace(from, to);
        let refused = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap_err();
        assert!(refused.to_string().contains(word), "{refused}");
    }
}

/// A page of twelve objects over streams or connections, with and without requests.
const PAGE: &str = r#"
title = "A page"
claim = "it comes"

[time]
measure = "60s"
until-complete = true

[paths.net]
rate = "400kbit"
delay = "20ms"
queue = { packets = 50 }

[policies]
profile = "rfc9260"
pmtu = "fixed"

[record]
overhead = true

[apps.page]
kind = "download"
objects = 12
object = 5000
message = 1400

[[variant]]
name = "SCTP"

[[variant]]
name = "SCTP, asked"
apps.page.request = 200

[[variant]]
name = "TCP"
transport = "tcp"
policies.profile = "tcp"

[[variant]]
name = "TCP, asked"
transport = "tcp"
policies.profile = "tcp"
apps.page.request = 200
"#;

#[test]
fn page_load_ends_with_its_last_object() {
    let plan = plan(PAGE);
    let records = plan.points.iter().map(|point| simulate(point, &go()).unwrap());
    let [sctp, sctp_asked, tcp, tcp_asked] = records.collect::<Vec<_>>().try_into().unwrap();
    for record in [&sctp, &sctp_asked, &tcp, &tcp_asked] {
        let value = |name: &str| record.values[name];
        let times = [value("object.first"), value("object.mean"), value("object.last")];
        assert!(times.is_sorted(), "{times:?}");
        assert!((value("completion-time") - times[2]).abs() < 1e-9);
        // 60,000 bytes at 400 kbit/s take 1.2 s.
        assert!((1.2..3.0).contains(&times[2]), "{times:?}");
        assert!(value("forward.payload") >= 60_000.0);
        // Nothing is sent after everything has been read.
        assert!(value("path.net.idle") < 0.5, "{}", value("path.net.idle"));
    }
    let first = |record: &Record| record.values["object.first"] / record.values["object.last"];
    assert!(
        first(&sctp) > 0.7,
        "all streams end at the same time: {}",
        first(&sctp)
    );
    assert!(
        first(&tcp) < 0.5,
        "connections end one after another: {}",
        first(&tcp)
    );
    let later = sctp_asked.values["object.last"] - sctp.values["object.last"];
    assert!(
        (0.02..0.2).contains(&later),
        "a request takes a round trip: {later}"
    );
    let extra = sctp_asked.values["reverse.payload"] - sctp.values["reverse.payload"];
    assert_eq!((extra, tcp_asked.values["reverse.payload"]), (2_400.0, 2_400.0));
}

#[test]
fn overhead_is_counted_exactly() {
    let plan = plan(PAGE);
    let records = plan.points.iter().map(|point| simulate(point, &go()).unwrap());
    let records: Vec<Record> = records.collect();
    // 12 objects in messages of 1,400, 1,400, 1,400 and 800 bytes; each has a header of 16 bytes, each packet one of
    // 12.
    let sctp = &records[0].values;
    assert_eq!((sctp["retransmitted"], sctp["forward.payload"]), (0.0, 60_000.0));
    let packets = (sctp["forward.headers"] - 48.0 * 16.0) / 12.0;
    assert!(
        (46.0..=48.0).contains(&packets) && packets.fract() == 0.0,
        "{packets}"
    );
    // Segments of 1,448, 1,448, 1,448 and 656 bytes, each with a header of 32 bytes including options.
    let tcp = &records[2].values;
    assert_eq!((tcp["retransmitted"], tcp["forward.headers"]), (0.0, 48.0 * 32.0));
}

#[test]
fn invalid_download_is_refused() {
    for (from, to, why) in [
        ("objects = 12", "", "a download needs"),
        (
            "objects = 12",
            "objects = 12\nstreams = 2",
            "one stream for each object",
        ),
        (
            "objects = 12",
            "objects = 12\nend = \"near\"",
            "sent by the far end",
        ),
        (
            "kind = \"download\"",
            "kind = \"bulk\"",
            "has no effect on this kind",
        ),
    ] {
        let text = PAGE.replacen(from, to, 1);
        let refused = Plan::read(Path::new("x.toml"), &text, &PlanOptions::default()).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

#[test]
fn messages_of_a_burst_arrive_in_order_over_both_transports() {
    let bursts = PAGE
        .replace(
            "kind = \"download\"",
            "kind = \"periodic\"\ninterval = \"500ms\"\nburst = 5",
        )
        .replace("objects = 12\nobject = 5000\nmessage = 1400", "message = 1000")
        .replace("apps.page.request = 200\n", "")
        .replace("measure = \"60s\"\nuntil-complete = true", "measure = \"20s\"");
    let plan = plan(&bursts);
    for point in &plan.points {
        let record = simulate(point, &go()).unwrap();
        let value = |name: &str| record.values[name];
        assert!(
            (195.0..=200.0).contains(&value("messages")),
            "{}",
            value("messages")
        );
        // 20 ms propagation delay, plus 21 ms serialization delay for the message and for each one before it.
        assert!(
            (60.0..130.0).contains(&value("delay.p50")),
            "{}",
            value("delay.p50")
        );
        // TCP's last segment is short and waits for the delayed acknowledgement of the previous one (Nagle).
        assert!(
            (110.0..400.0).contains(&value("delay.p99")),
            "{}",
            value("delay.p99")
        );
    }
}
