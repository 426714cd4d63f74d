//! Two paths together take what one flow would.

use core::time::Duration;

use alloc::vec::Vec;
use anabranch_types::{Instant, PathId};

use super::{Lia, LiaParameters};
use crate::testing::{CHUNK, healthy, in_order, ms, sack};
use crate::{CongestionControl, LossCause, LossDigest, PathFacts};

/// Paths with these round-trip times, all in congestion avoidance at 50 chunks.
fn settled(round_trips: &[Duration]) -> (Lia, Vec<PathFacts>) {
    let mut cc = Lia::new(LiaParameters::default());
    let mut paths: Vec<PathFacts> = Vec::new();
    for (id, round_trip) in (0..).zip(round_trips) {
        let mut path = healthy(id);
        path.srtt = Some(*round_trip);
        cc.add_path(&path, Instant::ZERO);
        paths.push(path);
    }
    for path in &paths {
        while cc.window(path.id) < 100 * CHUNK {
            let ack = in_order(path.id.0, cc.window(path.id), CHUNK);
            cc.on_ack(&sack(&[ack]), &paths, Instant::ZERO);
        }
        let loss = LossDigest {
            path: path.id,
            cause: LossCause::FastRetransmit,
            bytes: CHUNK,
        };
        cc.on_loss(&loss, &paths, Instant::ZERO);
        let ack = in_order(path.id.0, cc.window(path.id), CHUNK);
        cc.on_ack(&sack(&[ack]), &paths, Instant::ZERO);
    }
    (cc, paths)
}

/// How many chunks `path` gains while `windows` windows of it are acknowledged.
fn gain(cc: &mut Lia, paths: &[PathFacts], path: u8, windows: u64) -> f64 {
    let before = cc.window(PathId(path));
    for _ in 0..windows * before / CHUNK {
        let ack = in_order(path, cc.window(PathId(path)), CHUNK);
        cc.on_ack(&sack(&[ack]), paths, Instant::ZERO);
    }
    (cc.window(PathId(path)) - before) as f64 / CHUNK as f64
}

#[test]
fn a_path_alone_gains_a_chunk_per_window() {
    let (mut cc, paths) = settled(&[ms(20)]);
    let gained = gain(&mut cc, &paths, 0, 10);
    assert!((9.0..=10.0).contains(&gained), "{gained}");
}

#[test]
fn two_equal_paths_gain_half_a_chunk_per_window_together() {
    let (mut cc, paths) = settled(&[ms(20), ms(20)]);
    let gained = gain(&mut cc, &paths, 0, 10);
    // α = 1/2 and twice the total window: a quarter each.
    assert!((2.2..=2.6).contains(&gained), "{gained}");
}

#[test]
fn a_path_never_gains_more_than_it_would_alone() {
    let (mut cc, paths) = settled(&[ms(1), ms(500)]);
    let gained = gain(&mut cc, &paths, 1, 5);
    assert!(gained <= 5.0, "{gained}");
}

#[test]
fn round_trip_times_without_measure_stay_out_of_the_sums() {
    let (mut cc, mut paths) = settled(&[ms(20), ms(20)]);
    paths[1].srtt = None;
    let gained = gain(&mut cc, &paths, 0, 10);
    assert!((9.0..=10.0).contains(&gained), "{gained}");
}

#[test]
fn the_coupling_is_that_of_the_rfc_for_unequal_paths() {
    let (cc, paths) = settled(&[ms(10), ms(80)]);
    let coupling = cc.coupling(&paths).unwrap();
    let window = |id| cc.window(PathId(id)) as f64;
    let (fast, slow) = (window(0), window(1));
    let best = (fast / 0.01_f64.powi(2)).max(slow / 0.08_f64.powi(2));
    let alpha = (fast + slow) * best / (fast / 0.01 + slow / 0.08).powi(2);
    let ours = coupling.alpha as f64 / 1024.0;
    assert!((ours - alpha).abs() < 0.01, "{ours} is not {alpha}");
}
