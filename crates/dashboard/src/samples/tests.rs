//! Tests of samples in virtual time.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

use anabranch::{PathPreference, Reachability};

use super::path::Limit;
use super::reading::PathReading;
use super::*;
use crate::metrics;
use crate::view::{PathRates, View};

fn reading(paths: &[PathReading]) -> Reading {
    Reading {
        unsent: 1_000_000,
        peer_window: 1_000_000,
        paths: paths.to_vec(),
    }
}

fn path(number: u64, sent: u64) -> PathReading {
    let address = |host: u64| SocketAddr::from(([10, 0, number as u8, host as u8], 9_899));
    PathReading {
        path: number,
        local: address(1),
        remote: address(2),
        reachability: Reachability::Active,
        primary: number == 0,
        preference: PathPreference::default(),
        resting: false,
        mtu: 1_500,
        srtt: Some(Duration::from_millis(30)),
        min_rtt: Some(Duration::from_millis(20)),
        cwnd: 100_000,
        in_flight: 0,
        pacing_limited: false,
        sent,
        retransmitted: 0,
        received: 0,
        sent_chunks: 0,
        lost_chunks: 0,
        timeouts: 0,
    }
}

/// Milliseconds of virtual time.
const fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn begun() -> Samples {
    let mut samples = Samples::default();
    samples.begin(at(0), 1, "a file");
    samples
}

#[test]
fn rates_and_shares_are_those_between_two_samples() {
    let mut samples = begun();
    samples.sample(at(0), 1, &reading(&[path(0, 0), path(1, 0)]), None);
    let repeated = PathReading {
        retransmitted: 25_000,
        ..path(0, 100_000)
    };
    let second = reading(&[repeated, path(1, 375_000)]);
    let sample = samples.sample(at(250), 1, &second, None).unwrap();
    let rates: Vec<u64> = sample.paths.iter().map(|path| path.sent_bit_s).collect();
    assert_eq!(rates, [4_000_000, 12_000_000]);
    let shares: Vec<f64> = sample.paths.iter().map(|path| path.share).collect();
    assert_eq!(shares, [0.25, 0.75]);
    assert_eq!(
        sample.paths[0].rtt_ms.zip(sample.paths[0].queue_ms),
        Some((30.0, 10.0))
    );
}

#[test]
fn bytes_are_the_sum_of_rates_over_time() {
    let mut samples = begun();
    let mut sum = 0.0;
    let (mut before, mut sent) = (0, 0);
    // Samples are not taken at equal intervals.
    for time in [100, 350, 610, 850, 1_400, 1_500] {
        sent += time * 31;
        let sample = samples
            .sample(at(time), 1, &reading(&[path(0, sent)]), None)
            .unwrap();
        sum += sample.paths[0].sent_bit_s as f64 / 8.0 * (time - before) as f64 / 1e3;
        before = time;
    }
    assert!((sum - sent as f64).abs() < 2.0, "{sum} {sent}");
}

#[test]
fn loss_is_that_of_the_last_seconds() {
    let mut samples = begun();
    let mut loss = |time, sent_chunks, lost_chunks| {
        let path = PathReading {
            sent_chunks,
            lost_chunks,
            ..path(0, 0)
        };
        samples
            .sample(at(time), 1, &reading(&[path]), None)
            .unwrap()
            .paths[0]
            .loss
    };
    assert_eq!(loss(20, 0, 0), 0.0);
    assert_eq!(loss(1_000, 100, 10), 0.1);
    assert_eq!(loss(2_000, 200, 10), 0.05);
    assert_eq!(loss(3_000, 300, 10), 0.0);
    // All chunks are lost, and nothing is sent any more.
    assert_eq!(loss(6_000, 300, 40), 1.0);
}

#[test]
fn limit_names_what_keeps_a_path_from_carrying_more() {
    let limit = |path: PathReading, change: fn(&mut Reading)| {
        let mut reading = reading(&[path]);
        change(&mut reading);
        let mut samples = begun();
        samples.sample(at(0), 1, &reading, None).unwrap().paths[0].limit
    };
    assert_eq!(limit(path(0, 0), |_| {}), Limit::None);
    assert_eq!(limit(path(0, 0), |reading| reading.unsent = 0), Limit::Idle);
    assert_eq!(
        limit(path(0, 0), |reading| reading.peer_window = 1_000),
        Limit::PeerWindow
    );
    let full = PathReading {
        in_flight: 99_000,
        ..path(0, 0)
    };
    assert_eq!(limit(full, |_| {}), Limit::Cwnd);
    let paced = PathReading {
        pacing_limited: true,
        ..path(0, 0)
    };
    assert_eq!(limit(paced, |_| {}), Limit::Pacing);
    let failed = PathReading {
        reachability: Reachability::Inactive,
        ..path(0, 0)
    };
    assert_eq!(limit(failed, |reading| reading.unsent = 0), Limit::State);
}

#[test]
fn backup_shows_that_it_rests_and_what_it_may_carry() {
    let backup = PathReading {
        preference: PathPreference {
            cost: PathPreference::BACKUP,
            limit: NonZeroU64::new(1_000_000),
        },
        resting: true,
        ..path(1, 0)
    };
    let mut samples = begun();
    let sample = samples.sample(at(0), 1, &reading(&[path(0, 0), backup]), None);
    let shown = sample.map(|sample| (sample.paths[1].limit, sample.paths[1].cap_bit_s));
    assert_eq!(shown, Some((Limit::Rests, Some(8_000_000))));
    let text = metrics::text("1.0", at(0), &samples);
    for line in [
        "anabranch_path_resting{name=\"a file\",transfer=\"1\",path=\"0\"} 0\n",
        "anabranch_path_resting{name=\"a file\",transfer=\"1\",path=\"1\"} 1\n",
        "anabranch_path_cost{name=\"a file\",transfer=\"1\",path=\"1\"} 255\n",
        "anabranch_path_cap_bytes_per_second{name=\"a file\",transfer=\"1\",path=\"1\"} 1000000\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert_eq!(text.matches("anabranch_path_cap_bytes_per_second{").count(), 1);
}

#[test]
fn another_association_of_a_transfer_counts_from_zero() {
    let mut samples = begun();
    samples.sample(at(0), 1, &reading(&[path(0, 500_000)]), None);
    samples.end(1);
    assert!(
        samples
            .sample(at(100), 1, &reading(&[path(0, 500_000)]), None)
            .is_none()
    );
    samples.begin(at(1_000), 1, "");
    let again = reading(&[path(0, 1_000)]);
    let sample = samples.sample(at(2_000), 1, &again, None).unwrap();
    assert_eq!(sample.paths[0].sent_bit_s, 8_000);
    assert_eq!(samples.transfers().next().unwrap().1.name, "a file");
}

#[test]
fn last_sample_with_paths_stays() {
    let mut samples = begun();
    samples.sample(at(0), 1, &reading(&[path(0, 7)]), None);
    let sample = samples.sample(at(250), 1, &reading(&[]), None).unwrap();
    assert_eq!(sample.paths[0].sent_bytes, 7);
}

#[test]
fn few_of_many_ended_associations_are_kept() {
    let mut samples = Samples::default();
    for number in 0..100 {
        samples.begin(at(number), number, "");
        samples.end(number);
    }
    let numbers: Vec<u64> = samples.transfers().map(|(number, _)| number).collect();
    assert_eq!(numbers, Vec::from_iter(84..100));
}

#[test]
fn day_of_samples_takes_bounded_memory_and_keeps_its_mean() {
    let mut samples = begun();
    let day = 24 * 3_600 * 4;
    for step in 0..day {
        samples.sample(at(250 * step), 1, &reading(&[path(0, step * 1_000)]), None);
    }
    let history = &samples.transfers().next().unwrap().1.history;
    let points: Vec<serde_json::Value> = history
        .points()
        .map(|point| serde_json::to_value(point).unwrap())
        .collect();
    assert!(points.len() <= 2_420, "{}", points.len());
    let times: Vec<u64> = points.iter().map(|point| point["at"].as_u64().unwrap()).collect();
    assert!(times.is_sorted());
    assert!(times[0] < 200_000, "the first hours are there: {}", times[0]);
    // 1,000 bytes in each quarter of a second.
    let is_even = |point: &serde_json::Value| point["paths"][0][1] == 32_000;
    assert!(points[1..].iter().all(is_even));
}

#[test]
fn points_of_many_associations_are_bounded_together() {
    let mut samples = Samples::default();
    let paths: Vec<PathReading> = (0..16).map(|number| path(number, 0)).collect();
    let reading = reading(&paths);
    for number in 0..30 {
        samples.begin(at(0), number, "");
    }
    for step in 0..600 {
        for number in 0..30 {
            samples.sample(at(250 * step), number, &reading, None);
        }
    }
    let all: usize = samples
        .transfers()
        .map(|(_, transfer)| transfer.history.len())
        .sum();
    assert!((MAX_POINTS / 2..=MAX_POINTS).contains(&all), "{all}");
}

#[test]
fn samples_at_nearly_the_same_time_have_the_same_rates() {
    let mut samples = begun();
    // The first one comes with the association, whose first packets were sent already.
    let sample = samples
        .sample(at(0), 1, &reading(&[path(0, 5_000)]), None)
        .unwrap();
    assert_eq!(sample.paths[0].sent_bit_s, 0);
    let sample = samples
        .sample(at(250), 1, &reading(&[path(0, 250_000)]), None)
        .unwrap();
    assert_eq!(sample.paths[0].sent_bit_s, 8_000_000);
    // The last one comes with the end.
    let sample = samples
        .sample(at(251), 1, &reading(&[path(0, 260_000)]), None)
        .unwrap();
    assert_eq!(
        (sample.paths[0].sent_bit_s, sample.paths[0].sent_bytes),
        (8_000_000, 260_000)
    );
    assert_eq!(samples.transfers().next().unwrap().1.history.points().count(), 1);
}

#[test]
fn view_has_the_rates_of_its_span_and_ends_with_the_association() {
    let mut samples = begun();
    for time in [250, 500, 750, 1_000] {
        // 8 bits each millisecond, and twice that.
        let paths = [path(0, time), path(1, 2 * time)];
        samples.sample(at(time), 1, &reading(&paths), None);
    }
    let rates = |samples: &Samples, now| {
        let shown = View::of("", at(now), samples, Some(1), at(400)).shown.unwrap();
        (shown.until, shown.rates)
    };
    let of_path = |path, rate| PathRates {
        path,
        points: vec![(750, rate), (1_000, rate)],
    };
    let expected = vec![of_path(0, 8_000), of_path(1, 16_000)];
    assert_eq!(rates(&samples, 1_100), (1_100, expected.clone()));
    assert_eq!(rates(&samples, 9_000), (9_000, Vec::new()));
    samples.end(1);
    assert_eq!(rates(&samples, 9_000), (1_000, expected));
}

/// The points of a transfer: their times, and the numbers of their paths.
fn drawn(samples: &Samples, number: u64) -> Vec<(u64, Vec<u64>)> {
    let transfer = samples.transfers().find(|known| known.0 == number).unwrap().1;
    let paths = |point: &Point| point.rates().map(|(path, _)| path).collect();
    let points = transfer.history.points();
    points.map(|point| (point.at(), paths(point))).collect()
}

#[test]
fn tunnel_that_is_back_goes_on_with_its_history() {
    let mut samples = Samples::default();
    samples.resume(at(0), 1, "server");
    samples.sample(at(250), 1, &reading(&[path(0, 0), path(1, 0)]), None);
    samples.end(1);
    samples.resume(at(9_000), 2, "server");
    assert!(samples.is_resuming(2));
    // Now the path with these addresses has another number, and the other one is gone.
    let same = PathReading {
        path: 7,
        ..path(1, 0)
    };
    samples.sample(at(9_250), 2, &reading(&[same]), None);
    assert!(!samples.is_resuming(2));
    let gap = (250, vec![]);
    assert_eq!(drawn(&samples, 2), [(250, vec![7]), gap, (9_250, vec![7])]);
    let numbers: Vec<u64> = samples.transfers().map(|(number, _)| number).collect();
    assert_eq!(numbers, [2], "the former association is not listed beside it");
}

#[test]
fn another_name_or_a_tunnel_that_is_still_there_is_not_continued() {
    let mut samples = Samples::default();
    samples.resume(at(0), 1, "server");
    samples.sample(at(250), 1, &reading(&[path(0, 0)]), None);
    samples.resume(at(500), 2, "server");
    samples.end(1);
    samples.resume(at(500), 3, "other");
    assert!(!samples.is_resuming(2) && !samples.is_resuming(3));
}

#[test]
fn history_outlives_the_program() {
    let mut samples = Samples::default();
    samples.resume(at(0), 1, "server");
    for step in 0..2_000 {
        samples.sample(at(250 * step), 1, &reading(&[path(0, 0)]), None);
    }
    let note = crate::Note {
        severity: crate::Severity::Change,
        transfer: Some(1),
        path: Some((0, "active")),
        text: "path 0 works".to_owned(),
    };
    samples.note(at(500_000), note);
    let kept = serde_json::to_vec(&samples.stored(1_000_000)).unwrap();

    let stored = Stored::parse(&kept).unwrap();
    assert_eq!(epoch_of(&stored, at(2_000_000)), at(1_000_000));
    assert_eq!(epoch_of(&stored, at(0)), at(500_000), "a clock that was set back");
    let mut next = Samples::default();
    next.restore(stored);
    // A run that meets nobody loses nothing.
    let kept_again = serde_json::to_vec(&next.stored(1_000_000)).unwrap();
    next.restore(Stored::parse(&kept_again).unwrap());
    next.resume(at(1_000_000), 1, "server");
    next.sample(at(1_000_250), 1, &reading(&[path(0, 0)]), None);
    let (before, after) = (drawn(&samples, 1), drawn(&next, 1));
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), before.len() + 2);
    let events: Vec<&str> = next
        .events()
        .iter()
        .map(|entry| entry.note.text.as_str())
        .collect();
    assert_eq!(events, ["path 0 works"]);
}

#[test]
fn what_is_no_history_is_refused() {
    let refused = |text: &str| Stored::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(refused("").contains("not a history"));
    assert!(refused(r#"{"version":9,"epoch":0,"transfers":[],"events":[]}"#).contains("version 9"));
    let history = r#"{"recent":[{"at":2,"paths":[]},{"at":1,"paths":[]}],"older":[],"span":1,"partial":[]}"#;
    let transfer = format!(r#"{{"name":"server","paths":[],"history":{history}}}"#);
    let backwards = format!(r#"{{"version":1,"epoch":0,"transfers":[{transfer}],"events":[]}}"#);
    assert!(refused(&backwards).contains("no program"));
}
