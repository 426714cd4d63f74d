//! Interoperability with SCTP for WebRTC: pion and aiortc, without DTLS.

use std::io;

use anabranch_interop::{Stack, Workload};
use anabranch_wire::chunk::kind;

use crate::conversation::{Conversation, End};

const SMALL: Workload = Workload::ordered(500, &[1_000, 40, 4], 10);
/// The first message fits into the packet of the COOKIE ECHO.
const SHORT_FIRST: Workload = Workload::ordered(500, &[40, 1_000, 4], 1);
const LARGE: Workload = Workload::ordered(12, &[262_144, 30_000, 700_001], 3);

fn run(conversation: Conversation) -> io::Result<()> {
    conversation.run().map(|_| ())
}

mod pion {
    use super::*;

    fn with_pion(workload: Workload) -> Conversation {
        Conversation::with(Stack::Pion, workload)
    }

    #[test]
    fn we_connect_and_shut_down() -> io::Result<()> {
        run(with_pion(SMALL))
    }

    #[test]
    fn data_with_the_cookie_echo_is_delivered() -> io::Result<()> {
        run(with_pion(SHORT_FIRST).early())
    }

    #[test]
    fn peer_connects_and_shuts_down() -> io::Result<()> {
        run(with_pion(SMALL).peer_connects().ends(End::PeerShutsDown))
    }

    #[test]
    fn large_and_unordered_messages_are_delivered() -> io::Result<()> {
        run(with_pion(LARGE.half_unordered()).peer_connects())
    }

    #[test]
    fn messages_are_interleaved() -> io::Result<()> {
        let conversation = with_pion(LARGE).option(&["--interleaving"]);
        run(conversation.we(|config| {
            config
                .policies
                .set("interleaving", "on")
                .expect("an option that exists");
        }))
    }

    /// Both send FORWARD TSN (RFC 3758).
    #[test]
    fn lost_messages_are_abandoned_by_both() -> io::Result<()> {
        let conversation = with_pion(SMALL.half_unordered().half_unreliable(0)).loses_each(20);
        run(conversation.peer_sends_chunk(kind::FORWARD_TSN))
    }

    /// Data channels close: both ends reset their outgoing streams (RFC 6525, RFC 8831 §6.7).
    #[test]
    fn streams_are_closed_by_both() -> io::Result<()> {
        let conversation = with_pion(SMALL.half_unordered()).closes_streams();
        let conversation = conversation.we(|config| config.reconfiguration = true);
        run(conversation.peer_sends_chunk(kind::RE_CONFIG))
    }

    #[test]
    fn zero_checksums_are_agreed_on() -> io::Result<()> {
        let conversation = || with_pion(SMALL).option(&["--zero-checksum"]).zero_checksums();
        run(conversation())?;
        run(conversation().peer_connects().ends(End::PeerShutsDown))
    }

    #[test]
    fn we_abort() -> io::Result<()> {
        run(with_pion(SMALL).ends(End::WeAbort))
    }

    #[test]
    fn peer_aborts() -> io::Result<()> {
        run(with_pion(SMALL).ends(End::PeerAborts))
    }
}

mod aiortc {
    use super::*;

    fn with_aiortc(workload: Workload) -> Conversation {
        Conversation::with(Stack::Aiortc, workload)
    }

    #[test]
    fn we_connect_and_shut_down() -> io::Result<()> {
        run(with_aiortc(SMALL))
    }

    #[test]
    fn data_with_the_cookie_echo_is_delivered() -> io::Result<()> {
        run(with_aiortc(SHORT_FIRST).early())
    }

    #[test]
    fn peer_connects_and_we_shut_down() -> io::Result<()> {
        run(with_aiortc(SMALL).peer_connects())
    }

    /// Both sides connect (RFC 8841 §9.3).
    #[test]
    fn both_connect_at_once() -> io::Result<()> {
        run(with_aiortc(SMALL).both_connect())
    }

    #[test]
    fn large_and_unordered_messages_are_delivered() -> io::Result<()> {
        run(with_aiortc(LARGE.half_unordered()).peer_connects())
    }

    /// Both send FORWARD TSN (RFC 3758).
    #[test]
    fn lost_messages_are_abandoned_by_both() -> io::Result<()> {
        let conversation = with_aiortc(SMALL.half_unordered().half_unreliable(0)).loses_each(20);
        run(conversation.peer_sends_chunk(kind::FORWARD_TSN))
    }

    #[test]
    fn we_abort() -> io::Result<()> {
        run(with_aiortc(SMALL).ends(End::WeAbort))
    }

    #[test]
    fn peer_aborts() -> io::Result<()> {
        run(with_aiortc(SMALL).ends(End::PeerAborts))
    }
}
