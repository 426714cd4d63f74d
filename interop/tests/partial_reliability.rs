//! Partial reliability with dcsctp (RFC 3758, RFC 7496, RFC 8260 §2.3), in virtual time, over a link that loses packets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anabranch_interop::core::{Core, Dcsctp, Ours, TestMessage};
use anabranch_interop::core_pair::path;
use anabranch_policy::NoParameters;
use anabranch_policy::catalog::InterleavingChoice;
use anabranch_proto::AssociationConfig;
use anabranch_types::{Instant, StreamId};
use bytes::Bytes;

const MESSAGES: u32 = 600;

/// Every tenth message is reliable; a chunk of the others is sent once.
const fn retransmissions(number: u32) -> Option<u16> {
    if number.is_multiple_of(10) { None } else { Some(0) }
}

fn message(number: u32) -> TestMessage {
    let length = [8, 300, 3_000][number as usize % 3];
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(length, number as u8);
    TestMessage {
        stream: StreamId(number as u16 % 4),
        unordered: number % 4 == 3,
        retransmissions: retransmissions(number),
        payload: payload.into(),
    }
}

/// One end, and what it has received.
struct End {
    core: Box<dyn Core>,
    sent: u32,
    received: BTreeSet<u32>,
    last: BTreeMap<u16, u32>,
}

impl End {
    fn new(core: Box<dyn Core>) -> Self {
        Self {
            core,
            sent: 0,
            received: BTreeSet::new(),
            last: BTreeMap::new(),
        }
    }

    fn take(&mut self, stream: StreamId, payload: &Bytes) {
        let number = payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        let number = number.expect("four bytes at least");
        assert_eq!(*payload, message(number).payload, "message {number}");
        assert!(self.received.insert(number), "{number} arrives twice");
        if !message(number).unordered {
            let last = self.last.insert(stream.0, number);
            assert!(last.is_none_or(|last| last < number), "{number} after {last:?}");
        }
    }

    fn is_done(&mut self) -> bool {
        self.sent == MESSAGES && self.core.is_flushed()
    }
}

/// Exchanges the messages of both ends over a link that loses every ninth packet.
fn exchange(ours: AssociationConfig, interleaving: bool) -> [End; 2] {
    let peer = Dcsctp::new(|options| options.enable_message_interleaving = interleaving);
    let mut ends = [
        End::new(Box::new(Ours::new(path(), ours))),
        End::new(Box::new(peer)),
    ];
    let mut now = Instant::ZERO;
    let (mut packets, mut quiet) = (0_u32, 0);
    ends[0].core.connect(now);
    for _ in 0..200_000 {
        now += Duration::from_millis(5);
        for index in [0, 1] {
            if ends[index]
                .core
                .deadline()
                .is_some_and(|deadline| deadline <= now)
            {
                ends[index].core.on_deadline(now);
            }
            for _ in 0..3 {
                let end = &mut ends[index];
                if end.core.is_connected() && end.sent < MESSAGES && end.core.send(&message(end.sent)) {
                    end.sent += 1;
                }
            }
            while let Some(packet) = ends[index].core.poll_packet(now) {
                packets += 1;
                let is_connected = ends.iter().all(|end| end.core.is_connected());
                if !is_connected || packets % 9 != 0 {
                    ends[1 - index].core.on_packet(now, &packet);
                }
            }
            while let Some((stream, payload)) = ends[index].core.read() {
                ends[index].take(stream, &payload);
            }
        }
        let [near, far] = &mut ends;
        // What is acknowledged may still be on its way to the application.
        quiet = if near.is_done() && far.is_done() {
            quiet + 1
        } else {
            0
        };
        if quiet > 400 {
            return ends;
        }
    }
    panic!("not everything is acknowledged or abandoned");
}

fn judge(ends: &[End; 2]) {
    for end in ends {
        assert_eq!(end.core.ending(), None);
        let reliable = (0..MESSAGES).filter(|number| retransmissions(*number).is_none());
        let missing: Vec<u32> = reliable.filter(|number| !end.received.contains(number)).collect();
        assert!(missing.is_empty(), "{missing:?} are reliable");
        let count = end.received.len();
        assert!((300..600).contains(&count), "{count} of {MESSAGES} arrived");
    }
}

#[test]
fn dcsctp_and_we_abandon_messages_and_skip_their_tsns() {
    judge(&exchange(AssociationConfig::webrtc(), false));
}

#[test]
fn dcsctp_and_we_abandon_interleaved_messages() {
    let mut config = AssociationConfig::webrtc();
    config.policies.interleaving = InterleavingChoice::On(NoParameters);
    judge(&exchange(config, true));
}
