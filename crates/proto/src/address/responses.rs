//! Responses of an ASCONF ACK (RFC 5061 §5.1 A6 to A8): the outcome of each request.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use anabranch_wire::cause::kind;
use anabranch_wire::{CorrelationId, Parameter, Parameters};

/// Outcome of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The peer has carried it out.
    Done,
    /// The peer has refused it, for this reason.
    Refused(String),
}

/// Outcomes of all requests of an ASCONF, by correlation id.
#[derive(Debug)]
pub(super) struct Outcomes {
    outcomes: Vec<Outcome>,
    /// Whether the peer does not recognize one of the requests (RFC 5061 §5.3 F3a).
    pub(super) not_understood: bool,
}

impl Outcomes {
    //= rfc5061 5.1-9, 5.3-6, 5.3-8
    /// Reads the responses to `count` requests with correlation ids from 0.
    pub(super) fn read(responses: &Parameters<'_>, count: usize) -> Self {
        let mut said: Vec<Option<Outcome>> = alloc::vec![None; count];
        let mut not_understood = false;
        let decoded = responses
            .iter()
            .map_while(Result::ok)
            .map_while(|raw| raw.decode().ok());
        for response in decoded {
            let (id, outcome) = match response {
                Parameter::SuccessIndication(id) => (id, Outcome::Done),
                Parameter::ErrorIndication { id, causes } => {
                    not_understood |= causes
                        .iter()
                        .flatten()
                        .any(|raw| raw.kind == kind::UNRECOGNIZED_PARAMETERS);
                    (id, Outcome::Refused(causes.to_string()))
                }
                _ => continue,
            };
            if let Some(slot) = said.get_mut(id.0 as usize) {
                *slot = Some(outcome);
            }
        }
        // RFC 5061 §5.1 A7: "All TLVs after the failed response are considered unsuccessful unless a specific success indication is
        // present for the parameter." Those before it are successful, as all are if nothing failed (A8).
        let failed = said
            .iter()
            .position(|outcome| matches!(outcome, Some(Outcome::Refused(_))));
        let unsaid = |at: usize| match failed {
            Some(failed) if at > failed => Outcome::Refused("another request before it failed".to_string()),
            _ => Outcome::Done,
        };
        let outcomes = said.into_iter().enumerate();
        Self {
            outcomes: outcomes
                .map(|(at, outcome)| outcome.unwrap_or_else(|| unsaid(at)))
                .collect(),
            not_understood,
        }
    }

    pub(super) fn of(&self, id: CorrelationId) -> &Outcome {
        &self.outcomes[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use anabranch_wire::{Cause, CauseWriter, ParameterWriter};

    use super::*;

    fn done(responses: &ParameterWriter, count: u32) -> Vec<bool> {
        let bytes = responses.clone().finish();
        let outcomes = Outcomes::read(&Parameters::new(&bytes), count as usize);
        (0..count)
            .map(|id| *outcomes.of(CorrelationId(id)) == Outcome::Done)
            .collect()
    }

    #[test]
    fn request_without_a_response_succeeded() {
        assert_eq!(done(&ParameterWriter::new(), 3), [true; 3]);
    }

    //= rfc5061 5.1-9
    #[test]
    fn requests_after_a_failed_one_need_a_success_indication() {
        let why = CauseWriter::one(Cause::ResourceShortage(&[]));
        let mut responses = ParameterWriter::new();
        responses
            .push_error_indication(CorrelationId(1), &why)
            .push_success_indication(CorrelationId(3));
        assert_eq!(done(&responses, 4), [true, false, false, true]);
    }

    #[test]
    fn unmatched_and_malformed_responses_are_ignored() {
        let mut responses = ParameterWriter::new();
        responses
            .push_success_indication(CorrelationId(u32::MAX))
            .push_raw(kind_of_error(), &[0, 0])
            .push_error_indication(CorrelationId(0), &[]);
        assert_eq!(done(&responses, 1), [true]);
    }

    const fn kind_of_error() -> u16 {
        anabranch_wire::parameter::kind::ERROR_INDICATION
    }

    //= rfc5061 5.3-8
    #[test]
    fn unrecognized_request_is_reported() {
        let why = CauseWriter::one(Cause::UnrecognizedParameters(&[0xc0, 1, 0, 4]));
        let mut responses = ParameterWriter::new();
        responses.push_error_indication(CorrelationId(0), &why);
        let bytes = responses.finish();
        assert!(Outcomes::read(&Parameters::new(&bytes), 1).not_understood);
    }
}
