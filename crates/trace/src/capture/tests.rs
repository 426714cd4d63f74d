//! Tests of complete and damaged captures.

use super::{CaptureError, Frame, Link, frames};

/// A pcap file of raw IP with nanosecond timestamps; frames start at 1.0000005 s.
fn pcap(frames: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (number, frame) in (0..).zip(frames) {
        for word in [1, 500 + number, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

#[test]
fn pcap_frames_have_nanosecond_times() {
    let read = frames(&pcap(&[b"first", b"second"])[..]).unwrap();
    assert_eq!(read.error, None);
    let frame = |at, bytes: &[u8]| Frame {
        at,
        link: Link::Ip,
        bytes: bytes.to_vec(),
    };
    assert_eq!(
        read.frames,
        [frame(1_000_000_500, b"first"), frame(1_000_000_501, b"second")]
    );
}

#[test]
fn truncated_capture_yields_frames_and_offset() {
    let whole = pcap(&[b"first", b"second"]);
    let first_ends = 24 + 16 + 5;
    for length in 25..whole.len() {
        if length == first_ends {
            continue;
        }
        let (count, offset) = if length < first_ends {
            (0, 24)
        } else {
            (1, first_ends as u64)
        };
        let expected = CaptureError::Truncated {
            frames: count,
            offset,
        };
        let read = frames(&whole[..length]).unwrap();
        assert_eq!(read.error, Some(expected), "{length} bytes");
        assert_eq!(read.frames.len(), count, "{length} bytes");
    }
}

#[test]
fn too_short_pcapng_block_is_damaged() {
    let section =
        b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0";
    let file = [&section[..], b"\x01\0\0\x80\x08\0\0\0\0\xb8\0"].concat();
    let damage = CaptureError::Damaged {
        frames: 0,
        offset: 28,
        problem: String::from("a block is too short for its own length"),
    };
    assert_eq!(frames(&file[..]).unwrap().error, Some(damage));
}

#[test]
fn other_file_is_not_a_capture() {
    assert_eq!(
        frames(&b"SSH-2.0-OpenSSH, which is no capture"[..]),
        Err(CaptureError::NotACapture)
    );
    assert_eq!(frames(&b""[..]), Err(CaptureError::NotACapture));
}

#[test]
fn random_bytes_after_a_header_do_not_panic() {
    for seed in 0..300 {
        let mut rng = anabranch_types::Seed(seed).rng();
        let mut file = pcap(&[b"frame"]);
        if seed % 2 == 0 {
            // A section header of pcapng.
            file = [
                0x0a0d_0d0a_u32,
                28,
                0x1a2b_3c4d,
                0x0000_0001,
                u32::MAX,
                u32::MAX,
                28,
            ]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        }
        file.extend((0..200).map(|_| rng.below(256) as u8));
        let _ = frames(&file[..]);
    }
}
