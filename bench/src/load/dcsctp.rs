//! dcsctp under load, as published: version 0.1.16 formats every packet as text for a log, with or without a log, which
//! takes most of its time.

use std::time::Duration;

use dcsctp::api::{
    DcSctpSocket as _, Message, Options, PpId, SendOptions, Socket, SocketEvent, SocketState, SocketTime,
    StreamId,
};

use super::{BACKLOG, Delivered, LARGEST_PACKET, Load, ROUND_MICROS};

const STREAM: StreamId = StreamId(1);

struct Dcsctp {
    alice: Socket,
    bob: Socket,
    now: SocketTime,
    payload: Vec<u8>,
}

pub(super) fn start(message: usize, window: usize) -> Box<dyn Load> {
    let options = Options {
        mtu: usize::from(LARGEST_PACKET),
        max_receiver_window_buffer_size: window,
        ..Options::default()
    };
    let mut alice = Socket::new("alice", &options);
    let mut bob = Socket::new("bob", &options);
    alice.connect();
    while alice.state() != SocketState::Connected || bob.state() != SocketState::Connected {
        carry(&mut alice, &mut bob);
        carry(&mut bob, &mut alice);
    }
    Box::new(Dcsctp {
        alice,
        bob,
        now: SocketTime::zero(),
        payload: vec![7; message],
    })
}

/// Delivers all packets that can be sent; returns their number.
fn carry(from: &mut Socket, to: &mut Socket) -> u64 {
    let mut packets = 0;
    while let Some(event) = from.poll_event() {
        if let SocketEvent::SendPacket(packet) = event {
            packets += 1;
            to.handle_input(&packet);
        }
    }
    packets
}

impl Load for Dcsctp {
    fn round(&mut self) -> Delivered {
        while self.alice.buffered_amount(STREAM) < BACKLOG {
            let message = Message::new(STREAM, PpId(0), self.payload.clone());
            if self.alice.send(message, &SendOptions::default()).is_err() {
                break;
            }
        }
        let packets = carry(&mut self.alice, &mut self.bob);
        let messages = std::iter::from_fn(|| self.bob.get_next_message()).count() as u64;
        let answers = carry(&mut self.bob, &mut self.alice);
        self.now = self.now + Duration::from_micros(ROUND_MICROS);
        if packets + answers == 0 {
            let deadline = self.alice.poll_timeout().min(self.bob.poll_timeout());
            self.now = self.now.max(deadline);
        }
        self.alice.advance_time(self.now);
        self.bob.advance_time(self.now);
        Delivered {
            messages,
            packets,
            answers,
        }
    }
}
