//! Combinations of parameters in a RE-CONFIG chunk (RFC 6525 §3.1). A received chunk is one of those that the RFC allows, or invalid.

use alloc::vec::Vec;

use anabranch_types::{ReConfigNumber, StreamId, Tsn};
use anabranch_wire::{ReConfig, ReConfigParameter, ReConfigResponse};

/// A request of the peer, named as the peer sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Request {
    ResetOutgoing {
        number: ReConfigNumber,
        response: ReConfigNumber,
        last: Tsn,
        streams: Vec<StreamId>,
    },
    ResetIncoming {
        number: ReConfigNumber,
        streams: Vec<StreamId>,
    },
    ResetAssociation {
        number: ReConfigNumber,
    },
    AddOutgoing {
        number: ReConfigNumber,
        count: u16,
    },
    AddIncoming {
        number: ReConfigNumber,
        count: u16,
    },
}

impl Request {
    pub(super) const fn number(&self) -> ReConfigNumber {
        match self {
            Self::ResetOutgoing { number, .. }
            | Self::ResetIncoming { number, .. }
            | Self::ResetAssociation { number }
            | Self::AddOutgoing { number, .. }
            | Self::AddIncoming { number, .. } => *number,
        }
    }
}

/// The valid contents of a RE-CONFIG chunk: at most two responses, or at most two requests, or one of each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Combination {
    requests: Vec<Request>,
    responses: Vec<ReConfigResponse>,
}

impl Combination {
    /// Parses a chunk; `None` if the RFC does not allow the combination, or a parameter is malformed. An unknown parameter ends the
    /// chunk (RFC 6525 §4).
    pub(super) fn parse(chunk: &ReConfig<'_>) -> Option<Self> {
        let mut parameters = Vec::new();
        for raw in chunk.parameters.iter() {
            match ReConfigParameter::decode(raw.ok()?).ok()? {
                ReConfigParameter::Unknown(_) => break,
                parameter if parameters.len() < 2 => parameters.push(parameter),
                _ => return None,
            }
        }
        is_allowed(&parameters).then(|| Self::of(&parameters))
    }

    fn of(parameters: &[ReConfigParameter<'_>]) -> Self {
        let responses = parameters.iter().filter_map(|parameter| match parameter {
            ReConfigParameter::Response(response) => Some(*response),
            _ => None,
        });
        Self {
            requests: parameters.iter().filter_map(request).collect(),
            responses: responses.collect(),
        }
    }

    pub(super) fn requests(&self) -> &[Request] {
        &self.requests
    }

    pub(super) fn responses(&self) -> impl Iterator<Item = ReConfigResponse> {
        self.responses.iter().copied()
    }
}

/// Whether RFC 6525 §3.1 allows these parameters together; their order does not matter.
fn is_allowed(parameters: &[ReConfigParameter<'_>]) -> bool {
    use ReConfigParameter::{AddIncoming, AddOutgoing, ResetIncoming, ResetOutgoing, Response};
    let is_pair = |first, second| {
        matches!(
            (first, second),
            (&ResetOutgoing { .. }, &ResetIncoming { .. })
                | (&AddOutgoing { .. }, &AddIncoming { .. })
                | (&Response(_), &ResetOutgoing { .. } | &Response(_))
        )
    };
    match parameters {
        [] | [_] => true,
        [first, second] => is_pair(first, second) || is_pair(second, first),
        _ => false,
    }
}

fn request(parameter: &ReConfigParameter<'_>) -> Option<Request> {
    match *parameter {
        ReConfigParameter::ResetOutgoing {
            number,
            response,
            last,
            streams,
        } => Some(Request::ResetOutgoing {
            number,
            response,
            last,
            streams: streams.iter().collect(),
        }),
        ReConfigParameter::ResetIncoming { number, streams } => Some(Request::ResetIncoming {
            number,
            streams: streams.iter().collect(),
        }),
        ReConfigParameter::ResetAssociation { number } => Some(Request::ResetAssociation { number }),
        ReConfigParameter::AddOutgoing { number, count } => Some(Request::AddOutgoing { number, count }),
        ReConfigParameter::AddIncoming { number, count } => Some(Request::AddIncoming { number, count }),
        ReConfigParameter::Response(_) | ReConfigParameter::Unknown(_) => None,
    }
}
