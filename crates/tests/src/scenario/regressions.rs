//! Regression tests: failures found by randomized simulations, minimised.

use anabranch_sim::Side;
use anabranch_sim::randomized::{Limit, Op, PathShape, RandomizedTest, Shape, SideShape};

/// Short timeouts and large buffers.
fn roomy() -> SideShape {
    SideShape {
        mtu: 1_500,
        send_buffer: 1_000_000,
        receive_buffer: 1_000_000,
        self_sized: false,
        streams: 10,
        inbound_streams: 100,
        rto: [300, 100, 2_000],
        profile: "default",
        policies: Vec::new(),
        zero_checksum: false,
        authenticated: Vec::new(),
    }
}

fn pair(paths: Vec<PathShape>) -> Shape {
    Shape {
        seed: 1,
        ipv6: false,
        encapsulated: true,
        collides: false,
        restarts: false,
        segments: 1,
        max_message: 20_000,
        paths,
        near: roomy(),
        far: roomy(),
    }
}

const fn path(kbit: u32, millis: u32) -> PathShape {
    PathShape {
        kbit,
        millis,
        queue: 100,
    }
}

/// Sends one ordered message of one byte.
const fn short_message(side: Side, stream: u16) -> Op {
    Op::Send {
        side,
        stream,
        bytes: 1,
        count: 1,
        unordered: false,
    }
}

#[track_caller]
fn holds(shape: Shape, ops: Vec<Op>) {
    if let Err(failure) = (RandomizedTest { shape, ops }).run() {
        panic!("{failure}");
    }
}

/// The fragments of an incomplete message closed the window so far that no update was due, and reading could not open
/// it further.
#[test]
fn large_message_and_receive_window_do_not_deadlock() {
    let mut shape = pair(vec![path(3_000, 10)]);
    shape.max_message = 5_000;
    shape.near.mtu = 577;
    shape.far.receive_buffer = 5_000;
    let send = |bytes| Op::Send {
        side: Side::Near,
        stream: 0,
        bytes,
        count: 1,
        unordered: false,
    };
    holds(shape, vec![send(1), send(1_451), send(4_020)]);
}

/// Lost chunks still counted against the path's share of the send buffer, so they were never retransmitted.
#[test]
fn path_with_fully_lost_buffer_share_retransmits() {
    let mut shape = pair(vec![path(10_000, 10), path(500, 300), path(500, 1)]);
    shape.seed = 8_405;
    shape.far.send_buffer = 20_000;
    shape.far.profile = "cmt";
    shape.far.policies = vec![
        ("path-scheduler", "round-robin"),
        ("buffer-split", "sender"),
        ("rtx-policy", "same"),
    ];
    holds(
        shape,
        vec![
            Op::Advance { millis: 31 },
            Op::Rebind {
                path: 0,
                port: 20_574,
            },
            Op::Send {
                side: Side::Far,
                stream: 5,
                bytes: 6_467,
                count: 1,
                unordered: false,
            },
        ],
    );
}

/// A potentially failed path was to be probed while the last probe was outstanding; the deadline stayed in the past.
#[test]
fn delayed_heartbeat_does_not_stall_the_timer() {
    let mut shape = pair(vec![PathShape {
        queue: 5,
        ..path(100_000, 1)
    }]);
    shape.seed = 3_524;
    shape.collides = true;
    shape.near.profile = "rfc9260";
    shape.near.mtu = 577;
    shape.near.send_buffer = 20_000;
    shape.near.receive_buffer = 20_000;
    shape.near.rto = [1_000, 1_000, 60_000];
    shape.near.inbound_streams = 1;
    shape.far.mtu = 800;
    let send = |side, bytes, count| Op::Send {
        side,
        stream: 0,
        bytes,
        count,
        unordered: false,
    };
    holds(
        shape,
        vec![
            send(Side::Far, 1_768, 40),
            Op::Send {
                side: Side::Near,
                stream: 0,
                bytes: 1_000,
                count: 3,
                unordered: true,
            },
            Op::Advance { millis: 300 },
            Op::Cut { path: 0 },
            Op::Shutdown { side: Side::Far },
            Op::Advance { millis: 300 },
        ],
    );
}

/// A late duplicate of the cookie created an unwanted association, and the ABORT for it went to the previous, closed
/// one.
#[test]
fn late_cookie_copy_does_not_revive_aborted_association() {
    let mut shape = pair(vec![path(500, 300)]);
    shape.far.rto = [1_000, 400, 10_000];
    holds(
        shape,
        vec![
            Op::Advance { millis: 1_000 },
            short_message(Side::Near, 9),
            Op::Abort { side: Side::Far },
        ],
    );
}

/// The only confirmed path was potentially failed and data came on the other: the SACK found no path, and its deadline
/// stayed in the past.
#[test]
fn sack_without_active_path_does_not_stall_the_timer() {
    let mut shape = pair(vec![path(1_000, 1), path(3_000, 300)]);
    shape.seed = 17_044;
    shape.near.send_buffer = 20_000;
    shape.near.receive_buffer = 20_000;
    shape.far.mtu = 1_280;
    shape.far.profile = "rfc9260";
    shape.far.rto = [1_000, 1_000, 60_000];
    let ops = vec![
        Op::Advance { millis: 500 },
        Op::Lose {
            path: 1,
            toward: Side::Near,
            packets: 2,
        },
        Op::Advance { millis: 500 },
        Op::SetPrimary {
            side: Side::Far,
            path: 1,
        },
        Op::Cut { path: 0 },
        Op::Advance { millis: 300 },
        short_message(Side::Far, 0),
        Op::Advance { millis: 250 },
        short_message(Side::Far, 0),
        short_message(Side::Near, 1),
        Op::Advance { millis: 300 },
    ];
    holds(shape, ops);
}

/// Each end removed the address that the other used. The remaining path was unreachable and unconfirmed, and was probed
/// for ever without an error being counted.
#[test]
fn association_without_working_path_ends() {
    let mut shape = pair(vec![path(40_000, 10), path(1_000, 10)]);
    shape.seed = 395;
    holds(
        shape,
        vec![
            Op::Send {
                side: Side::Near,
                stream: 0,
                bytes: 20_000,
                count: 1,
                unordered: false,
            },
            Op::Advance { millis: 60 },
            Op::Leave {
                side: Side::Near,
                path: 0,
            },
            Op::Leave {
                side: Side::Far,
                path: 1,
            },
        ],
    );
}

/// A message that expired before the handshake was complete held its stream's turn for ever.
#[test]
fn abandoned_message_gives_up_the_turn_of_its_stream() {
    let mut shape = pair(vec![path(40_000, 30)]);
    // Partial reliability is on.
    shape.seed = 3;
    shape.near.policies = vec![("stream-scheduler", "rr-packet")];
    let expires = Op::SendUnreliable {
        side: Side::Near,
        stream: 1,
        bytes: 1,
        count: 1,
        unordered: false,
        limit: Limit::Lifetime { millis: 20 },
    };
    let stays = Op::Send {
        side: Side::Near,
        stream: 2,
        bytes: 1,
        count: 1,
        unordered: true,
    };
    holds(shape, vec![expires, stays]);
}

/// The far end had removed an address, so the INIT from the restarted peer's other address set up a second association. The next
/// restart replaced the first one.
#[test]
fn restart_of_the_older_of_two_associations_is_followed() {
    let mut shape = pair(vec![path(100_000, 0), path(10_000, 1)]);
    shape.seed = 5_855;
    shape.encapsulated = false;
    shape.restarts = true;
    shape.max_message = 1_500;
    for side in [&mut shape.near, &mut shape.far] {
        side.rto = [1_000, 400, 10_000];
    }
    let ops = vec![
        Op::Advance { millis: 1 },
        Op::Lose {
            path: 0,
            toward: Side::Near,
            packets: 5,
        },
        Op::Leave {
            side: Side::Far,
            path: 1,
        },
        Op::Restart,
        short_message(Side::Near, 0),
        Op::Advance { millis: 1_500 },
        Op::Restart,
    ];
    holds(shape, ops);
}

/// FORWARD TSN stayed on the former address of the only path, and the progress timeout ended the association.
#[test]
fn forward_tsn_after_renumbering_arrives() {
    let mut shape = pair(vec![path(3_000, 0)]);
    // Partial reliability is on.
    shape.seed = 1_746;
    shape.near.profile = "dre-2010";
    for side in [&mut shape.near, &mut shape.far] {
        side.rto = [1_000, 1_000, 60_000];
        side.policies = vec![("add-ip", "on")];
    }
    let ops = vec![
        Op::Advance { millis: 2 },
        Op::Renumber {
            side: Side::Near,
            path: 0,
            host: 9,
        },
        Op::SendUnreliable {
            side: Side::Near,
            stream: 1,
            bytes: 1,
            count: 1,
            unordered: false,
            limit: Limit::Lifetime { millis: 3_000 },
        },
    ];
    holds(shape, ops);
}

/// The far end removed its last confirmed address. It was left with a path from an address that was being added, to an address that it could
/// not send a join to, and sent nothing any more.
#[test]
fn end_with_only_an_address_being_added_notices_that_the_peer_is_gone() {
    let mut shape = pair(vec![path(500, 0), path(3_000, 10)]);
    shape.seed = 14_325;
    for side in [&mut shape.near, &mut shape.far] {
        side.mtu = 576;
    }
    let ops = vec![
        Op::Advance { millis: 37 },
        Op::Leave {
            side: Side::Near,
            path: 1,
        },
        Op::Renumber {
            side: Side::Far,
            path: 0,
            host: 12,
        },
        Op::Renumber {
            side: Side::Far,
            path: 1,
            host: 15,
        },
        Op::Advance { millis: 187 },
        short_message(Side::Near, 1),
        Op::Leave {
            side: Side::Far,
            path: 0,
        },
    ];
    holds(shape, ops);
}

/// In SHUTDOWN-SENT no heartbeats are sent, so the unconfirmed second path never counted as unanswered, and the ASCONF was not sent from the
/// new address.
#[test]
fn renumbering_right_after_shutdown_is_followed() {
    let mut shape = pair(vec![path(1_000, 1), path(10_000, 300)]);
    shape.seed = 14_947;
    shape.encapsulated = false;
    for side in [&mut shape.near, &mut shape.far] {
        side.rto = [1_000, 400, 10_000];
    }
    let ops = vec![
        Op::Advance { millis: 15 },
        Op::Shutdown { side: Side::Far },
        Op::Renumber {
            side: Side::Far,
            path: 0,
            host: 13,
        },
        short_message(Side::Near, 0),
    ];
    holds(shape, ops);
}

/// Each SHUTDOWN of the near side caused another FORWARD TSN, which restarted the timer of the last one. So the former address of the near
/// side, to which all were sent, never had an error.
#[test]
fn forward_tsn_repeated_for_each_shutdown_changes_the_path() {
    let mut shape = pair(vec![PathShape {
        queue: 5,
        ..path(1_000, 100)
    }]);
    shape.seed = 18_675;
    shape.segments = 64;
    shape.near.rto = [1_000, 1_000, 60_000];
    shape.near.mtu = 1_499;
    shape.near.streams = 2;
    shape.near.inbound_streams = 3;
    shape.far.rto = [1_000, 1_000, 60_000];
    shape.far.mtu = 577;
    shape.far.send_buffer = 100_000;
    shape.far.receive_buffer = 20_000;
    shape.far.profile = "cmt";
    shape.far.policies = vec![("chunk-rescheduling", "sar-modified"), ("add-ip", "on")];
    holds(
        shape,
        vec![
            Op::Advance { millis: 375 },
            Op::SendUnreliable {
                side: Side::Far,
                stream: 0,
                bytes: 11_696,
                count: 10,
                unordered: true,
                limit: Limit::Retransmissions { most: 1 },
            },
            Op::Translate {
                path: 0,
                host: 4,
                port: 20_583,
            },
            Op::Shutdown { side: Side::Near },
        ],
    );
}

/// The messages behind an unfinished one filled the buffer, and its next part was refused, because the buffer held more than its new size.
#[test]
fn message_in_parts_is_finished_after_the_buffer_was_made_smaller() {
    let mut shape = pair(vec![path(10_000, 10)]);
    shape.near.send_buffer = 60_000;
    shape.near.policies = vec![("interleaving", "off")];
    let whole = |stream| Op::Send {
        side: Side::Near,
        stream,
        bytes: 20_000,
        count: 1,
        unordered: false,
    };
    holds(
        shape,
        vec![
            Op::SendInParts {
                side: Side::Near,
                stream: 0,
                bytes: 20_000,
                unordered: false,
                limit: None,
                part: 4_000,
                pause: 1_000,
            },
            Op::Advance { millis: 300 },
            whole(1),
            whole(2),
            Op::Resize {
                side: Side::Near,
                send: 5_000,
                receive: 1_000_000,
            },
        ],
    );
}
