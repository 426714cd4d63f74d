//! dcsctp, the SCTP stack of Chromium's data channels, as a test core.

use std::fmt;
use std::time::Duration;

use anabranch_types::{Instant, StreamId};
use bytes::Bytes;
use dcsctp::api::{
    DcSctpSocket as _, ErrorKind, Message, Options, PpId, SendOptions, Socket, SocketEvent, SocketState,
    SocketTime, StreamId as TheirStreamId,
};

use super::{Core, Ending, MAX_MESSAGE, MAX_PACKET, TestMessage};

/// A dcsctp socket.
pub struct Dcsctp {
    socket: Socket,
    packets: std::collections::VecDeque<Vec<u8>>,
    ending: Option<Ending>,
}

impl Dcsctp {
    /// Creates a closed socket; `change` may set further options.
    #[must_use]
    pub fn new(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options {
            mtu: MAX_PACKET.into(),
            max_message_size: MAX_MESSAGE,
            ..Options::default()
        };
        change(&mut options);
        Self {
            socket: Socket::new("dcsctp", &options),
            packets: std::collections::VecDeque::new(),
            ending: None,
        }
    }

    fn hear(&mut self) {
        while let Some(event) = self.socket.poll_event() {
            match event {
                SocketEvent::SendPacket(packet) => self.packets.push_back(packet),
                SocketEvent::OnClosed() => self.ending = Some(Ending::Finished),
                SocketEvent::OnAborted(kind, what) => {
                    self.ending = Some(match kind {
                        ErrorKind::PeerReported => Ending::Aborted,
                        _ => Ending::Failed(format!("{kind:?}: {what}")),
                    });
                }
                _ => {}
            }
        }
    }

    fn pass(&mut self, now: Instant) {
        self.socket
            .advance_time(SocketTime::zero() + now.saturating_duration_since(Instant::ZERO));
    }
}

impl Core for Dcsctp {
    fn connect(&mut self, now: Instant) {
        self.pass(now);
        self.socket.connect();
        self.hear();
    }

    fn on_packet(&mut self, now: Instant, packet: &[u8]) {
        self.pass(now);
        self.socket.handle_input(packet);
        self.hear();
    }

    fn on_deadline(&mut self, now: Instant) {
        self.pass(now);
        self.hear();
    }

    fn poll_packet(&mut self, _now: Instant) -> Option<Vec<u8>> {
        self.hear();
        self.packets.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let deadline: Duration = self.socket.poll_timeout() - SocketTime::zero();
        (deadline < Duration::MAX).then(|| Instant::ZERO + deadline)
    }

    fn send(&mut self, message: &TestMessage) -> bool {
        let stream = TheirStreamId(message.stream.0);
        let outgoing = Message::new(stream, PpId(0), message.payload.to_vec());
        let options = SendOptions {
            unordered: message.unordered,
            max_retransmissions: message.retransmissions,
            ..SendOptions::default()
        };
        let sent = self.socket.send(outgoing, &options).is_ok();
        self.hear();
        sent
    }

    fn read(&mut self) -> Option<(StreamId, Bytes)> {
        let message = self.socket.get_next_message()?;
        Some((StreamId(message.stream_id.0), message.payload.into()))
    }

    fn is_connected(&self) -> bool {
        self.socket.state() == SocketState::Connected
    }

    fn is_flushed(&mut self) -> bool {
        let metrics = self.socket.get_metrics();
        metrics.is_some_and(|metrics| metrics.unack_data_count == 0)
    }

    fn shutdown(&mut self) {
        self.socket.shutdown();
        self.hear();
    }

    /// dcsctp does not report when it closes by itself.
    fn abort(&mut self) {
        self.socket.close();
        self.hear();
        self.ending = Some(Ending::Aborted);
    }

    fn ending(&self) -> Option<Ending> {
        self.ending.clone()
    }
}

impl fmt::Debug for Dcsctp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dcsctp")
            .field("state", &self.socket.state())
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}
