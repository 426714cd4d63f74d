//! Captures of simulated TCP connections, checked with tshark.

use anabranch_netsim::LinkConfig;
use anabranch_netsim::capture::SharedBuffer;
use anabranch_sim::app::Reading;
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpScenario};
use anabranch_sim::{Side, Step};
use anabranch_types::Seed;

use super::lossy;
use crate::fixture::tshark::{self, Temporary, count, shown};
use crate::fixture::{ms, secs};

/// Capture of a connection with losses, reordering, a zero window, a cut path and a close.
fn an_eventful_life(ipv6: bool) -> Vec<u8> {
    let buffer = SharedBuffer::default();
    let config = TcpConfig {
        receive_buffer: 100_000,
        ..TcpConfig::default()
    };
    let link = LinkConfig {
        reorder: anabranch_netsim::link::Reorder {
            chance: anabranch_netsim::Probability::of(0.02),
            hold: ms(10),
        },
        ..lossy(0.03)
    };
    let scenario = TcpScenario::over(Seed(1), link)
        .config(config)
        .near_app(TcpApp::sender(600_000))
        .far_app(TcpApp::sender(200_000).reading(Reading::Paused))
        .capture(Side::Near, buffer.clone());
    let mut simulation = if ipv6 { scenario.v6() } else { scenario }.build();
    simulation.connect();
    simulation.run_for(secs(10));
    simulation.talk(Side::Far, 0, |app, connection, now| {
        app.read_otherwise(now, Reading::Eager, connection);
    });
    simulation.run_for(secs(2));
    simulation.happens(Step::Cut(0));
    simulation.run_for(secs(5));
    simulation.happens(Step::Heal(0));
    simulation.run_for(secs(60));
    assert!(super::everything_arrived(&simulation, Side::Far, 600_000));
    simulation.finish_captures().unwrap();
    buffer.take()
}

#[test]
fn wireshark_reports_no_error() {
    if !tshark::is_here() {
        return;
    }
    for ipv6 in [false, true] {
        let name = format!("anabranch-tcp-{}-{ipv6}.pcapng", std::process::id());
        let file = Temporary::with(&name, &an_eventful_life(ipv6));
        let frames = count(&file.0, "tcp");
        assert!(frames > 500, "{frames} frames of TCP");
        for fault in [
            "_ws.malformed",
            "_ws.expert.severity == error",
            "tcp.checksum.status == 0",
            "ip.checksum.status == 0",
            "tcp.analysis.ack_lost_segment",
            "tcp.analysis.window_full && tcp.window_size == 0",
        ] {
            assert_eq!(count(&file.0, fault), 0, "{fault}: {}", shown(&file.0, fault));
        }
        assert_eq!(count(&file.0, "tcp.checksum.status == 1"), frames);
        assert!(count(&file.0, "tcp.options.sack_le") > 10);
        assert!(
            count(
                &file.0,
                "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"
            ) > 5
        );
    }
}
