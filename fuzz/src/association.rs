//! Fuzz target `association`. Can packets, timers and calls make an association panic, loop or exceed its memory?
//!
//! Alice is first brought into a state of RFC 9260 §4 with a compliant Bob. Then the bytes select forged packets from Bob's
//! address, genuine packets, time steps and calls of the application.

use std::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_proto::{
    Association, AssociationConfig, BufferSize, DEFAULT_PORT, ErrorDetection, Message, Reliability,
};
use anabranch_types::{AssociationId, Instant, PathAddr, PathId, Ppid, StreamId};
use anabranch_wire::chunk::kind;
use bytes::Bytes;

use crate::forge::Observed;
use crate::{Choices, Host, InFlight};

const ALICE: u8 = 1;
const BOB: u8 = 2;

/// Steps of one run; longer inputs find nothing that shorter ones do not.
const MAX_STEPS: usize = 300;

/// Runs the test that `bytes` encode.
///
/// # Panics
///
/// If an invariant is violated.
pub fn exercise(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut fixture = Fixture::new(choices.byte());
    fixture.advance_to_stage(choices.byte());
    for _ in 0..MAX_STEPS {
        if choices.is_empty() {
            break;
        }
        fixture.step(&mut choices);
    }
}

/// The configuration of both ends: small buffers, and a profile and policies selected by `number`.
pub(crate) fn config(number: u8) -> AssociationConfig {
    let mut policies = match number & 3 {
        0 => PolicyRecipe::recommended(),
        1 => PolicyRecipe::rfc9260(),
        _ => PolicyRecipe::cmt(),
    };
    let points: &[(&str, &str)] = match number >> 2 & 3 {
        0 => &[],
        1 => &[("chunk-rescheduling", "both"), ("buffer-split", "both")],
        2 => &[
            ("cc", "lia"),
            ("loss", "miss-count-association"),
            ("rtx-policy", "same"),
        ],
        _ => &[
            ("ack-policy", "immediate"),
            ("sack-path", "primary"),
            ("path-scheduler", "round-robin"),
        ],
    };
    for (point, value) in points.iter().chain(&[("ecn", "on")]) {
        policies.set(point, value).expect("a name of the catalogue");
    }
    AssociationConfig {
        // The same port on both sides, so that INITs can collide and a further INIT is a restart.
        local_sctp_port: Some(DEFAULT_PORT),
        send_buffer: BufferSize::Fixed(20_000),
        receive_buffer: BufferSize::Fixed(10_000),
        max_message: 8_000,
        partial_reliability: number & 32 != 0,
        reconfiguration: number & 64 != 0,
        outbound_streams: 8,
        max_inbound_streams: 8,
        max_retransmits: 4,
        policies,
        ..AssociationConfig::default()
    }
}

/// A message of `length` bytes.
pub(crate) fn message(length: usize, flags: u8) -> Message {
    let message = Message::new(StreamId(u16::from(flags & 7)), Bytes::from(vec![flags; length]));
    let message = message
        .with_ppid(Ppid(flags.into()))
        .with_reliability(match flags >> 3 & 7 {
            5 => Reliability::Retransmissions(0),
            6 => Reliability::Lifetime(Duration::from_millis(50)),
            7 => Reliability::Priority(1),
            _ => Reliability::Reliable,
        });
    if flags & 64 == 0 {
        message
    } else {
        message.unordered()
    }
}

struct Fixture {
    alice: Host,
    bob: Host,
    now: Instant,
    observed: Observed,
    to_alice: Vec<InFlight>,
    to_bob: Vec<InFlight>,
}

impl Fixture {
    fn new(number: u8) -> Self {
        let config = AssociationConfig {
            zero_checksum: (number & 16 != 0).then_some(ErrorDetection::Dtls),
            authenticated_chunks: if number & 64 == 0 {
                Vec::new()
            } else {
                vec![kind::DATA, kind::SACK, kind::HEARTBEAT, kind::ABORT]
            },
            ..config(number)
        };
        let mut fixture = Self {
            alice: Host::new(ALICE, &config),
            bob: Host::new(BOB, &config),
            now: Instant::ZERO,
            observed: Observed::default(),
            to_alice: Vec::new(),
            to_bob: Vec::new(),
        };
        if number & 128 == 0 {
            fixture.alice.connect(fixture.now, BOB);
        } else {
            fixture.bob.connect(fixture.now, ALICE);
        }
        fixture.settle();
        fixture
    }

    /// Puts all packets that both ends can send in flight.
    fn settle(&mut self) {
        for in_flight in self.alice.settle(self.now, |_, _| ()) {
            self.observed.observe_victim(&in_flight.bytes);
            self.to_bob.push(in_flight);
        }
        for in_flight in self.bob.settle(self.now, |_, _| ()) {
            self.observed.observe_peer(&in_flight.bytes);
            self.to_alice.push(in_flight);
        }
    }

    /// Delivers the packets in flight once.
    fn exchange(&mut self) {
        let (to_alice, to_bob) = (
            std::mem::take(&mut self.to_alice),
            std::mem::take(&mut self.to_bob),
        );
        to_alice
            .iter()
            .for_each(|in_flight| self.alice.receive(self.now, in_flight));
        to_bob
            .iter()
            .for_each(|in_flight| self.bob.receive(self.now, in_flight));
        self.settle();
    }

    /// Brings Alice into a stage of the handshake, the transfer or the shutdown.
    fn advance_to_stage(&mut self, stage: u8) {
        let handshake = match stage & 15 {
            early @ 0..4 => early,
            _ => 6,
        };
        (0..handshake).for_each(|_| self.exchange());
        match stage & 15 {
            4..8 => {
                self.act(true, |association| {
                    let _ = association.send(message(5_000, stage >> 4));
                });
                self.act(false, |association| {
                    let _ = association.send(message(5_000, stage >> 4));
                });
            }
            8..12 => self.act(true, Association::shutdown),
            12..16 => self.act(false, Association::shutdown),
            _ => {}
        }
        (0..stage & 3).for_each(|_| self.exchange());
    }

    fn act(&mut self, alice: bool, action: impl FnOnce(&mut Association)) {
        let host = if alice { &mut self.alice } else { &mut self.bob };
        if let Some(mut association) = host.association.and_then(|id| host.endpoint.association_mut(id)) {
            action(&mut association);
        }
        self.settle();
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.byte() {
            0..120 => {
                let bytes = self.observed.forge(choices);
                self.deliver(choices, bytes);
            }
            120..130 => {
                let length = choices.byte();
                let mut bytes = choices.slice(length.into()).to_vec();
                if bytes.len() >= 12 {
                    anabranch_wire::checksum::seal(&mut bytes);
                }
                self.deliver(choices, bytes);
            }
            130..170 => self.exchange(),
            170..190 => {
                self.now += Duration::from_millis(u64::from(choices.byte()).pow(2) / 4);
            }
            190..210 => {
                // Advances the time to the next timer.
                let deadline = self.alice.endpoint.poll_timeout();
                self.now = deadline.map_or(self.now, |deadline| self.now.max(deadline));
            }
            210..255 => self.call(choices),
            255 => {
                self.to_alice.clear();
                self.to_bob.clear();
            }
        }
        self.settle();
    }

    fn deliver(&mut self, choices: &mut Choices<'_>, bytes: Vec<u8>) {
        let from = choices.byte();
        let mut remote = Host::address(BOB, from & 1);
        if from >> 6 == 3 {
            remote.set_port(u16::from(from));
        }
        let path = PathAddr {
            local: remote,
            remote: Host::address(ALICE, from >> 1 & 1),
        };
        self.alice.receive(self.now, &InFlight { path, bytes });
    }

    fn call(&mut self, choices: &mut Choices<'_>) {
        let (action, amount) = (choices.byte(), choices.byte());
        let alice = action & 64 == 0;
        match action % 12 {
            0..5 => self.act(alice, |association| {
                let _ = association.send(message(usize::from(amount) * 40, action));
            }),
            5..8 => self.act(alice, |association| {
                (0..amount % 8).for_each(|_| drop(association.receive()));
            }),
            8 => self.act(alice, |association| association.set_primary(PathId(amount & 7))),
            9 if amount < 64 => self.act(alice, Association::shutdown),
            9 if amount < 80 => self.act(alice, |association| association.abort(b"enough")),
            10 if amount < 64 => self.alice.endpoint.forget(AssociationId(u32::from(amount & 7))),
            11 if amount < 64 => self.alice.connect(self.now, BOB),
            _ => {}
        }
    }
}
