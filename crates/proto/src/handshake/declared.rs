//! Declared features. A parameter of its own in INIT and INIT ACK declares each of them, not Supported Extensions.

use anabranch_policy::catalog::EcnChoice;
use anabranch_wire::{DetectionMethod, Parameter, ParameterWriter};

use crate::config::{AssociationConfig, ErrorDetection};

/// What one end declared in its INIT or INIT ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Declared {
    /// It accepts packets with a checksum of zero (RFC 9653 §5.1), because this layer detects errors.
    pub(crate) zero_checksum: Option<ErrorDetection>,
    /// It supports ECN (RFC 4960 Appendix A).
    pub(crate) ecn: bool,
    /// The code point of its adaptation layer (RFC 5061 §4.2.6).
    pub(crate) adaptation_layer: Option<u32>,
}

impl Declared {
    /// What an association with this configuration declares.
    pub(crate) const fn ours(config: &AssociationConfig) -> Self {
        Self {
            zero_checksum: config.zero_checksum,
            ecn: matches!(config.policies.ecn, EcnChoice::On(_)),
            adaptation_layer: config.adaptation_layer,
        }
    }

    /// Reads a parameter of the peer; one of another type changes nothing.
    pub(crate) fn note(&mut self, parameter: &Parameter<'_>) {
        match parameter {
            //= rfc9653 4-4
            Parameter::ZeroChecksumAcceptable(method) => {
                self.zero_checksum = ErrorDetection::from_method(*method);
            }
            Parameter::EcnCapable => self.ecn = true,
            Parameter::AdaptationLayer(code) => self.adaptation_layer = Some(*code),
            _ => {}
        }
    }

    //= rfc9653 5.2-1
    /// What the peer declared, without features that `ours` has not.
    pub(crate) fn agreed(self, ours: Self) -> Self {
        Self {
            zero_checksum: self
                .zero_checksum
                .filter(|_| self.zero_checksum == ours.zero_checksum),
            ecn: self.ecn && ours.ecn,
            ..self
        }
    }

    //= rfc5061 4.2.6-4
    /// Writes the parameters.
    pub(crate) fn push(self, parameters: &mut ParameterWriter) {
        //= rfc9653 4-2, 4-3, 5.1-1
        if let Some(detection) = self.zero_checksum {
            parameters.push_zero_checksum_acceptable(detection.method());
        }
        if self.ecn {
            parameters.push_ecn_capable();
        }
        if let Some(code) = self.adaptation_layer {
            parameters.push_adaptation_layer(code);
        }
    }
}

impl ErrorDetection {
    const fn method(self) -> DetectionMethod {
        match self {
            Self::Dtls => DetectionMethod::DTLS,
        }
    }

    fn from_method(method: DetectionMethod) -> Option<Self> {
        [Self::Dtls].into_iter().find(|known| known.method() == method)
    }
}
