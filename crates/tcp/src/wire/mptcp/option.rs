//! MPTCP options beside the data: ADD_ADDR, REMOVE_ADDR, MP_PRIO, MP_FAIL, MP_FASTCLOSE and MP_TCPRST
//! (RFC 8684 §3.3.8 and §3.4 to §3.7).

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::key::Key;
use super::subtype;

/// Flag E of ADD_ADDR: the option is an echo. Flag B of MP_PRIO: the subflow is a backup.
const ECHO: u8 = 0x01;
const BACKUP: u8 = 0x01;
/// The condition is transient (flag T of MP_TCPRST).
const TRANSIENT: u8 = 0x01;

/// Address ID of an endpoint; 0 is the address of the first subflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AddressId(pub u8);

/// An advertised address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AdvertisedAddress {
    /// Its address ID.
    pub id: AddressId,
    /// The address.
    pub address: IpAddr,
    /// The port, if it differs from that of the first subflow.
    pub port: Option<u16>,
}

/// Address IDs, at least one and at most as many as fit into an option.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AddressIds(Vec<AddressId>);

impl AddressIds {
    /// Maximum number in an option of its own.
    pub const MAX: usize = 36;

    /// `None` for no IDs or too many.
    #[must_use]
    pub fn new(ids: Vec<AddressId>) -> Option<Self> {
        (1..=Self::MAX).contains(&ids.len()).then_some(Self(ids))
    }

    /// The address IDs, in wire order.
    #[must_use]
    pub fn as_slice(&self) -> &[AddressId] {
        &self.0
    }
}

/// An MPTCP option other than MP_CAPABLE, MP_JOIN and DSS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MptcpOption {
    /// Subflows may be opened to this address too (ADD_ADDR).
    AddAddress {
        /// The address.
        address: AdvertisedAddress,
        /// [`super::AddressCode`].
        code: [u8; 8],
    },
    /// Echo of an advertisement (ADD_ADDR with the echo flag).
    EchoAddress(AdvertisedAddress),
    /// These addresses are removed, and so are the subflows that use them (REMOVE_ADDR).
    RemoveAddresses(AddressIds),
    /// The subflow that carries this becomes a backup, or ceases to be one (MP_PRIO).
    Priority {
        /// Use as backup only.
        backup: bool,
    },
    /// A checksum did not match (MP_FAIL).
    Fail {
        /// Data sequence number of the first byte of the failed mapping.
        data: u64,
    },
    /// The whole connection is aborted (MP_FASTCLOSE).
    FastClose {
        /// Key of the receiver, as proof.
        key: Key,
    },
    /// Reason for the RST of this subflow (MP_TCPRST).
    Reset {
        /// The subflow may be opened again.
        transient: bool,
        /// The reason.
        reason: ResetReason,
    },
}

/// Reason for a subflow reset (RFC 8684 §3.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResetReason(pub u8);

impl ResetReason {
    /// Unspecified error.
    pub const UNSPECIFIED: Self = Self(0);
    /// MPTCP-specific error: options were invalid or missing.
    pub const PROTOCOL: Self = Self(1);
    /// Lack of resources.
    pub const LACK_OF_RESOURCES: Self = Self(2);
    /// Administratively prohibited.
    pub const PROHIBITED: Self = Self(3);
    /// Too much outstanding data.
    pub const TOO_MUCH_OUTSTANDING: Self = Self(4);
    /// Unacceptable performance.
    pub const BAD_PERFORMANCE: Self = Self(5);
    /// Middlebox interference.
    pub const MIDDLEBOX: Self = Self(6);
}

impl MptcpOption {
    /// `None` for a malformed option, `Some(None)` for an unknown one.
    #[expect(clippy::option_option, reason = "damaged and unknown are different answers")]
    pub(super) fn parse(kind: u8, value: &[u8]) -> Option<Option<Self>> {
        let (&first, rest) = value.split_first()?;
        let option = match kind {
            subtype::ADD_ADDRESS => parse_address(first, rest)?,
            subtype::REMOVE_ADDRESS => {
                let ids = rest.iter().copied().map(AddressId).collect();
                Self::RemoveAddresses(AddressIds::new(ids)?)
            }
            subtype::PRIORITY => {
                let [] = rest else { return None };
                let backup = first & BACKUP != 0;
                Self::Priority { backup }
            }
            subtype::FAIL => {
                let (_, data) = rest.split_first()?;
                let data = u64::from_be_bytes(data.try_into().ok()?);
                Self::Fail { data }
            }
            subtype::FAST_CLOSE => {
                let (_, key) = rest.split_first()?;
                let key = Key(key.try_into().ok()?);
                Self::FastClose { key }
            }
            subtype::RESET => {
                let [reason] = rest.try_into().ok()?;
                Self::Reset {
                    transient: first & TRANSIENT != 0,
                    reason: ResetReason(reason),
                }
            }
            _ => return Some(None),
        };
        Some(Some(option))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let first = |kind: u8, flag: bool| kind << 4 | u8::from(flag);
        match self {
            Self::AddAddress { address, code } => {
                out.push(first(subtype::ADD_ADDRESS, false));
                address.write(out);
                out.extend_from_slice(code);
            }
            Self::EchoAddress(address) => {
                out.push(first(subtype::ADD_ADDRESS, true));
                address.write(out);
            }
            Self::RemoveAddresses(ids) => {
                out.push(first(subtype::REMOVE_ADDRESS, false));
                out.extend(ids.0.iter().map(|id| id.0));
            }
            Self::Priority { backup } => out.push(first(subtype::PRIORITY, *backup)),
            Self::Fail { data } => {
                out.extend_from_slice(&[first(subtype::FAIL, false), 0]);
                out.extend_from_slice(&data.to_be_bytes());
            }
            Self::FastClose { key } => {
                out.extend_from_slice(&[first(subtype::FAST_CLOSE, false), 0]);
                out.extend_from_slice(&key.0);
            }
            Self::Reset { transient, reason } => {
                out.extend_from_slice(&[first(subtype::RESET, *transient), reason.0]);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::AddAddress { address, .. } => 3 + address.len() + 8,
            Self::EchoAddress(address) => 3 + address.len(),
            Self::RemoveAddresses(ids) => 3 + ids.0.len(),
            Self::Priority { .. } => 3,
            Self::Fail { .. } | Self::FastClose { .. } => 12,
            Self::Reset { .. } => 4,
        }
    }
}

/// Only the length tells the IP version of the address and whether a port follows.
fn parse_address(first: u8, rest: &[u8]) -> Option<MptcpOption> {
    let (&id, rest) = rest.split_first()?;
    let id = AddressId(id);
    if first & ECHO != 0 {
        return Some(MptcpOption::EchoAddress(AdvertisedAddress::parse(id, rest)?));
    }
    let (address, &code) = rest.split_last_chunk()?;
    let address = AdvertisedAddress::parse(id, address)?;
    Some(MptcpOption::AddAddress { address, code })
}

impl AdvertisedAddress {
    fn parse(id: AddressId, bytes: &[u8]) -> Option<Self> {
        let (address, port) = if bytes.len() % 4 == 2 {
            let (address, &port) = bytes.split_last_chunk()?;
            (address, Some(u16::from_be_bytes(port)))
        } else {
            (bytes, None)
        };
        let address = <[u8; 4]>::try_from(address)
            .map(|octets| IpAddr::V4(Ipv4Addr::from(octets)))
            .or_else(|_| <[u8; 16]>::try_from(address).map(|octets| IpAddr::V6(Ipv6Addr::from(octets))))
            .ok()?;
        Some(Self { id, address, port })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.id.0);
        match self.address {
            IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
        }
        out.extend(self.port.map(u16::to_be_bytes).into_iter().flatten());
    }

    const fn len(&self) -> usize {
        let address = if self.address.is_ipv4() { 5 } else { 17 };
        address + if self.port.is_some() { 2 } else { 0 }
    }
}
