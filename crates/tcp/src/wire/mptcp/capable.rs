//! MP_CAPABLE option, version 1, in the forms of the three steps of a handshake (RFC 8684 §3.1).

use alloc::vec::Vec;

use super::key::Key;
use super::nr_sack::NrSackForm;
use super::subtype;

const VERSION: u8 = 1;
/// "Checksum Required" (flag A).
const CHECKSUM: u8 = 0x80;
/// Extensibility; an option with it "MUST be silently ignored" (flag B).
const EXTENSION: u8 = 0x40;
/// The sender accepts no subflows at its source address (flag C).
const NO_JOINS_TO_THIS_ADDRESS: u8 = 0x20;
/// NR-SACKs are supported (N of Yang 2015, appendix A.1). The positions of N and n are our interpretation: the bits after C, with
/// which a host that does not know them chooses no algorithm.
const NR_SACK: u8 = 0x10;
/// NR-SACK blocks take 6 bytes (n of Yang 2015, appendix A.1).
const NR_SACK_SHORT: u8 = 0x08;
/// HMAC-SHA256 (flag H).
const SHA256: u8 = 0x01;

/// The option that opens a connection. Its algorithm is HMAC-SHA256, the only one defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpCapable {
    /// The sender requests DSS checksums.
    pub checksum: bool,
    /// Further subflows must not be opened to the source address and port of the option.
    pub no_joins_to_this_address: bool,
    /// The NR-SACK form offered by the sender, or in the third segment the one negotiated.
    pub nr_sack: Option<NrSackForm>,
    /// The step of the handshake.
    pub form: MpCapableForm,
}

/// Handshake step, with the keys it carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MpCapableForm {
    /// The SYN carries no key.
    Syn,
    /// The SYN-ACK carries the key of its sender.
    SynAck(Key),
    /// The third segment, and those with the first data, repeat both keys, for hosts that keep no state in between.
    Ack {
        /// Key of the initiator.
        sender: Key,
        /// Key of the listener.
        receiver: Key,
        /// The mapping of the data in the segment, which starts with the first byte of the connection.
        data: Option<FirstData>,
    },
}

/// The mapping of the first data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstData {
    /// Length in bytes.
    pub length: u16,
    /// Checksum, if checksums were negotiated.
    pub checksum: Option<u16>,
}

impl MpCapable {
    /// `None` if truncated; `Some(None)` for a form that a host without support ignores.
    #[expect(
        clippy::option_option,
        reason = "a truncated option and one to ignore are different results"
    )]
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
    /// `None` if truncated, `Some(None)` if absent.
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
