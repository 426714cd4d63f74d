//! MP_CAPABLE option, version 1, in the forms of the three steps of a handshake (RFC 8684 §3.1).

use alloc::vec::Vec;

use super::key::Key;
use super::nr_sack::NrSackForm;
use super::subtype;

const VERSION: u8 = 1;
/// "Checksum Required" (flag A).
const CHECKSUM: u8 = 0x80;
/// For future extensions; an option with it "MUST be silently ignored" (flag B).
const EXTENSION: u8 = 0x40;
/// No subflow will be accepted at the address that this is sent from (flag C).
const NO_JOINS_TO_THIS_ADDRESS: u8 = 0x20;
/// NR-SACKs are understood (N of Yang 2015, appendix A.1). Which bits N and n are is our reading: those behind C, with
/// which a host that does not know them chooses no algorithm.
const NR_SACK: u8 = 0x10;
/// Their blocks take 6 bytes (n of Yang 2015, appendix A.1).
const NR_SACK_SHORT: u8 = 0x08;
/// HMAC-SHA256 (flag H).
const SHA256: u8 = 0x01;

/// The option that opens a connection. Its algorithm is HMAC-SHA256, the only one there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpCapable {
    /// The sender wants checksums over data.
    pub checksum: bool,
    /// Further subflows must not go to the address and port that the option came from.
    pub no_joins_to_this_address: bool,
    /// The sender offers NR-SACKs of this form, or with the third segment: this form was agreed on.
    pub nr_sack: Option<NrSackForm>,
    /// The step of the handshake.
    pub form: MpCapableForm,
}

/// Which step it is, and what each of them tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MpCapableForm {
    /// The SYN tells no key.
    Syn,
    /// The SYN-ACK tells that of its sender.
    SynAck(Key),
    /// The third segment, and those with the first data, repeat both, for hosts that keep no state in between.
    Ack {
        /// Of the end that began.
        sender: Key,
        /// Of the end that accepted.
        receiver: Key,
        /// The mapping of the data in the segment, which begins with the first byte of all.
        data: Option<FirstData>,
    },
}

/// The mapping of the very first data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstData {
    /// Bytes that it covers.
    pub length: u16,
    /// Over them, if checksums were asked for.
    pub checksum: Option<u16>,
}

impl MpCapable {
    /// `None` for what is cut; `Some(None)` for what a host that does not speak it passes over.
    #[expect(clippy::option_option, reason = "damaged and foreign are different answers")]
    pub(super) fn parse(value: &[u8]) -> Option<Option<Self>> {
        let (&[first, flags], keys) = value.split_first_chunk()?;
        if first & 0x0f != VERSION || flags & EXTENSION != 0 || flags & SHA256 == 0 {
            return Some(None);
        }
        let form = match keys.split_first_chunk() {
            None if keys.is_empty() => MpCapableForm::Syn,
            None => return None,
            Some((&key, [])) => MpCapableForm::SynAck(Key(key)),
            Some((&sender, rest)) => {
                let (&receiver, data) = rest.split_first_chunk()?;
                MpCapableForm::Ack {
                    sender: Key(sender),
                    receiver: Key(receiver),
                    data: FirstData::parse(data)?,
                }
            }
        };
        let short = flags & NR_SACK_SHORT != 0;
        let nr_sack = if short {
            NrSackForm::Short
        } else {
            NrSackForm::Long
        };
        Some(Some(Self {
            checksum: flags & CHECKSUM != 0,
            no_joins_to_this_address: flags & NO_JOINS_TO_THIS_ADDRESS != 0,
            nr_sack: (flags & NR_SACK != 0).then_some(nr_sack),
            form,
        }))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let flag = |set, bit| if set { bit } else { 0 };
        let nr_sack = match self.nr_sack {
            None => 0,
            Some(NrSackForm::Long) => NR_SACK,
            Some(NrSackForm::Short) => NR_SACK | NR_SACK_SHORT,
        };
        let flags = SHA256
            | nr_sack
            | flag(self.checksum, CHECKSUM)
            | flag(self.no_joins_to_this_address, NO_JOINS_TO_THIS_ADDRESS);
        out.extend_from_slice(&[subtype::CAPABLE << 4 | VERSION, flags]);
        match self.form {
            MpCapableForm::Syn => {}
            MpCapableForm::SynAck(key) => out.extend_from_slice(&key.0),
            MpCapableForm::Ack {
                sender,
                receiver,
                data,
            } => {
                out.extend_from_slice(&sender.0);
                out.extend_from_slice(&receiver.0);
                if let Some(FirstData { length, checksum }) = data {
                    out.extend_from_slice(&length.to_be_bytes());
                    out.extend(checksum.map(u16::to_be_bytes).into_iter().flatten());
                }
            }
        }
    }

    pub(super) const fn len(&self) -> usize {
        match self.form {
            MpCapableForm::Syn => 4,
            MpCapableForm::SynAck(_) => 12,
            MpCapableForm::Ack { data: None, .. } => 20,
            MpCapableForm::Ack {
                data: Some(FirstData { checksum, .. }),
                ..
            } => match checksum {
                None => 22,
                Some(_) => 24,
            },
        }
    }
}

impl FirstData {
    /// `None` for what is cut, `Some(None)` where there is nothing.
    #[expect(clippy::option_option, reason = "damaged and absent are different answers")]
    fn parse(bytes: &[u8]) -> Option<Option<Self>> {
        let (length, checksum) = match *bytes {
            [] => return Some(None),
            [a, b] => ([a, b], None),
            [a, b, c, d] => ([a, b], Some(u16::from_be_bytes([c, d]))),
            _ => return None,
        };
        let length = u16::from_be_bytes(length);
        Some(Some(Self { length, checksum }))
    }
}
