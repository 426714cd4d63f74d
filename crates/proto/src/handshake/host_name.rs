//! Host Name Address parameter (RFC 9260 §3.3.2.1.4). A peer that sends one gets the parameter back in an error cause.

use alloc::boxed::Box;

use anabranch_wire::RawParameter;

/// A Host Name Address parameter of INIT or INIT ACK, unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostName(Box<[u8]>);

impl HostName {
    /// Header, name of 255 bytes and terminating zero. The error cause has to fit into a packet.
    const LONGEST: usize = 4 + 256;

    pub(crate) fn of(parameter: RawParameter<'_>) -> Self {
        let bytes = parameter.bytes;
        Self(if bytes.len() <= Self::LONGEST {
            bytes.into()
        } else {
            Box::default()
        })
    }

    //= rfc9260 3.3.2.1.4-2
    /// Type, length and value for the error cause Unresolvable Address (RFC 9260 §3.3.10.5); empty if it is longer than any name.
    pub(crate) const fn parameter(&self) -> &[u8] {
        &self.0
    }
}
