//! ECN codepoints: the two ECN bits of the IP header (RFC 3168 §5).

/// Explicit Congestion Notification codepoint (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ecn {
    /// Not capable: routers drop instead of marking.
    #[default]
    NotCapable,
    /// Capable, codepoint ECT(1).
    Capable1,
    /// Capable, codepoint ECT(0).
    Capable0,
    /// A router marked the packet: congestion experienced.
    CongestionExperienced,
}

impl Ecn {
    /// From the two low bits of the traffic class; other bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            0b11 => Self::CongestionExperienced,
            _ => Self::NotCapable,
        }
    }

    /// The two low bits of the traffic class.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0b00,
            Self::Capable1 => 0b01,
            Self::Capable0 => 0b10,
            Self::CongestionExperienced => 0b11,
        }
    }
}
