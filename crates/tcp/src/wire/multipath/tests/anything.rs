//! What could a peer send? Multipath options of all sorts, some of them senseless but all of them possible.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_types::Rng;

use super::super::*;

/// Options, and the kind of segment that may carry them: whether it acknowledges too.
pub(super) fn any(rng: &mut Rng) -> (Kind, bool, Multipath) {
    let (kind, acknowledges, lead) = match rng.below(3) {
        0 => opening(rng),
        1 => joining(rng),
        _ => (Kind::Plain, true, Lead::Data(signal(rng))),
    };
    let notices = (0..rng.below(3)).map(|_| notice(rng)).collect();
    let multipath = Multipath {
        lead: Some(lead),
        notices,
    };
    (kind, acknowledges, multipath)
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

fn opening(rng: &mut Rng) -> (Kind, bool, Lead) {
    let (kind, acknowledges, form_of_step) = match rng.below(3) {
        0 => (Kind::Syn, false, CapableForm::Syn),
        1 => (Kind::Syn, true, CapableForm::SynAck(key(rng))),
        _ => {
            let first = FirstData {
                length: rng.next_u32() as u16,
                checksum: coin(rng).then_some(7),
            };
            let form = CapableForm::Ack {
                sender: key(rng),
                receiver: key(rng),
                data: coin(rng).then_some(first),
            };
            (Kind::Plain, true, form)
        }
    };
    let capable = Capable {
        checksum: coin(rng),
        one_flow_here: coin(rng),
        nr_sack: coin(rng).then_some(form(rng)),
        form: form_of_step,
    };
    (kind, acknowledges, Lead::Capable(capable))
}

fn joining(rng: &mut Rng) -> (Kind, bool, Lead) {
    let (backup, address) = (coin(rng), AddressId(rng.next_u32() as u8));
    let (one, other) = (key(rng), key(rng));
    let nonce = Nonce(rng.next_u32());
    let code = JoinCode::new(one, other, nonce, Nonce(7));
    let (kind, acknowledges, join) = match rng.below(3) {
        0 => {
            let token = one.token();
            let join = Join::Syn {
                backup,
                address,
                token,
                nonce,
            };
            (Kind::Syn, false, join)
        }
        1 => {
            let code = code.short();
            let join = Join::SynAck {
                backup,
                address,
                code,
                nonce,
            };
            (Kind::Syn, true, join)
        }
        _ => (Kind::Plain, true, Join::Ack { code: code.long() }),
    };
    (kind, acknowledges, Lead::Join(join))
}

fn number(rng: &mut Rng) -> DataNumber {
    if coin(rng) {
        DataNumber::Short(rng.next_u32())
    } else {
        DataNumber::Long(rng.next_u64())
    }
}

fn signal(rng: &mut Rng) -> DataSignal {
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
        data: number(rng),
        flow: rng.next_u32(),
        length: 1 + rng.below(65_535) as u16,
        fin: coin(rng),
        checksum: coin(rng).then_some(9),
    };
    DataSignal {
        ack: coin(rng).then_some(ack),
        mapping: coin(rng).then_some(mapping),
    }
}

fn notice(rng: &mut Rng) -> Notice {
    let address = if coin(rng) {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9))
    } else {
        IpAddr::V6(Ipv6Addr::LOCALHOST)
    };
    let address = Advertised {
        id: AddressId(rng.next_u32() as u8),
        address,
        port: coin(rng).then_some(80),
    };
    let ids = (0..=rng.below(5)).map(|id| AddressId(id as u8)).collect();
    let notices = [
        Notice::AddAddress {
            address,
            code: key(rng).0,
        },
        Notice::EchoAddress(address),
        Notice::RemoveAddresses(AddressIds::new(ids).unwrap()),
        Notice::Priority { backup: coin(rng) },
        Notice::Fail { data: rng.next_u64() },
        Notice::FastClose { key: key(rng) },
        Notice::Reset {
            transient: coin(rng),
            reason: ResetReason::PROTOCOL,
        },
    ];
    notices[rng.below(notices.len() as u64) as usize].clone()
}
