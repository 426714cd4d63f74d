//! Tests of state cookies: which ones are accepted.

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_types::{ChannelId, Instant, Seed, Tsn, VerificationTag};

use super::{BadCookie, Cookie, CookieKeys, Declared, ErrorDetection, Ports, TieTags};
use crate::auth::KeyVector;
use crate::extensions::ChunkKinds;
use crate::secrets::{Entropy, Secrets};

const LIFE: Duration = Duration::from_secs(60);
const PORTS: Ports = Ports {
    ours: 9899,
    peers: 5000,
    channel: ChannelId::NONE,
};

const TAG: VerificationTag = VerificationTag(1);

fn keys() -> CookieKeys {
    CookieKeys::new(Secrets::new(Entropy::from(Seed(1))), LIFE)
}

fn cookie() -> Cookie {
    Cookie {
        local_tag: TAG,
        peer_tag: VerificationTag(2),
        peer_tsn: Tsn(3),
        peer_window: 65_536,
        outbound_streams: 10,
        inbound_streams: 20,
        tie_tags: Some(TieTags([4; 4])),
        vector: Some(KeyVector::ours(&[7; 32], &[0xc1, 0x80])),
        extensions: ChunkKinds::from_bytes(&[0x10, 0x40]),
        declared: Declared {
            zero_checksum: Some(ErrorDetection::Dtls),
            ecn: true,
            adaptation_layer: Some(0x0102_0304),
        },
        source: "192.0.2.1:9899".parse().unwrap(),
        listed: ["192.0.2.1", "2001:db8::1"]
            .map(|text| text.parse().unwrap())
            .into(),
    }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

//= rfc9260 3.3.3.1.1-1
#[test]
fn sealed_cookie_opens_unchanged() {
    let mut keys = keys();
    let sealed = keys.seal(&cookie(), PORTS, at(1_000));
    assert_eq!(keys.open(&sealed, PORTS, TAG, at(1_000)), Ok(cookie()));
}

//= rfc9260 5.1.3-1, 5.1.3-3
#[test]
fn cookie_with_a_flipped_bit_is_forged() {
    let mut keys = keys();
    let sealed = keys.seal(&cookie(), PORTS, at(0));
    for bit in 0..sealed.len() * 8 {
        let mut forged = sealed.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            keys.open(&forged, PORTS, TAG, at(0)),
            Err(BadCookie::Forged),
            "bit {bit}"
        );
    }
    assert_eq!(
        keys.open(&sealed[..10], PORTS, TAG, at(0)),
        Err(BadCookie::Forged)
    );
}

#[test]
fn cookie_for_other_ports_is_forged() {
    let mut keys = keys();
    let sealed = keys.seal(&cookie(), PORTS, at(0));
    let others = Ports { peers: 5001, ..PORTS };
    assert_eq!(keys.open(&sealed, others, TAG, at(0)), Err(BadCookie::Forged));
}

#[test]
fn cookie_for_another_channel_is_forged() {
    let mut keys = keys();
    let sealed = keys.seal(&cookie(), PORTS, at(0));
    let others = Ports {
        channel: ChannelId([1; 8]),
        ..PORTS
    };
    assert_eq!(keys.open(&sealed, others, TAG, at(0)), Err(BadCookie::Forged));
}

#[test]
fn cookie_in_a_packet_with_another_tag_is_forged() {
    let mut keys = keys();
    let sealed = keys.seal(&cookie(), PORTS, at(0));
    let other = VerificationTag(TAG.0 + 1);
    assert_eq!(keys.open(&sealed, PORTS, other, at(0)), Err(BadCookie::Forged));
}

//= rfc9260 5.1.3-5, 5.1.5-1
#[test]
fn cookie_is_valid_across_one_key_change_until_stale() {
    let mut keys = keys();
    let sealed = keys.seal(&cookie(), PORTS, at(59));
    assert_eq!(keys.open(&sealed, PORTS, TAG, at(61)), Ok(cookie()));
    assert_eq!(keys.open(&sealed, PORTS, TAG, at(119)), Ok(cookie()));
    let late = keys.open(&sealed, PORTS, TAG, at(120));
    assert_eq!(
        late,
        Err(BadCookie::Stale(Box::new(cookie()), Duration::from_secs(1)))
    );
    assert_eq!(keys.open(&sealed, PORTS, TAG, at(500)), Err(BadCookie::Forged));
}

//= rfc9260 3.3.11-3, 5.1.3-7
/// For both IP versions, and also after a restart of the peer.
#[test]
fn smallest_init_ack_is_at_most_three_times_the_init() {
    for source in ["192.0.2.1:9899", "[2001:db8::1]:9899"] {
        for tie_tags in [None, cookie().tie_tags] {
            let mut keys = keys();
            let plain = Cookie {
                tie_tags,
                source: source.parse().unwrap(),
                listed: [].into(),
                extensions: ChunkKinds::default(),
                vector: None,
                declared: Declared::default(),
                ..cookie()
            };
            let sealed = keys.seal(&plain, PORTS, at(0));
            let init_ack = 12 + 20 + 4 + sealed.len().next_multiple_of(4);
            assert!(init_ack <= 3 * 32, "{init_ack} from {source}");
        }
    }
}

#[test]
fn cookie_from_before_the_refused_time_is_stale() {
    let mut keys = keys();
    let sealed = keys.seal(&cookie(), PORTS, at(10));
    assert_eq!(keys.open(&sealed, PORTS, TAG, at(30)), Ok(cookie()));
    keys.refuse_until(at(10));
    let Err(BadCookie::Stale(_, by)) = keys.open(&sealed, PORTS, TAG, at(30)) else {
        panic!("refused")
    };
    assert!(!by.is_zero());
    let sealed = keys.seal(&cookie(), PORTS, at(11));
    assert_eq!(keys.open(&sealed, PORTS, TAG, at(30)), Ok(cookie()));
}
