//! Captures of simulated associations, checked with tshark.

use anabranch_netsim::LinkConfig;
use anabranch_netsim::capture::SharedBuffer;
use anabranch_policy::PolicyRecipe;
use anabranch_sim::app::{Draft, Streams};
use anabranch_sim::{Scenario, Side, Step};
use anabranch_wire::chunk::kind;

use crate::fixture::tshark::{self, Temporary, count, shown};
use crate::fixture::{Pair, mbit, ms, secs};

/// Capture of an association with both IP versions, losses, large messages, window probes, a path failure and a
/// shutdown.
fn an_eventful_life(port: u16, interleaving: &str) -> Vec<u8> {
    let buffer = SharedBuffer::default();
    let sink = buffer.clone();
    let shape = move |scenario: Scenario| {
        let link = LinkConfig::new(mbit(10), ms(20));
        scenario
            .path(link.clone())
            .path_v6(link)
            .encapsulation_port(port)
            .capture(Side::Near, sink)
    };
    let mut policies = PolicyRecipe::recommended();
    policies.set("interleaving", interleaving).unwrap();
    let mut pair = Pair::paths([]).policies(policies).scenario(shape).connected();
    pair.set_loss(0, 0.03);
    pair.set_loss(1, 0.03);
    pair.alice().send_messages(300, 1_400, Streams::in_turn(4));
    pair.bob().send(Draft::new(0, 100_000).unordered());
    pair.deliver_all(secs(20));
    pair.cut_path(1);
    pair.alice().send_messages(300, 501, Streams::in_turn(4));
    pair.deliver_all(secs(20));
    pair.heal_path(1);
    pair.run_for(secs(60));
    pair.bob().shutdown();
    pair.run_until(
        |pair| pair.alice().is_closed() && pair.bob().is_closed(),
        secs(60),
    );
    pair.simulation.finish_captures().unwrap();
    buffer.take()
}

#[test]
fn wireshark_reports_no_error() {
    if !tshark::is_here() {
        return;
    }
    for (port, interleaving) in [(9_899, "off"), (0, "off"), (9_899, "on")] {
        let file = Temporary::with(
            &format!("anabranch-{}-{port}-{interleaving}.pcapng", std::process::id()),
            &an_eventful_life(port, interleaving),
        );
        let frames = count(&file.0, "sctp");
        assert!(frames > 500, "{frames} frames of SCTP over port {port}");
        for fault in [
            "_ws.malformed",
            "_ws.expert.severity == error",
            "sctp.checksum.status == 0",
            "udp.checksum.status == 0",
            "ip.checksum.status == 0",
        ] {
            assert_eq!(
                count(&file.0, fault),
                0,
                "{fault} over port {port}: {}",
                shown(&file.0, fault)
            );
        }
        assert_eq!(count(&file.0, "sctp.checksum.status == 1"), frames);
        // DATA and I-DATA are never mixed (RFC 8260 §2.2.1).
        let (data, i_data) = (
            count(&file.0, "sctp.chunk_type == 0"),
            count(&file.0, "sctp.chunk_type == 64"),
        );
        let (expected, other) = if interleaving == "on" {
            (i_data, data)
        } else {
            (data, i_data)
        };
        assert!(
            expected > 200 && other == 0,
            "{data} frames with DATA, {i_data} with I-DATA"
        );
        assert_eq!(count(&file.0, "ip.checksum.status == 1 || ipv6"), frames);
        if port != 0 {
            assert_eq!(count(&file.0, "udp.checksum.status == 1"), frames);
        }
    }
}

/// Capture of address changes (RFC 5061, authenticated by RFC 4895) in mid-transfer, with and without I-DATA.
fn a_life_on_the_move(interleaving: &str) -> Vec<u8> {
    let buffer = SharedBuffer::default();
    let sink = buffer.clone();
    let shape = move |scenario: Scenario| {
        let link = LinkConfig::new(mbit(10), ms(20));
        scenario
            .path(link.clone())
            .path_v6(link.clone())
            .spare_path(link)
            .capture(Side::Near, sink)
    };
    let mut policies = PolicyRecipe::recommended();
    policies.set("interleaving", interleaving).unwrap();
    let mut pair = Pair::paths([]).policies(policies).scenario(shape).connected();
    pair.alice().send_messages(2_000, 3_000, Streams::in_turn(4));
    for (step, side, path) in [
        (Step::Join as fn(Side, usize) -> Step, Side::Near, 2),
        (Step::Join, Side::Far, 2),
        (Step::Leave, Side::Near, 0),
        (Step::Leave, Side::Far, 0),
        (Step::Join, Side::Far, 0),
        (Step::Join, Side::Near, 0),
    ] {
        pair.apply(step(side, path));
        pair.run_for(ms(300));
    }
    let address = pair.simulation.end_of(2, Side::Near);
    let asked = pair
        .alice()
        .act(|_, association, _| association.request_peer_primary(address));
    assert_eq!(asked, Ok(()));
    pair.deliver_all(secs(20));
    pair.simulation.finish_captures().unwrap();
    buffer.take()
}

#[test]
fn wireshark_reports_no_error_in_address_changes() {
    if !tshark::is_here() {
        return;
    }
    for interleaving in ["off", "on"] {
        let file = Temporary::with(
            &format!("anabranch-{}-moves-{interleaving}.pcapng", std::process::id()),
            &a_life_on_the_move(interleaving),
        );
        for fault in ["_ws.malformed", "_ws.expert.severity == error"] {
            assert_eq!(count(&file.0, fault), 0, "{fault}: {}", shown(&file.0, fault));
        }
        let of_kind = |kind: u8| count(&file.0, &format!("sctp.chunk_type == {kind}"));
        // Six changes and one set-primary request, each with at least one ASCONF and ASCONF ACK.
        let [asked, answered] = [kind::ASCONF, kind::ASCONF_ACK].map(of_kind);
        assert!(
            asked >= 7 && answered >= 7,
            "{asked} ASCONF, {answered} ASCONF ACK"
        );
        let unauthenticated =
            "(sctp.chunk_type == 193 || sctp.chunk_type == 128) && !(sctp.chunk_type == 15)";
        assert_eq!(
            count(&file.0, unauthenticated),
            0,
            "{}",
            shown(&file.0, unauthenticated)
        );
        for (parameter, name) in [(0xc001, "add"), (0xc002, "delete"), (0xc004, "set primary")] {
            let filter = format!("sctp.parameter_type == {parameter} && sctp.chunk_type == 193");
            assert!(count(&file.0, &filter) > 0, "no {name} in any ASCONF chunk");
        }
        let kind_of_data = if interleaving == "on" {
            kind::I_DATA
        } else {
            kind::DATA
        };
        assert!(of_kind(kind_of_data) > 1_000);
    }
}
