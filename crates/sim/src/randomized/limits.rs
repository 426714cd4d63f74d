//! Buffer limits of a randomized test: the largest size ever configured, plus one message.

use super::op::Op;
use super::shape::Shape;
use crate::Side;

/// The largest buffers ever configured on each side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    send: [u64; 2],
    receive: [u64; 2],
    one_message: u64,
}

impl Limits {
    pub(super) fn of(shape: &Shape) -> Self {
        Self {
            send: Side::BOTH.map(|side| shape.of(side).send_buffer),
            receive: Side::BOTH.map(|side| shape.of(side).receive_buffer),
            one_message: shape.max_message as u64,
        }
    }

    /// Records a step before it is executed.
    pub(super) fn note(&mut self, op: &Op) {
        if let Op::Resize { side, send, receive } = *op {
            let side = side.index();
            self.send[side] = self.send[side].max(send);
            self.receive[side] = self.receive[side].max(receive);
        }
    }

    /// Bytes that the send buffer of a side may hold.
    pub(super) const fn send(&self, side: Side) -> u64 {
        self.send[side.index()] + self.one_message
    }

    /// Bytes that the receive buffer of a side may hold.
    pub(super) const fn receive(&self, side: Side) -> u64 {
        self.receive[side.index()] + self.one_message
    }
}
