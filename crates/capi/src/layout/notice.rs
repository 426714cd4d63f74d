//! Notifications (RFC 6458 §6.1), as Linux' header declares them.

use anabranch::CloseReason;

use super::{Build, Info};

/// Number of a notification (`sn_type`) of `sctp_event_subscribe`'s first field; the others follow in its order.
pub(crate) const SN_TYPE_BASE: u16 = 1 << 15;

/// Number of fields of `sctp_event_subscribe`.
pub(crate) const EVENTS: usize = 14;

/// `sn_type`, which is also `se_type`.
pub(crate) mod kind {
    use super::SN_TYPE_BASE;

    pub(crate) const ASSOC_CHANGE: u16 = SN_TYPE_BASE + 1;
    pub(crate) const PEER_ADDR_CHANGE: u16 = SN_TYPE_BASE + 2;
    pub(crate) const SEND_FAILED: u16 = SN_TYPE_BASE + 3;
    pub(crate) const REMOTE_ERROR: u16 = SN_TYPE_BASE + 4;
    pub(crate) const SHUTDOWN_EVENT: u16 = SN_TYPE_BASE + 5;
    pub(crate) const PARTIAL_DELIVERY: u16 = SN_TYPE_BASE + 6;
    pub(crate) const ADAPTATION: u16 = SN_TYPE_BASE + 7;
    pub(crate) const AUTHENTICATION: u16 = SN_TYPE_BASE + 8;
    pub(crate) const SENDER_DRY: u16 = SN_TYPE_BASE + 9;
    pub(crate) const STREAM_RESET: u16 = SN_TYPE_BASE + 10;
    pub(crate) const ASSOC_RESET: u16 = SN_TYPE_BASE + 11;
    pub(crate) const STREAM_CHANGE: u16 = SN_TYPE_BASE + 12;
    pub(crate) const SEND_FAILED_EVENT: u16 = SN_TYPE_BASE + 13;
}

/// `sac_state` of `sctp_assoc_change`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AssocState {
    CommUp = 0,
    CommLost = 1,
    Restart = 2,
    ShutdownComplete = 3,
    CannotStart = 4,
}

impl AssocState {
    pub(crate) const fn of_end(reason: Option<&CloseReason>) -> Self {
        match reason {
            None | Some(CloseReason::Finished) => Self::ShutdownComplete,
            Some(_) => Self::CommLost,
        }
    }
}

/// `spc_state` of `sctp_paddr_change`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressState {
    Available = 0,
    Unreachable = 1,
    Removed = 2,
    Added = 3,
    MadePrimary = 4,
    Confirmed = 5,
    PotentiallyFailed = 6,
}

/// What became of a request to change streams or the association (RFC 6525 §6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Done = 0,
    Denied = 4,
}

/// A notification: its type and flags, its length, and the rest.
fn notice(kind: u16, flags: u16, rest: Build) -> Vec<u8> {
    let rest = rest.done();
    let length = u32::try_from(rest.len() + 8).unwrap_or(u32::MAX);
    Build::new().u16(kind).u16(flags).u32(length).bytes(&rest).done()
}

/// `struct sctp_assoc_change`.
pub(crate) fn assoc_change(id: i32, state: AssocState, (outbound, inbound): (u16, u16)) -> Vec<u8> {
    let rest = Build::new().u16(state as u16).u16(0).u16(outbound).u16(inbound);
    notice(kind::ASSOC_CHANGE, 0, rest.i32(id))
}

/// `struct sctp_paddr_change`, with an address as bytes.
pub(crate) fn address_change(id: i32, address: &[u8], state: AddressState) -> Vec<u8> {
    let rest = Build::new().storage(address).i32(state as i32).i32(0);
    notice(kind::PEER_ADDR_CHANGE, 0, rest.i32(id))
}

/// `struct sctp_remote_error`: the code in network byte order, and the value of the cause, as on Linux without its header.
pub(crate) fn remote_error(id: i32, code: u16, value: &[u8]) -> Vec<u8> {
    let rest = Build::new().u16(code.to_be()).pad(4).i32(id).bytes(value);
    notice(kind::REMOTE_ERROR, 0, rest)
}

/// A message that was not delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SendFailure<'b> {
    pub(crate) was_sent: bool,
    pub(crate) info: Info,
    pub(crate) data: &'b [u8],
}

/// `struct sctp_send_failed`.
pub(crate) fn send_failed(id: i32, failure: &SendFailure<'_>) -> Vec<u8> {
    let rest = Build::new().u32(0).bytes(&failure.info.sndrcv()).i32(id);
    notice(
        kind::SEND_FAILED,
        failure.was_sent.into(),
        rest.bytes(failure.data),
    )
}

/// `struct sctp_send_failed_event`.
pub(crate) fn send_failed_event(id: i32, failure: &SendFailure<'_>) -> Vec<u8> {
    let rest = Build::new().u32(0).bytes(&failure.info.snd()).i32(id);
    notice(
        kind::SEND_FAILED_EVENT,
        failure.was_sent.into(),
        rest.bytes(failure.data),
    )
}

/// `struct sctp_shutdown_event`.
pub(crate) fn shutdown_event(id: i32) -> Vec<u8> {
    notice(kind::SHUTDOWN_EVENT, 0, Build::new().i32(id))
}

/// `struct sctp_adaptation_event`.
pub(crate) fn adaptation(id: i32, code: u32) -> Vec<u8> {
    notice(kind::ADAPTATION, 0, Build::new().u32(code).i32(id))
}

/// `struct sctp_pdapi_event`: the rest of a message will not arrive.
pub(crate) fn partial_delivery(id: i32, stream: u16) -> Vec<u8> {
    let rest = Build::new().u32(0).i32(id).u32(stream.into()).u32(0);
    notice(kind::PARTIAL_DELIVERY, 0, rest)
}

/// `auth_indication` of `sctp_authkey_event`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyChange {
    /// The peer uses the key.
    New = 0,
    /// No message needs the key any more.
    Free = 1,
    /// The peer does not support authentication.
    NoAuthentication = 2,
}

/// `struct sctp_authkey_event`.
pub(crate) fn auth_key(id: i32, key: u16, change: KeyChange) -> Vec<u8> {
    let rest = Build::new().u16(key).u16(0).u32(change as u32).i32(id);
    notice(kind::AUTHENTICATION, 0, rest)
}

/// `struct sctp_sender_dry_event`.
pub(crate) fn sender_dry(id: i32) -> Vec<u8> {
    notice(kind::SENDER_DRY, 0, Build::new().i32(id))
}

/// `struct sctp_stream_reset_event` of inbound or outbound streams; no streams are all.
pub(crate) fn stream_reset(id: i32, is_inbound: bool, outcome: Outcome, streams: &[u16]) -> Vec<u8> {
    let direction = if is_inbound { 1 } else { 2 };
    let rest = Build::new().i32(id);
    let rest = streams.iter().fold(rest, |rest, stream| rest.u16(*stream));
    notice(kind::STREAM_RESET, direction | outcome as u16, rest)
}

/// `struct sctp_assoc_reset_event`. The new TSNs are not told.
pub(crate) fn assoc_reset(id: i32, outcome: Outcome) -> Vec<u8> {
    notice(
        kind::ASSOC_RESET,
        outcome as u16,
        Build::new().i32(id).u32(0).u32(0),
    )
}

/// `struct sctp_stream_change_event`, with the numbers of streams.
pub(crate) fn stream_change(id: i32, outcome: Outcome, (outbound, inbound): (u16, u16)) -> Vec<u8> {
    let rest = Build::new().i32(id).u16(inbound).u16(outbound);
    notice(kind::STREAM_CHANGE, outcome as u16, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Fields;

    #[test]
    fn notices_have_the_lengths_of_linux_structures() {
        let failure = SendFailure {
            was_sent: true,
            info: Info::default(),
            data: b"data",
        };
        for (notice, length) in [
            (assoc_change(3, AssocState::CommUp, (1, 2)), 20),
            (address_change(3, &[0; 16], AddressState::Available), 148),
            (remote_error(3, 13, &[1; 4]), 16 + 4),
            (send_failed(3, &failure), 48 + 4),
            (send_failed_event(3, &failure), 32 + 4),
            (shutdown_event(3), 12),
            (adaptation(3, 7), 16),
            (partial_delivery(3, 1), 24),
            (auth_key(3, 1, KeyChange::Free), 20),
            (sender_dry(3), 12),
            (stream_reset(3, true, Outcome::Done, &[1, 2]), 12 + 4),
            (assoc_reset(3, Outcome::Denied), 20),
            (stream_change(3, Outcome::Done, (5, 6)), 16),
        ] {
            let mut fields = Fields::new(&notice);
            fields.bytes(4).unwrap();
            assert_eq!((notice.len(), fields.u32()), (length, Ok(length as u32)));
        }
    }
}
