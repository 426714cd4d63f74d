//! Do dcsctp and sctp-proto and we understand each other? In virtual time, over a link that loses, reorders and doubles.

use anabranch_interop::Plan;
use anabranch_interop::core::{Core, Dcsctp, Ending, Ours, SctpProto};
use anabranch_interop::meeting::{Meeting, path, rough_link};
use anabranch_policy::NoParameters;
use anabranch_policy::catalog::{InterleavingChoice, NrSackChoice};
use anabranch_proto::AssociationConfig;

/// Makes the core on the far side.
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

/// Both say `plan`, we connect.
fn both_say(peer: Peer, plan: Plan) -> Meeting {
    let mut meeting = Meeting::new((ours(), plan), (peer(), plan), &rough_link(), 1);
    meeting.connect(meeting.near);
    meeting.talk();
    meeting
}

const SMALL: Plan = Plan::ordered(2_000, &[4, 100, 1_000], 3);
const LARGE: Plan = Plan::ordered(12, &[262_144, 40_000, 700_001, 4], 3);
const MANY_STREAMS: Plan = Plan::ordered(5_000, &[200], 1_000);

fn messages_of_a_few_bytes_arrive(peer: Peer) {
    both_say(peer, SMALL).judge();
}

fn unordered_messages_arrive(peer: Peer) {
    both_say(peer, Plan { streams: 2, ..SMALL }.half_unordered()).judge();
}

fn messages_of_hundreds_of_fragments_arrive(peer: Peer) {
    both_say(peer, LARGE.half_unordered()).judge();
}

fn messages_on_a_thousand_streams_arrive(peer: Peer) {
    both_say(peer, MANY_STREAMS).judge();
}

fn it_connects_and_talks(peer: Peer) {
    let mut meeting = Meeting::new((ours(), SMALL), (peer(), SMALL), &rough_link(), 2);
    meeting.connect(meeting.far);
    meeting.talk();
    meeting.judge();
}

fn both_connect_at_once_and_talk(peer: Peer) {
    let mut meeting = Meeting::new((ours(), SMALL), (peer(), SMALL), &rough_link(), 3);
    meeting.connect(meeting.near);
    meeting.connect(meeting.far);
    meeting.talk();
    meeting.judge();
}

fn we_finish(peer: Peer) {
    let mut meeting = both_say(peer, SMALL);
    meeting.act(meeting.near, |core, _| core.shutdown());
    meeting.end(Ending::Finished);
    meeting.judge();
}

fn it_finishes(peer: Peer) {
    let mut meeting = both_say(peer, SMALL);
    meeting.act(meeting.far, |core, _| core.shutdown());
    meeting.end(Ending::Finished);
    meeting.judge();
}

/// sctp-proto 0.10.8 sends the SHUTDOWN COMPLETE and stays in SHUTDOWN-SENT.
fn it_finishes_and_does_not_notice(peer: Peer) {
    let mut meeting = both_say(peer, SMALL);
    meeting.act(meeting.far, |core, _| core.shutdown());
    meeting.end_for_us(Ending::Finished);
    meeting.judge();
}

fn both_finish_at_once(peer: Peer) {
    let mut meeting = both_say(peer, SMALL);
    meeting.act(meeting.near, |core, _| core.shutdown());
    meeting.act(meeting.far, |core, _| core.shutdown());
    meeting.end(Ending::Finished);
    meeting.judge();
}

/// An ABORT is not repeated, so the link is better here.
fn we_abort(peer: Peer) {
    let mut meeting = over_a_good_link(peer);
    meeting.act(meeting.near, |core, _| core.abort());
    meeting.end(Ending::Aborted);
    meeting.judge();
}

fn it_aborts(peer: Peer) {
    let mut meeting = over_a_good_link(peer);
    meeting.act(meeting.far, |core, _| core.abort());
    meeting.end(Ending::Aborted);
    meeting.judge();
}

fn over_a_good_link(peer: Peer) -> Meeting {
    let mut link = rough_link();
    link.loss = anabranch_netsim::link::Loss::None;
    let mut meeting = Meeting::new((ours(), SMALL), (peer(), SMALL), &link, 4);
    meeting.connect(meeting.near);
    meeting.talk();
    meeting
}

/// Everything that can be negotiated, and a peer that takes some of it or nothing.
fn what_is_offered_may_be_refused(peer: Peer) {
    let mut meeting = Meeting::new((offers_everything(), SMALL), (peer(), SMALL), &rough_link(), 5);
    meeting.connect(meeting.near);
    meeting.talk();
    meeting.judge();
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

/// RFC 8260: both have I-DATA. Pieces of long messages alternate with short ones on other streams.
#[test]
fn dcsctp_interleaves_messages_with_us() {
    let peer = Dcsctp::new(|options| options.enable_message_interleaving = true);
    let plan = LARGE.half_unordered();
    let mut meeting = Meeting::new(
        (offers_everything(), plan),
        (Box::new(peer), plan),
        &rough_link(),
        6,
    );
    meeting.connect(meeting.near);
    meeting.talk();
    meeting.judge();
}

/// One test for each story that the peer can take part in.
macro_rules! stories {
    ($peer:ident: $($story:ident),+) => {
        mod $peer {
            $(#[test]
            fn $story() {
                super::$story(super::$peer);
            })+
        }
    };
}

stories!(dcsctp: messages_of_a_few_bytes_arrive, unordered_messages_arrive, messages_of_hundreds_of_fragments_arrive,
    messages_on_a_thousand_streams_arrive, it_connects_and_talks, both_connect_at_once_and_talk,
    what_is_offered_may_be_refused, we_finish,
    it_finishes, both_finish_at_once, we_abort, it_aborts);
// It has no way to abort: what it closes falls silent.
stories!(sctp_proto: messages_of_a_few_bytes_arrive, unordered_messages_arrive,
    messages_of_hundreds_of_fragments_arrive, messages_on_a_thousand_streams_arrive, it_connects_and_talks,
    both_connect_at_once_and_talk,
    what_is_offered_may_be_refused, we_finish, it_finishes_and_does_not_notice,
    both_finish_at_once, we_abort);
