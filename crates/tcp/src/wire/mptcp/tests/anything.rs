//! Random MPTCP options that a peer could send: all well-formed, some without meaning.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_types::Rng;

use super::super::*;

/// Options, and the kind of segment that may carry them, with or without ACK.
pub(super) fn any(rng: &mut Rng) -> (Kind, bool, MptcpOptions) {
    let (kind, acknowledges, primary) = match rng.below(3) {
        0 => half_open(rng),
        1 => new_subflow(rng),
        _ => (Kind::Plain, true, PrimaryOption::Dss(signal(rng))),
    };
    let others = (0..rng.below(3)).map(|_| option(rng)).collect();
    let mptcp = MptcpOptions {
        primary: Some(primary),
        others,
    };
    (kind, acknowledges, mptcp)
}

fn coin(rng: &mut Rng) -> bool {
    rng.below(2) == 0
}

fn key(rng: &mut Rng) -> Key {
    Key(rng.next_u64().to_be_bytes())
}

fn form(rng: &mut Rng) -> NrSackForm {
    if coin(rng) {
        NrSackForm::Short
    } else {
        NrSackForm::Long
    }
}

fn half_open(rng: &mut Rng) -> (Kind, bool, PrimaryOption) {
    let (kind, acknowledges, form_of_step) = match rng.below(3) {
        0 => (Kind::Syn, false, MpCapableForm::Syn),
        1 => (Kind::Syn, true, MpCapableForm::SynAck(key(rng))),
        _ => {
            let first = FirstData {
                length: rng.next_u32() as u16,
                checksum: coin(rng).then_some(7),
            };
            let form = MpCapableForm::Ack {
                sender: key(rng),
                receiver: key(rng),
                data: coin(rng).then_some(first),
            };
            (Kind::Plain, true, form)
        }
    };
    let capable = MpCapable {
        checksum: coin(rng),
        no_joins_to_this_address: coin(rng),
        nr_sack: coin(rng).then_some(form(rng)),
        form: form_of_step,
    };
    (kind, acknowledges, PrimaryOption::MpCapable(capable))
}

fn new_subflow(rng: &mut Rng) -> (Kind, bool, PrimaryOption) {
    let (backup, address) = (coin(rng), AddressId(rng.next_u32() as u8));
    let (one, other) = (key(rng), key(rng));
    let nonce = Nonce(rng.next_u32());
    let code = JoinCode::new(one, other, nonce, Nonce(7));
    let (kind, acknowledges, join) = match rng.below(3) {
        0 => {
            let token = one.token();
            let join = MpJoin::Syn {
                backup,
                address,
                token,
                nonce,
            };
            (Kind::Syn, false, join)
        }
        1 => {
            let code = code.short();
            let join = MpJoin::SynAck {
                backup,
                address,
                code,
                nonce,
            };
            (Kind::Syn, true, join)
        }
        _ => (Kind::Plain, true, MpJoin::Ack { code: code.long() }),
    };
    (kind, acknowledges, PrimaryOption::MpJoin(join))
}

fn number(rng: &mut Rng) -> Dsn {
    if coin(rng) {
        Dsn::Short(rng.next_u32())
    } else {
        Dsn::Long(rng.next_u64())
    }
}

fn signal(rng: &mut Rng) -> Dss {
    let blocks: Vec<RelativeBlock> = (0..rng.below(4))
        .filter_map(|_| {
            let start = 1 + rng.below(1 << 23) as u32;
            RelativeBlock::new(start, start + 1 + rng.below(9_000) as u32)
        })
        .collect();
    let ack = DataAck {
        number: number(rng),
        nr_sacks: NrSacks::new(form(rng), blocks),
    };
    let mapping = Mapping {
        dsn: number(rng),
        ssn: rng.next_u32(),
        length: 1 + rng.below(65_535) as u16,
        fin: coin(rng),
        checksum: coin(rng).then_some(9),
    };
    Dss {
        ack: coin(rng).then_some(ack),
        mapping: coin(rng).then_some(mapping),
    }
}

fn option(rng: &mut Rng) -> MptcpOption {
    let address = if coin(rng) {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9))
    } else {
        IpAddr::V6(Ipv6Addr::LOCALHOST)
    };
    let address = AdvertisedAddress {
        id: AddressId(rng.next_u32() as u8),
        address,
        port: coin(rng).then_some(80),
    };
    let ids = (0..=rng.below(5)).map(|id| AddressId(id as u8)).collect();
    let others = [
        MptcpOption::AddAddress {
            address,
            code: key(rng).0,
        },
        MptcpOption::EchoAddress(address),
        MptcpOption::RemoveAddresses(AddressIds::new(ids).unwrap()),
        MptcpOption::Priority { backup: coin(rng) },
        MptcpOption::Fail { data: rng.next_u64() },
        MptcpOption::FastClose { key: key(rng) },
        MptcpOption::Reset {
            transient: coin(rng),
            reason: ResetReason::PROTOCOL,
        },
    ];
    others[rng.below(others.len() as u64) as usize].clone()
}
