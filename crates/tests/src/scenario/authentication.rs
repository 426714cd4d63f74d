//! Authentication of data (RFC 4895): transfers over lossy paths, with AUTH in every packet.

use anabranch_sim::app::Streams;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// Both ends require these chunks to be authenticated.
fn authenticated(builder: PairBuilder) -> PairBuilder {
    builder.with(|config| {
        config.authenticated_chunks = vec![
            kind::DATA,
            kind::SACK,
            kind::HEARTBEAT,
            kind::HEARTBEAT_ACK,
            kind::ABORT,
            kind::SHUTDOWN,
            kind::SHUTDOWN_ACK,
            kind::COOKIE_ECHO,
            kind::COOKIE_ACK,
            kind::NR_SACK,
            kind::PART,
        ];
        config.authentication_key = b"a secret of both".to_vec();
    })
}

#[test]
fn authenticated_messages_over_two_lossy_paths_are_delivered() {
    let mut pair = authenticated(Pair::two_paths(mbit(10), ms(10))).connected();
    pair.set_loss(0, 0.02);
    pair.set_loss(1, 0.02);
    pair.alice().send_messages(200, 5_000, Streams::in_turn(4));
    pair.bob().send_messages(50, 3_000, Streams::in_turn(2));
    pair.deliver_all(secs(60));
}

/// Chunks that were made for larger packets are sent in parts, each of them authenticated.
#[test]
fn authenticated_transfer_survives_a_smaller_path_mtu() {
    let mut pair = authenticated(Pair::one_path(mbit(10), ms(10))).connected();
    pair.alice().send_messages(300, 5_000, Streams::in_turn(4));
    pair.run_for(ms(600));
    pair.set_mtu(0, 700);
    pair.deliver_all(secs(120));
}
