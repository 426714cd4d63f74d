//! MPTCP options (RFC 8684 §3), all of kind 30.
//!
//! [`MptcpOptions`] holds the MPTCP options of one segment. The primary options (MP_CAPABLE, MP_JOIN, DSS) exclude each other;
//! the other options may accompany them. Options of other versions and unknown subtypes are ignored, as a host without support
//! would.

mod capable;
mod checksum;
mod dss;
mod join;
mod key;
mod nr_sack;
mod option;

use alloc::vec::Vec;

pub use capable::{FirstData, MpCapable, MpCapableForm};
pub use checksum::DataChecksum;
pub use dss::{DataAck, Dsn, Dss, Mapping};
pub use join::MpJoin;
pub use key::{AddressCode, JoinCode, Key, Nonce, Token};
pub use nr_sack::{NrSackForm, NrSacks, RelativeBlock};
pub use option::{AddressId, AddressIds, AdvertisedAddress, MptcpOption, ResetReason};

use super::Kind;

/// Option kind of MPTCP (RFC 8684 §8.1).
pub(super) const KIND: u8 = 30;

/// The subtypes (RFC 8684 §8.2).
mod subtype {
    pub(super) const CAPABLE: u8 = 0;
    pub(super) const JOIN: u8 = 1;
    pub(super) const SIGNAL: u8 = 2;
    pub(super) const ADD_ADDRESS: u8 = 3;
    pub(super) const REMOVE_ADDRESS: u8 = 4;
    pub(super) const PRIORITY: u8 = 5;
    pub(super) const FAIL: u8 = 6;
    pub(super) const FAST_CLOSE: u8 = 7;
    pub(super) const RESET: u8 = 8;
}

/// The MPTCP options of one segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MptcpOptions {
    /// The primary option.
    pub primary: Option<PrimaryOption>,
    /// The other options, in wire order.
    pub others: Vec<MptcpOption>,
}

/// Primary MPTCP option. A segment carries at most one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrimaryOption {
    /// It opens a connection (MP_CAPABLE).
    MpCapable(MpCapable),
    /// It adds a subflow to one (MP_JOIN).
    MpJoin(MpJoin),
    /// It maps and acknowledges data (DSS).
    Dss(Dss),
}

impl MptcpOptions {
    /// Decodes the option value. `None` if it is truncated, inconsistent, or conflicts with an earlier option.
    pub(super) fn take(&mut self, value: &[u8]) -> Option<()> {
        let (first, _) = value.split_first()?;
        let primary = match first >> 4 {
            subtype::CAPABLE => MpCapable::parse(value)?.map(PrimaryOption::MpCapable),
            subtype::JOIN => Some(PrimaryOption::MpJoin(MpJoin::parse(value)?)),
            subtype::SIGNAL => Some(PrimaryOption::Dss(Dss::parse(value)?)),
            kind => {
                self.others.extend(MptcpOption::parse(kind, value)?);
                None
            }
        };
        if let Some(primary) = primary
            && self.primary.replace(primary).is_some()
        {
            return None;
        }
        Some(())
    }

    /// Whether a segment of this kind may carry them: MP_CAPABLE and MP_JOIN have a separate form for each handshake step.
    pub(super) const fn suits(&self, kind: Kind, acknowledges: bool) -> bool {
        let is_syn = matches!(kind, Kind::Syn);
        match &self.primary {
            Some(PrimaryOption::MpCapable(capable)) => match capable.form {
                MpCapableForm::Syn => is_syn && !acknowledges,
                MpCapableForm::SynAck { .. } => is_syn && acknowledges,
                MpCapableForm::Ack { .. } => !is_syn && acknowledges,
            },
            Some(PrimaryOption::MpJoin(MpJoin::Syn { .. })) => is_syn && !acknowledges,
            Some(PrimaryOption::MpJoin(MpJoin::SynAck { .. })) => is_syn && acknowledges,
            Some(PrimaryOption::MpJoin(MpJoin::Ack { .. })) => !is_syn && acknowledges,
            Some(PrimaryOption::Dss(_)) => !is_syn,
            None => true,
        }
    }

    /// Appends the options, each padded to a multiple of four bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match &self.primary {
            Some(PrimaryOption::MpCapable(capable)) => write_option(out, |out| capable.write(out)),
            Some(PrimaryOption::MpJoin(join)) => write_option(out, |out| join.write(out)),
            Some(PrimaryOption::Dss(signal)) => write_option(out, |out| signal.write(out)),
            None => {}
        }
        for option in &self.others {
            write_option(out, |out| option.write(out));
        }
    }

    /// Length in bytes, including padding.
    pub(super) fn len(&self) -> usize {
        let primary = match &self.primary {
            Some(PrimaryOption::MpCapable(capable)) => capable.len(),
            Some(PrimaryOption::MpJoin(join)) => join.len(),
            Some(PrimaryOption::Dss(signal)) => signal.len(),
            None => 0,
        };
        let others = self.others.iter().map(|option| padded(option.len()));
        padded(primary) + others.sum::<usize>()
    }

    /// The NR-SACK blocks, if there is a DATA_ACK.
    pub(super) const fn nr_sacks_mut(&mut self) -> Option<&mut NrSacks> {
        match &mut self.primary {
            Some(PrimaryOption::Dss(Dss { ack: Some(ack), .. })) => Some(&mut ack.nr_sacks),
            _ => None,
        }
    }
}

/// Options begin at multiples of four bytes.
const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// Appends kind, length and `value`, and the padding.
fn write_option(out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[KIND, 0]);
    value(out);
    let length = out.len() - start;
    out[start + 1] = length as u8;
    out.resize(start + padded(length), super::options::NO_OPERATION);
}

#[cfg(test)]
mod tests;
