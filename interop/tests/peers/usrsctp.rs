//! Do usrsctp and we understand each other? FreeBSD's stack, in user space.

use std::io;

use anabranch_interop::{Plan, Stack};

use crate::conversation::{Conversation, End};

const SMALL: Plan = Plan::ordered(5_000, &[1_000, 40, 4], 10);
const LARGE: Plan = Plan::ordered(40, &[262_144, 30_000, 700_001], 3);
const ONE_STREAM: Plan = Plan::ordered(5_000, &[1_000, 40], 1);
const MANY_STREAMS: Plan = Plan::ordered(6_000, &[300], 2_000);

fn with_usrsctp(plan: Plan) -> Conversation {
    Conversation::with(Stack::Usrsctp, plan)
}

/// It takes a message only if its send buffer has room for all of it.
fn with_large_messages(plan: Plan) -> Conversation {
    with_usrsctp(plan).option(&["--send-buffer", "2000000", "--receive-buffer", "2000000"])
}

fn takes_place(conversation: Conversation) -> io::Result<()> {
    conversation.takes_place().map(|_| ())
}

#[test]
fn we_connect_talk_and_finish() -> io::Result<()> {
    takes_place(with_usrsctp(SMALL))
}

#[test]
fn it_connects_talks_and_finishes() -> io::Result<()> {
    takes_place(with_usrsctp(SMALL).it_connects().ends(End::ItFinishes))
}

#[test]
fn half_of_the_messages_are_unordered() -> io::Result<()> {
    takes_place(with_usrsctp(SMALL.half_unordered()).ends(End::ItFinishes))
}

#[test]
fn messages_have_hundreds_of_fragments() -> io::Result<()> {
    takes_place(with_large_messages(LARGE))
}

#[test]
fn large_unordered_messages_arrive() -> io::Result<()> {
    takes_place(with_large_messages(LARGE.half_unordered()).it_connects())
}

#[test]
fn messages_go_over_two_thousand_streams() -> io::Result<()> {
    takes_place(with_usrsctp(MANY_STREAMS).we(|config| config.outbound_streams = 2_000))
}

#[test]
fn everything_goes_over_one_stream() -> io::Result<()> {
    takes_place(with_usrsctp(ONE_STREAM).we(|config| config.outbound_streams = 1))
}

#[test]
fn half_of_the_messages_are_unordered_over_two_paths() -> io::Result<()> {
    let conversation = with_usrsctp(SMALL.half_unordered()).over_cables(2);
    takes_place(conversation.option(&["--set", "cmt_on_off=1"]))
}

#[test]
fn we_abort() -> io::Result<()> {
    takes_place(with_usrsctp(SMALL).ends(End::WeAbort))
}

#[test]
fn it_aborts() -> io::Result<()> {
    takes_place(with_usrsctp(SMALL).it_says(0).ends(End::ItAborts))
}
