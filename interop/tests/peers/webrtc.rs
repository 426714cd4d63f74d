//! Do the data channels of others and we understand each other? pion and aiortc, without the DTLS.

use std::io;

use anabranch_interop::{Plan, Stack};

use crate::conversation::{Conversation, End};

const SMALL: Plan = Plan::ordered(500, &[1_000, 40, 4], 10);
const LARGE: Plan = Plan::ordered(12, &[262_144, 30_000, 700_001], 3);

fn takes_place(conversation: Conversation) -> io::Result<()> {
    conversation.takes_place().map(|_| ())
}

mod pion {
    use super::*;

    fn with_pion(plan: Plan) -> Conversation {
        Conversation::with(Stack::Pion, plan)
    }

    #[test]
    fn we_connect_talk_and_finish() -> io::Result<()> {
        takes_place(with_pion(SMALL))
    }

    #[test]
    fn it_connects_talks_and_finishes() -> io::Result<()> {
        takes_place(with_pion(SMALL).it_connects().ends(End::ItFinishes))
    }

    #[test]
    fn large_and_unordered_messages_arrive() -> io::Result<()> {
        takes_place(with_pion(LARGE.half_unordered()).it_connects())
    }

    #[test]
    fn messages_are_interleaved() -> io::Result<()> {
        let conversation = with_pion(LARGE).option(&["--interleaving"]);
        takes_place(conversation.we(|config| {
            config
                .policies
                .set("interleaving", "on")
                .expect("an option that exists");
        }))
    }

    #[test]
    fn we_abort() -> io::Result<()> {
        takes_place(with_pion(SMALL).ends(End::WeAbort))
    }

    #[test]
    fn it_aborts() -> io::Result<()> {
        takes_place(with_pion(SMALL).ends(End::ItAborts))
    }
}

mod aiortc {
    use super::*;

    fn with_aiortc(plan: Plan) -> Conversation {
        Conversation::with(Stack::Aiortc, plan)
    }

    #[test]
    fn we_connect_talk_and_finish() -> io::Result<()> {
        takes_place(with_aiortc(SMALL))
    }

    #[test]
    fn it_connects_and_we_finish() -> io::Result<()> {
        takes_place(with_aiortc(SMALL).it_connects())
    }

    /// As RFC 8841 §9.3 has it.
    #[test]
    fn both_connect_at_once() -> io::Result<()> {
        takes_place(with_aiortc(SMALL).both_connect())
    }

    #[test]
    fn large_and_unordered_messages_arrive() -> io::Result<()> {
        takes_place(with_aiortc(LARGE.half_unordered()).it_connects())
    }

    #[test]
    fn we_abort() -> io::Result<()> {
        takes_place(with_aiortc(SMALL).ends(End::WeAbort))
    }

    #[test]
    fn it_aborts() -> io::Result<()> {
        takes_place(with_aiortc(SMALL).ends(End::ItAborts))
    }
}
