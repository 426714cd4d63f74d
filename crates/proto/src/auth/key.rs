//! Association keys (RFC 4895 §6.1). A key consists of the key vectors that both ends sent in the handshake, and of the endpoint
//! pair shared key.

use alloc::boxed::Box;

use anabranch_wire::chunk::kind as chunk_kind;
use anabranch_wire::parameter::kind;
use anabranch_wire::{HmacId, Parameter, ParameterWriter, RawParameter, parameter_header};

use super::Algorithm;
use crate::config::may_be_authenticated;

/// "The RANDOM parameter MUST contain a 32-byte Random Number" (RFC 4895 §6.1).
pub(crate) const RANDOM_LEN: usize = 32;
/// The chunk types of address changes, which are accepted only if they are authenticated.
pub(crate) const ADDRESS_CHANGES: [u8; 2] = [chunk_kind::ASCONF, chunk_kind::ASCONF_ACK];
/// Length of the parameter header in bytes.
const HEADER_LEN: usize = 4;

/// Whether chunks of type `kind` change addresses. This is asked for each received chunk, so it compares instead of searching the list.
pub(crate) const fn changes_addresses(kind: u8) -> bool {
    kind == ADDRESS_CHANGES[0] || kind == ADDRESS_CHANGES[1]
}

/// The key vector of one end: its RANDOM, CHUNKS and HMAC-ALGO parameters, in this order and without padding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyVector {
    bytes: Box<[u8]>,
}

impl KeyVector {
    /// Maximum length in bytes. A longer key vector would take too much room in the cookie; such a peer gets no authentication.
    pub(crate) const MAX_LEN: usize = 160;

    //= rfc4895 3.2-5, 3.2-6, 3.3-1, 3.3-6, 6.1-2, 6.1-5
    /// Our key vector, with the chunk types that we require to be authenticated.
    pub(crate) fn ours(random: &[u8; RANDOM_LEN], demanded: &[u8]) -> Self {
        let ids = Algorithm::OFFERED.map(|algorithm| algorithm.id().0.to_be_bytes());
        let ids = ids.as_flattened();
        let bytes = [
            &parameter_header(kind::RANDOM, random),
            &random[..],
            &parameter_header(kind::CHUNK_LIST, demanded),
            demanded,
            &parameter_header(kind::HMAC_ALGORITHMS, ids),
            ids,
        ];
        let bytes = bytes.concat();
        Self { bytes: bytes.into() }
    }

    /// Reads a key vector from a cookie.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes the parameters.
    pub(crate) fn push(&self, writer: &mut ParameterWriter) {
        for (kind, value) in self.parameters() {
            writer.push_raw(kind, value);
        }
    }

    fn parameters(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let mut rest = &*self.bytes;
        core::iter::from_fn(move || {
            let (&[k0, k1, l0, l1], behind) = rest.split_first_chunk::<HEADER_LEN>()?;
            let length = usize::from(u16::from_be_bytes([l0, l1])).checked_sub(HEADER_LEN)?;
            let (value, behind) = behind.split_at_checked(length)?;
            rest = behind;
            Some((u16::from_be_bytes([k0, k1]), value))
        })
    }

    fn value(&self, wanted: u16) -> &[u8] {
        let found = self.parameters().find(|(kind, _)| *kind == wanted);
        found.map_or(&[], |(_, value)| value)
    }

    //= rfc4895 3.2-7
    /// Whether this end requires chunks of type `kind` to be authenticated.
    pub(crate) fn demands(&self, kind: u8) -> bool {
        // RFC 4895 §3.2: the other types "MUST be ignored" in the list.
        self.value(kind::CHUNK_LIST).contains(&kind) && may_be_authenticated(kind)
    }

    /// Whether this end requires authentication of more than the chunks of RFC 5061.
    pub(crate) fn demands_more_than_asconf(&self) -> bool {
        let demanded = self.value(kind::CHUNK_LIST).iter();
        let mut others = demanded.filter(|kind| !changes_addresses(**kind));
        others.any(|kind| may_be_authenticated(*kind))
    }

    //= rfc4895 6.1-6
    /// "The receiver of an HMAC-ALGO parameter SHOULD use the first listed algorithm it supports" (RFC 4895 §6.1).
    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        let ids = self.value(kind::HMAC_ALGORITHMS).as_chunks().0.iter();
        ids.map(|id| HmacId(u16::from_be_bytes(*id)))
            .find_map(Algorithm::from_id)
    }

    //= rfc5061 6-1
    /// The association key: the shared key, then the numerically smaller key vector, then the larger one (RFC 4895 §6.1). Key
    /// vectors start with a byte that is not zero, so the longer vector is the larger one.
    pub(crate) fn key(&self, other: &Self, shared: &[u8]) -> Box<[u8]> {
        let (ours, theirs) = (&self.bytes, &other.bytes);
        let (small, large) = if (ours.len(), ours) <= (theirs.len(), theirs) {
            (self, other)
        } else {
            (other, self)
        };
        [shared, &small.bytes, &large.bytes].concat().into()
    }
}

/// Collects a key vector from the parameters of an INIT or INIT ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyVectorReader<'a> {
    random: Option<RawParameter<'a>>,
    chunks: Option<RawParameter<'a>>,
    hmacs: Option<RawParameter<'a>>,
}

/// "If the Random Number is not 32 bytes, the association MUST be aborted" (RFC 4895 §6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadRandom;

impl<'a> KeyVectorReader<'a> {
    /// Adds a parameter; the first one of each type counts.
    pub(crate) fn note(&mut self, raw: RawParameter<'a>, parameter: &Parameter<'a>) {
        match parameter {
            Parameter::Random(_) => self.random.get_or_insert(raw),
            Parameter::ChunkList(_) => self.chunks.get_or_insert(raw),
            Parameter::HmacAlgorithms(_) => self.hmacs.get_or_insert(raw),
            _ => return,
        };
    }

    //= rfc4895 6.1-9
    /// The key vector; `None` if the end does not support authentication or its vector is too long.
    pub(crate) fn finish(self) -> Result<Option<KeyVector>, BadRandom> {
        let Some(random) = self.random else {
            return Ok(None);
        };
        if random.value.len() != RANDOM_LEN {
            return Err(BadRandom);
        }
        let parts = [self.random, self.chunks, self.hmacs];
        let bytes = parts.map(|raw| raw.map_or(&[][..], |raw| raw.bytes)).concat();
        let is_short = bytes.len() <= KeyVector::MAX_LEN;
        Ok(is_short.then(|| KeyVector { bytes: bytes.into() }))
    }
}
