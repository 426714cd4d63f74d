//! Captures of simulated MPTCP connections, checked with tshark.

use anabranch_netsim::LinkConfig;
use anabranch_netsim::capture::SharedBuffer;
use anabranch_sim::app::Reading;
use anabranch_sim::tcp::{MptcpConfig, NrSackForm, TcpApp, TcpConfig, TcpScenario};
use anabranch_sim::{Side, Step};
use anabranch_types::Seed;

use super::{everything_arrived, lossy};
use crate::fixture::tshark::{self, Temporary, count, shown};
use crate::fixture::{ms, secs};

/// Capture of a connection over two paths with losses, a zero window, a path that is cut and healed, and a close.
fn an_eventful_life(nr_sack: Option<NrSackForm>, checksum: bool, ipv6: bool) -> Vec<u8> {
    let buffer = SharedBuffer::default();
    let config = TcpConfig {
        receive_buffer: 200_000,
        mptcp: Some(MptcpConfig {
            nr_sack,
            checksum,
            ..MptcpConfig::default()
        }),
        ..TcpConfig::default()
    };
    let slower = LinkConfig {
        delay: ms(60),
        ..lossy(0.02)
    };
    let scenario = TcpScenario::over(Seed(1), lossy(0.01))
        .path(slower)
        .config(config)
        .near_app(TcpApp::sender(1_500_000))
        .far_app(TcpApp::sender(200_000).reading(Reading::Paused))
        .capture(Side::Near, buffer.clone());
    let mut simulation = if ipv6 { scenario.v6() } else { scenario }.build();
    simulation.connect();
    simulation.run_for(secs(5));
    simulation.talk(Side::Far, 0, |app, connection, now| {
        app.read_otherwise(now, Reading::Eager, connection);
    });
    simulation.run_for(ms(500));
    simulation.happens(Step::Cut(0));
    simulation.run_for(secs(2));
    simulation.happens(Step::Heal(0));
    simulation.run_for(secs(120));
    assert!(everything_arrived(&simulation, Side::Far, 1_500_000));
    assert!(everything_arrived(&simulation, Side::Near, 200_000));
    simulation.finish_captures().unwrap();
    buffer.take()
}

const FAULTS: [&str; 8] = [
    "_ws.malformed",
    "_ws.expert.severity == error",
    "tcp.checksum.status == 0",
    "ip.checksum.status == 0",
    // tshark reports this for segments without data, which need no checksum; also for a kernel's.
    "(mptcp.dss.missing_mapping && tcp.len > 0)",
    "mptcp.dss.infinite_mapping",
    "mptcp.connection.echoed_key_mismatch",
    "mptcp.connection.missing_algorithm",
];

/// tshark's message about option bits of Yang 2015 (appendix A.1).
const UNKNOWN_BITS: &str = "mptcp.connection.unsupported_algorithm";

/// Name of each option subtype, and a filter that must match.
const SEEN: [(&str, &str); 8] = [
    (
        "MP_CAPABLE in all three steps",
        "tcp.options.mptcp.subtype == 0 && tcp.options.mptcp.recvkey",
    ),
    ("MP_JOIN with a token", "tcp.options.mptcp.recvtok"),
    ("MP_JOIN with a code", "tcp.options.mptcp.sendhmac"),
    (
        "DSS with an acknowledgement",
        "tcp.options.mptcp.dataackpresent.flag == 1",
    ),
    ("DSS with a mapping", "tcp.options.mptcp.dseqnpresent.flag == 1"),
    ("the end of the data", "tcp.options.mptcp.datafin.flag == 1"),
    ("an address", "tcp.options.mptcp.addaddrtrunchmac"),
    ("its echo", "tcp.options.mptcp.echo == 1"),
];

#[test]
fn wireshark_decodes_mptcp_options_without_error() {
    if !tshark::is_here() {
        return;
    }
    for (number, (nr_sack, checksum, ipv6)) in [
        (None, true, true),
        (Some(NrSackForm::Short), true, false),
        (Some(NrSackForm::Long), false, false),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("anabranch-mptcp-{}-{number}.pcapng", std::process::id());
        let file = Temporary::with(&name, &an_eventful_life(nr_sack, checksum, ipv6));
        let frames = count(&file.0, "tcp");
        assert!(frames > 1_000, "{frames} frames of TCP");
        let strange = nr_sack.is_none().then_some(UNKNOWN_BITS);
        let faults: Vec<&str> = FAULTS.into_iter().chain(strange).collect();
        let faults = faults.join(" || ");
        assert_eq!(
            count(&file.0, &faults),
            0,
            "{number}: {}",
            shown(&file.0, &faults)
        );
        assert_eq!(count(&file.0, "tcp.checksum.status == 1"), frames);
        for (what, filter) in SEEN {
            assert!(count(&file.0, filter) > 0, "{number}: {what}");
        }
        // tshark assigns both subflows to one connection by token and key, which initial SYNs and resets do not carry.
        let strange = "tcp && !(mptcp.stream == 0) && tcp.flags.syn == 0 && tcp.flags.reset == 0";
        assert_eq!(
            count(&file.0, strange),
            0,
            "{number}: {}",
            shown(&file.0, strange)
        );
        assert!(count(&file.0, "tcp.stream == 1 && mptcp.dsn") > 100);
        let checksums = count(&file.0, "tcp.options.mptcp.checksum");
        assert_eq!(checksums > 0, checksum, "{number}: {checksums} checksums");
    }
}
