//! Tests of the simulation: workloads, readers, scripts, probes and shared bottlenecks.

use core::time::Duration;

use anabranch_netsim::capture::SharedBuffer;
use anabranch_netsim::{FilterAction, LinkConfig};
use anabranch_proto::{AssociationConfig, BufferSize};
use anabranch_types::{PathId, Rate, Seed};

use crate::app::{Bulk, Client, Conversation, Paced, Reading, Server, Streams, Workload};
use crate::tcp::{TcpApp, TcpConfig, TcpScenario};
use crate::{CrossTraffic, Scenario, Side, Step};

fn link() -> LinkConfig {
    LinkConfig::new(Rate::mbit(10), Duration::from_millis(20))
}

#[test]
fn paced_sender_sends_at_its_interval() {
    let paced = Paced::new(1_000, Duration::from_millis(10), Streams::one(0));
    let mut simulation = Scenario::new(Seed(1))
        .path(link())
        .near_app(Conversation::new([Workload::Paced(paced)]))
        .build();
    simulation.connect();
    simulation.run_for(Duration::from_secs(10));
    let read = simulation.outcome().forward.messages;
    assert!((980..=1_001).contains(&read), "{read}");
}

#[test]
fn client_gets_each_answer_after_one_round_trip() {
    let client = Client::new(200, 3, Duration::from_millis(100));
    let mut simulation = Scenario::new(Seed(1))
        .path(link())
        .near_app(Conversation::new([Workload::Client(client)]))
        .far_app(Conversation::new([Workload::Server(Server::new(2_000))]))
        .build();
    simulation.connect();
    simulation.run_for(Duration::from_secs(10));
    let [Workload::Client(client)] = simulation.conversation(Side::Near).unwrap().workloads() else {
        panic!("the client is the only workload");
    };
    let times = client.answer_times();
    assert!(times.len() > 60, "{}", times.len());
    let settled = &times[1..];
    assert!(
        settled.iter().all(|time| (40..45).contains(&time.as_millis())),
        "{times:?}"
    );
}

#[test]
fn metered_conversation_records_only_message_delays() {
    let paced = Paced::new(1_000, Duration::from_millis(10), Streams::in_turn(2)).unordered();
    let mut simulation = Scenario::new(Seed(1))
        .path(link())
        .near_app(Conversation::new([Workload::Paced(paced)]).metered())
        .far_app(Conversation::default().metered())
        .build();
    simulation.connect();
    simulation.run_for(Duration::from_secs(10));
    assert!(
        simulation
            .conversation(Side::Near)
            .unwrap()
            .outbox()
            .sent()
            .is_empty()
    );
    let inbox = simulation.conversation(Side::Far).unwrap().inbox();
    let streams = inbox.meter().unwrap().streams();
    assert_eq!(streams.len(), 2);
    let read: u64 = streams.values().map(|stream| stream.messages).sum();
    assert_eq!(read, inbox.messages());
    for stream in streams.values() {
        // 20 ms propagation delay, and 1,060 bytes at 10 Mbit/s.
        let typical = stream.delays.quantile(0.5).unwrap();
        assert!((20_800..21_600).contains(&typical), "{typical}");
    }
}

#[test]
fn full_send_buffer_keeps_the_order_of_streams() {
    let paced = Paced::new(1_000, Duration::from_millis(1), Streams::in_turn(2));
    let config = AssociationConfig {
        send_buffer: BufferSize::Fixed(20_500),
        ..AssociationConfig::default()
    };
    let mut simulation = Scenario::new(Seed(1))
        .path(LinkConfig::new(Rate::mbit(1), Duration::from_millis(20)))
        .config(config)
        .near_app(Conversation::new([Workload::Paced(paced)]))
        .far_app(Conversation::default().metered())
        .build();
    simulation.connect();
    simulation.run_for(Duration::from_secs(10));
    let inbox = simulation.conversation(Side::Far).unwrap().inbox();
    let streams = inbox.meter().unwrap().streams();
    let read: Vec<u64> = streams.values().map(|stream| stream.messages).collect();
    assert_eq!(read.len(), 2);
    assert!(read[0].abs_diff(read[1]) <= 1, "{read:?}");
}

#[test]
fn slow_reader_reads_at_its_rate() {
    let bulk = Workload::Bulk(Bulk::new(1_000, Streams::one(0)));
    let slow = Conversation::default().reading(Reading::AtRate(Rate::mbit(1)));
    let mut simulation = Scenario::new(Seed(1))
        .path(link())
        .near_app(Conversation::new([bulk]))
        .far_app(slow)
        .build();
    simulation.connect();
    simulation.run_for(Duration::from_secs(10));
    let bytes = simulation.outcome().forward.bytes;
    assert!((1_200_000..=1_260_000).contains(&bytes), "{bytes}");
}

#[test]
fn scripted_cut_is_recorded_by_probes() {
    let bulk = Workload::Bulk(Bulk::new(1_000, Streams::one(0)));
    let mut simulation = Scenario::new(Seed(1))
        .path(link())
        .near_app(Conversation::new([bulk]))
        .at(Duration::from_secs(2), Step::Cut(0))
        .at(Duration::from_secs(4), Step::Heal(0))
        .probe(Side::Near, Duration::from_millis(100))
        .build();
    simulation.connect();
    simulation.run_for(Duration::from_secs(8));
    let samples: Vec<_> = simulation.probes()[0].of_path(PathId(0)).collect();
    assert_eq!(samples.len(), 81);
    let delivered = |tenths: usize| samples[tenths].delivered;
    assert!(delivered(20) > delivered(10));
    assert_eq!(
        delivered(40),
        delivered(21),
        "nothing arrives while the path is cut"
    );
    assert!(delivered(80) > delivered(40));
    assert!(samples[35].facts.errors > 0);
}

#[test]
fn batched_packets_match_single_packets() {
    let packets = |segments: usize| {
        let bulk = Workload::Bulk(Bulk::new(1_000, Streams::one(0)).messages(500));
        let mut simulation = Scenario::new(Seed(1))
            .path(link())
            .segments(segments)
            .near_app(Conversation::new([bulk]))
            .build();
        simulation.connect();
        simulation.run_for(Duration::from_secs(5));
        assert_eq!(simulation.outcome().forward.messages, 500);
        simulation.host(Side::Near).tally().packets_sent
    };
    let (single, batched) = (packets(1), packets(64));
    assert!(
        batched.abs_diff(single) * 20 < single,
        "{batched} in batches, {single} one by one"
    );
}

#[test]
fn cross_traffic_has_no_effect_before_it_connects() {
    let bulk = || Conversation::new([Workload::Bulk(Bulk::new(1_400, Streams::one(0)))]);
    let run = |has_cross_traffic: bool, begins: bool| {
        let mut scenario = Scenario::new(Seed(1))
            .path(LinkConfig::unlimited(Duration::from_millis(1)))
            .bottleneck(link())
            .near_app(bulk());
        if has_cross_traffic {
            let access = LinkConfig::unlimited(Duration::from_millis(1));
            scenario =
                scenario.cross_traffic(CrossTraffic::sctp(access, AssociationConfig::default(), bulk()));
        }
        let mut simulation = scenario.build();
        simulation.connect();
        if begins {
            simulation.connect_cross_traffic();
        }
        simulation.run_for(Duration::from_secs(10));
        let theirs = simulation.delivered_by_cross_traffic(0);
        let outcome = simulation.outcome();
        (outcome.trace_hash, outcome.forward.bytes, theirs)
    };
    let (silent, ours_alone, nothing) = run(true, false);
    assert_eq!((silent, nothing), (run(false, false).0, 0));
    let (_, ours, theirs) = run(true, true);
    assert!(
        ours < ours_alone && theirs > ours_alone / 10,
        "{ours} and {theirs}"
    );
    assert_eq!(run(true, true), run(true, true), "and always in the same way");
}

#[test]
fn sctp_and_tcp_share_a_bottleneck_in_either_role() {
    let seconds = Duration::from_secs(20);
    let access = || LinkConfig::unlimited(Duration::from_millis(1));
    let bulk = || Conversation::new([Workload::Bulk(Bulk::new(1_400, Streams::one(0)))]);
    let tcp = || CrossTraffic::tcp(access(), TcpConfig::default(), TcpApp::bulk());
    let sctp = || CrossTraffic::sctp(access(), AssociationConfig::default(), bulk());

    let mut simulation = Scenario::new(Seed(1))
        .path(access())
        .bottleneck(link())
        .cross_traffic(tcp().with_connections(2))
        .near_app(bulk())
        .build();
    simulation.connect();
    simulation.connect_cross_traffic();
    simulation.run_for(seconds);
    let beside_tcp = (
        simulation.outcome().forward.bytes,
        simulation.delivered_by_cross_traffic(0),
    );

    let mut simulation = TcpScenario::over(Seed(1), access())
        .bottleneck(link())
        .cross_traffic(sctp())
        .cross_traffic(tcp())
        .near_app(TcpApp::bulk())
        .build();
    simulation.connect();
    simulation.connect_cross_traffic();
    simulation.run_for(seconds);
    let ours = simulation.app(Side::Far, 0).map_or(0, TcpApp::bytes_read);
    let beside_both = [
        ours,
        simulation.delivered_by_cross_traffic(0),
        simulation.delivered_by_cross_traffic(1),
    ];

    let full = 10_000_000 / 8 * 20;
    let sum = beside_tcp.0 + beside_tcp.1;
    assert!((full * 8 / 10..full).contains(&sum), "{beside_tcp:?}");
    let sum: u64 = beside_both.iter().sum();
    assert!((full * 8 / 10..full).contains(&sum), "{beside_both:?}");
    assert!(beside_tcp.0.min(beside_tcp.1) > full / 20, "{beside_tcp:?}");
    assert!(beside_both.into_iter().min() > Some(full / 20), "{beside_both:?}");
}

#[test]
fn checksum_offload_does_not_change_a_run() {
    let run = |offload: bool| {
        let bulk = Workload::Bulk(Bulk::new(1_400, Streams::one(0)));
        let scenario = Scenario::new(Seed(1))
            .path(link())
            .path(link())
            .near_app(Conversation::new([bulk]));
        let scenario = if offload {
            scenario.offload_checksums()
        } else {
            scenario
        };
        let mut simulation = scenario.build();
        simulation.connect();
        simulation.run_for(Duration::from_secs(5));
        let outcome = simulation.outcome();
        let seen = (outcome.forward, outcome.path_bytes, outcome.network_events);
        (seen, outcome.trace_hash)
    };
    let (with, without) = (run(false), run(true));
    assert_eq!(with.0, without.0);
    assert_ne!(with.1, without.1, "their packets differ in the checksum");
}

/// The checksum of a TCP segment (RFC 9293 §3.1).
fn checksum(segment: &[u8]) -> [u8; 2] {
    [segment[16], segment[17]]
}

#[test]
fn checksum_offload_of_tcp_leaves_out_checksums_and_changes_nothing_else() {
    let run = |offload: bool| {
        let scenario = TcpScenario::tcp(Seed(1))
            .path(link())
            .near_app(TcpApp::bulk().stamped(1_400))
            .far_app(TcpApp::reader().metered(1_400));
        let scenario = if offload {
            scenario.offload_checksums()
        } else {
            scenario
        };
        let mut simulation = scenario.build();
        let link = simulation.paths()[0].forward[0];
        simulation.network_mut().set_filter(
            link,
            Box::new(move |_, datagram| {
                assert_eq!(checksum(&datagram.payload) == [0; 2], offload);
                FilterAction::Pass
            }),
        );
        simulation.connect();
        simulation.run_for(Duration::from_secs(5));
        let counters = simulation.counters(Side::Far).unwrap();
        (format!("{counters:?}"), simulation.network().events())
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn captured_segments_have_checksums_in_spite_of_offload() {
    let capture = |offload: bool| {
        let buffer = SharedBuffer::default();
        let scenario = TcpScenario::tcp(Seed(1))
            .path(link())
            .near_app(TcpApp::sender(100_000))
            .capture(Side::Near, buffer.clone());
        let scenario = if offload {
            scenario.offload_checksums()
        } else {
            scenario
        };
        let mut simulation = scenario.build();
        simulation.connect();
        simulation.run_for(Duration::from_secs(2));
        simulation.finish_captures().unwrap();
        buffer.take()
    };
    assert_eq!(capture(true), capture(false));
}
