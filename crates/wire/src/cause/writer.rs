//! Writer of error causes.

use alloc::vec::Vec;

use super::{Cause, kind};
use crate::tlv;

/// Collects the causes of an outbound ABORT or ERROR chunk.
///
/// ```
/// use anabranch_types::Tsn;
/// use anabranch_wire::{Cause, CauseWriter, Causes};
/// let mut causes = CauseWriter::new();
/// causes.push(Cause::NoUserData(Tsn(3))).push(Cause::UserInitiatedAbort(b"bye"));
/// assert_eq!(Causes::new(&causes.finish()).to_string(), "[no user data tsn=3, user abort \"bye\"]");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CauseWriter {
    bytes: Vec<u8>,
}

impl CauseWriter {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// The list of one cause: the usual case.
    #[must_use]
    pub fn one(cause: Cause<'_>) -> Vec<u8> {
        let mut writer = Self::new();
        writer.push(cause);
        writer.finish()
    }

    /// The list as [`crate::OutboundAbort`] and [`crate::OutboundError`] take it: the last cause is not
    /// padded.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    //= rfc4895 4.1-2
    /// Appends `cause`. Its variable part must be shorter than 65,532 bytes; no packet could carry more.
    pub fn push(&mut self, cause: Cause<'_>) -> &mut Self {
        match cause {
            Cause::InvalidStream(stream) => {
                self.frame(kind::INVALID_STREAM, &[&stream.0.to_be_bytes(), &[0; 2]])
            }
            Cause::MissingParameters(missing) => self.missing(missing.iter().len(), missing.kinds),
            Cause::StaleCookie { staleness } => self.frame(kind::STALE_COOKIE, &[&staleness.to_be_bytes()]),
            Cause::OutOfResource => self.frame(kind::OUT_OF_RESOURCE, &[]),
            Cause::UnresolvableAddress(address) => self.frame(kind::UNRESOLVABLE_ADDRESS, &[address]),
            Cause::UnrecognizedChunk(chunk) => self.frame(kind::UNRECOGNIZED_CHUNK, &[chunk]),
            Cause::InvalidMandatoryParameter => self.frame(kind::INVALID_MANDATORY_PARAMETER, &[]),
            Cause::UnrecognizedParameters(list) => self.frame(kind::UNRECOGNIZED_PARAMETERS, &[list]),
            Cause::NoUserData(tsn) => self.frame(kind::NO_USER_DATA, &[&tsn.0.to_be_bytes()]),
            Cause::CookieWhileShuttingDown => self.frame(kind::COOKIE_WHILE_SHUTTING_DOWN, &[]),
            Cause::RestartWithNewAddresses(list) => {
                self.frame(kind::RESTART_WITH_NEW_ADDRESSES, &[list.bytes()])
            }
            Cause::UserInitiatedAbort(reason) => self.frame(kind::USER_INITIATED_ABORT, &[reason]),
            Cause::ProtocolViolation(detail) => self.frame(kind::PROTOCOL_VIOLATION, &[detail]),
            Cause::DeleteLastAddress(request) => self.frame(kind::DELETE_LAST_ADDRESS, &[request]),
            Cause::ResourceShortage(request) => self.frame(kind::RESOURCE_SHORTAGE, &[request]),
            Cause::DeleteSourceAddress(request) => self.frame(kind::DELETE_SOURCE_ADDRESS, &[request]),
            Cause::IllegalAsconfAck => self.frame(kind::ILLEGAL_ASCONF_ACK, &[]),
            Cause::NoAuthorization(request) => self.frame(kind::NO_AUTHORIZATION, &[request]),
            Cause::UnsupportedHmac(id) => self.frame(kind::UNSUPPORTED_HMAC, &[&id.0.to_be_bytes()]),
            Cause::Unknown(raw) => self.frame(raw.kind, &[raw.value]),
        }
    }

    /// Appends the cause that names the parameters missing from an INIT or INIT ACK, by their types.
    pub fn push_missing_parameters(&mut self, kinds: &[u16]) -> &mut Self {
        let bytes: Vec<u8> = kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect();
        self.missing(kinds.len(), &bytes)
    }

    fn missing(&mut self, count: usize, kinds: &[u8]) -> &mut Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.frame(kind::MISSING_PARAMETERS, &[&count.to_be_bytes(), kinds])
    }

    fn frame(&mut self, kind: u16, value: &[&[u8]]) -> &mut Self {
        tlv::push(&mut self.bytes, kind, value);
        self
    }
}
