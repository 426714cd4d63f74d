//! Interoperability with dcsctp and sctp-proto in virtual time, over a link with loss, reordering and duplication.

use ::dcsctp::api::ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS as DTLS;
use anabranch_interop::Workload;
use anabranch_interop::core::{Core, Dcsctp, Ending, Ours, SctpProto};
use anabranch_interop::core_pair::{CorePair, path, rough_link};
use anabranch_policy::NoParameters;
use anabranch_policy::catalog::{InterleavingChoice, NrSackChoice};
use anabranch_proto::AssociationConfig;

/// Creates the core on the far side.
type Peer = fn() -> Box<dyn Core>;

fn dcsctp() -> Box<dyn Core> {
    Box::new(Dcsctp::new(|_| ()))
}

fn sctp_proto() -> Box<dyn Core> {
    Box::new(SctpProto::new(path().reversed()))
}

fn ours() -> Box<dyn Core> {
    Box::new(Ours::new(path(), AssociationConfig::webrtc()))
}

/// Both sides send `workload`; we connect.
fn both_say(peer: Peer, workload: Workload) -> CorePair {
    let mut pair = CorePair::new((ours(), workload), (peer(), workload), &rough_link(), 1);
    pair.connect(pair.near);
    pair.talk();
    pair
}

const SMALL: Workload = Workload::ordered(2_000, &[4, 100, 1_000], 3);
const LARGE: Workload = Workload::ordered(12, &[262_144, 40_000, 700_001, 4], 3);
const MANY_STREAMS: Workload = Workload::ordered(5_000, &[200], 1_000);

fn small_messages_are_delivered(peer: Peer) {
    both_say(peer, SMALL).judge();
}

fn unordered_messages_are_delivered(peer: Peer) {
    both_say(peer, Workload { streams: 2, ..SMALL }.half_unordered()).judge();
}

fn messages_of_hundreds_of_fragments_are_delivered(peer: Peer) {
    both_say(peer, LARGE.half_unordered()).judge();
}

fn messages_on_a_thousand_streams_are_delivered(peer: Peer) {
    both_say(peer, MANY_STREAMS).judge();
}

fn peer_connects_and_transfers(peer: Peer) {
    let mut pair = CorePair::new((ours(), SMALL), (peer(), SMALL), &rough_link(), 2);
    pair.connect(pair.far);
    pair.talk();
    pair.judge();
}

fn both_connect_at_once(peer: Peer) {
    let mut pair = CorePair::new((ours(), SMALL), (peer(), SMALL), &rough_link(), 3);
    pair.connect(pair.near);
    pair.connect(pair.far);
    pair.talk();
    pair.judge();
}

fn we_shut_down(peer: Peer) {
    let mut pair = both_say(peer, SMALL);
    pair.act(pair.near, |core, _| core.shutdown());
    pair.end(Ending::Finished);
    pair.judge();
}

fn peer_shuts_down(peer: Peer) {
    let mut pair = both_say(peer, SMALL);
    pair.act(pair.far, |core, _| core.shutdown());
    pair.end(Ending::Finished);
    pair.judge();
}

/// sctp-proto 0.10.8 sends the SHUTDOWN COMPLETE and stays in SHUTDOWN-SENT.
fn peer_shuts_down_and_stays_in_shutdown_sent(peer: Peer) {
    let mut pair = both_say(peer, SMALL);
    pair.act(pair.far, |core, _| core.shutdown());
    pair.wait_for_own_end(Ending::Finished);
    pair.judge();
}

fn both_shut_down_at_once(peer: Peer) {
    let mut pair = both_say(peer, SMALL);
    pair.act(pair.near, |core, _| core.shutdown());
    pair.act(pair.far, |core, _| core.shutdown());
    pair.end(Ending::Finished);
    pair.judge();
}

/// ABORT is not retransmitted, so the link has no loss here.
fn we_abort(peer: Peer) {
    let mut pair = over_a_good_link(peer);
    pair.act(pair.near, |core, _| core.abort());
    pair.end(Ending::Aborted);
    pair.judge();
}

fn peer_aborts(peer: Peer) {
    let mut pair = over_a_good_link(peer);
    pair.act(pair.far, |core, _| core.abort());
    pair.end(Ending::Aborted);
    pair.judge();
}

fn over_a_good_link(peer: Peer) -> CorePair {
    let mut link = rough_link();
    link.loss = anabranch_netsim::link::Loss::None;
    let mut pair = CorePair::new((ours(), SMALL), (peer(), SMALL), &link, 4);
    pair.connect(pair.near);
    pair.talk();
    pair
}

/// We offer all extensions, of which the peer accepts some or none.
fn peer_may_refuse_offered_extensions(peer: Peer) {
    let mut pair = CorePair::new((offers_everything(), SMALL), (peer(), SMALL), &rough_link(), 5);
    pair.connect(pair.near);
    pair.talk();
    pair.judge();
}

fn offers_everything() -> Box<dyn Core> {
    let mut config = AssociationConfig {
        single_homed: false,
        ..AssociationConfig::webrtc()
    };
    config.policies.interleaving = InterleavingChoice::On(NoParameters);
    config.policies.nr_sack = NrSackChoice::On(NoParameters);
    Box::new(Ours::new(path(), config))
}

/// Both support I-DATA (RFC 8260): fragments of long messages alternate with short messages on other streams.
#[test]
fn dcsctp_negotiates_interleaving() {
    let peer = Dcsctp::new(|options| options.enable_message_interleaving = true);
    let workload = LARGE.half_unordered();
    let mut pair = CorePair::new(
        (offers_everything(), workload),
        (Box::new(peer), workload),
        &rough_link(),
        6,
    );
    pair.connect(pair.near);
    pair.talk();
    pair.judge();
}

/// Both accept packets without a checksum (RFC 9653): all but INIT and COOKIE ECHO have none.
#[test]
fn dcsctp_agrees_on_zero_checksums() {
    for we_connect in [true, false] {
        let peer = Dcsctp::new(|options| {
            options.zero_checksum_alternate_error_detection_method = DTLS;
        });
        let mut pair = CorePair::new((ours(), SMALL), (Box::new(peer), SMALL), &rough_link(), 7);
        pair.connect(if we_connect { pair.near } else { pair.far });
        pair.talk();
        pair.act(pair.near, |core, _| core.shutdown());
        pair.end(Ending::Finished);
        pair.judge_zero_checksums();
    }
}

/// Defines a test for each scenario that the peer supports.
macro_rules! scenarios {
    ($peer:ident: $($scenario:ident),+) => {
        mod $peer {
            $(#[test]
            fn $scenario() {
                super::$scenario(super::$peer);
            })+
        }
    };
}

scenarios!(dcsctp: small_messages_are_delivered, unordered_messages_are_delivered, messages_of_hundreds_of_fragments_are_delivered,
    messages_on_a_thousand_streams_are_delivered, peer_connects_and_transfers, both_connect_at_once,
    peer_may_refuse_offered_extensions, we_shut_down,
    peer_shuts_down, both_shut_down_at_once, we_abort, peer_aborts);
// sctp-proto cannot abort: an association that it closes falls silent.
scenarios!(sctp_proto: small_messages_are_delivered, unordered_messages_are_delivered,
    messages_of_hundreds_of_fragments_are_delivered, messages_on_a_thousand_streams_are_delivered, peer_connects_and_transfers,
    both_connect_at_once,
    peer_may_refuse_offered_extensions, we_shut_down, peer_shuts_down_and_stays_in_shutdown_sent,
    both_shut_down_at_once, we_abort);
