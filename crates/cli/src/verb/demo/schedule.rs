//! Schedule of the demo: one run over each path alone, one over all paths, and optionally one with a link failure. Each is
//! sized to take the same time at the upper bound of its goodput.

use std::time::Duration;

use anabranch::Rate;

use crate::failure::Failure;
use crate::parse::ShapedPath;

/// Size of a full IP packet on the emulated links, in bytes.
pub(super) const PACKET: u64 = 1_500;

/// Header bytes of each packet: IPv4 20, UDP 8, SCTP common header 12 (RFC 9260 §3.1), DATA chunk header 16 (§3.3.1).
pub(super) const HEADERS: u64 = 20 + 8 + 12 + 16;

/// Maximum number of paths; path n uses the address 127.0.0.n.
const MAX_PATHS: usize = 8;

/// Amount of data in each run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// The same number of bytes in each run.
    Bytes(u64),
    /// The bytes that can be sent in this time at the upper bound.
    Time(Duration),
}

/// All runs of the demo.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) paths: Vec<ShapedPath>,
    pub(super) runs: Vec<Run>,
}

/// One transfer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// Indices of the paths used.
    pub(super) over: Vec<usize>,
    /// Index of the path that fails when half of the file has arrived.
    pub(super) cut: Option<usize>,
    /// In bytes.
    pub(super) size: u64,
    /// Upper bound of the goodput, in bit/s.
    pub(super) upper_bound: f64,
}

impl Schedule {
    /// `cut` is the number of a path, from 1; without a number, the fastest path fails.
    pub(super) fn new(paths: &[ShapedPath], size: Size, cut: Option<Option<usize>>) -> Result<Self, Failure> {
        let paths = if paths.is_empty() {
            default_paths()
        } else {
            paths.to_vec()
        };
        if !(2..=MAX_PATHS).contains(&paths.len()) {
            return Err(Failure::Usage(format!(
                "expected 2 to {MAX_PATHS} paths; repeat --path"
            )));
        }
        let bounds: Vec<f64> = paths.iter().map(upper_bound).collect();
        let sum: f64 = bounds.iter().sum();
        let mut runs: Vec<Run> = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            let name = format!("path {}: {path}", index + 1);
            runs.push(Run {
                name,
                over: vec![index],
                cut: None,
                size: bytes(size, bounds[index]),
                upper_bound: bounds[index],
            });
        }
        let all: Vec<usize> = (0..paths.len()).collect();
        let together = if paths.len() == 2 {
            "both paths"
        } else {
            "all paths"
        };
        runs.push(Run {
            name: together.into(),
            over: all.clone(),
            cut: None,
            size: bytes(size, sum),
            upper_bound: sum,
        });
        if let Some(number) = cut {
            let cut = cut_path(number, &bounds)?;
            // Half of the bytes at the rate of all paths, half at the rate of the remaining ones: the harmonic mean.
            let upper_bound = 2.0 / (1.0 / sum + 1.0 / (sum - bounds[cut]));
            let name = format!("{together}, {} cut half-way", cut + 1);
            runs.push(Run {
                name,
                over: all,
                cut: Some(cut),
                size: bytes(size, upper_bound),
                upper_bound,
            });
        }
        Ok(Self { paths, runs })
    }

    /// Size of the largest run in bytes.
    pub(super) fn largest(&self) -> u64 {
        self.runs.iter().map(|run| run.size).max().unwrap_or(0)
    }
}

fn default_paths() -> Vec<ShapedPath> {
    let path = |megabits, milliseconds| ShapedPath {
        rate: Rate::mbit(megabits),
        delay: Duration::from_millis(milliseconds),
        jitter: Duration::ZERO,
        loss: 0.0,
    };
    vec![path(10, 10), path(40, 30)]
}

/// Upper bound of the goodput over a path in bit/s: the link's rate without headers of full packets and without losses.
pub(super) fn upper_bound(path: &ShapedPath) -> f64 {
    let payload_share = (PACKET - HEADERS) as f64 / PACKET as f64;
    path.rate.as_bits_per_second() as f64 * payload_share * (1.0 - path.loss)
}

fn bytes(size: Size, upper_bound: f64) -> u64 {
    match size {
        Size::Bytes(bytes) => bytes,
        Size::Time(time) => (upper_bound / 8.0 * time.as_secs_f64()).round() as u64,
    }
}

fn cut_path(number: Option<usize>, bounds: &[f64]) -> Result<usize, Failure> {
    let fastest = || (0..bounds.len()).max_by(|left, right| bounds[*left].total_cmp(&bounds[*right]));
    let index = number.map_or_else(fastest, |number| number.checked_sub(1));
    let known = index.filter(|index| *index < bounds.len());
    known.ok_or_else(|| {
        let (number, last) = (number.unwrap_or_default(), bounds.len());
        Failure::Usage(format!("--cut {number}: expected a path from 1 to {last}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_single_paths_then_all_paths_of_equal_duration() {
        let schedule = Schedule::new(&[], Size::Time(Duration::from_secs(15)), None).unwrap();
        let shape: Vec<_> = schedule
            .runs
            .iter()
            .map(|run| (run.over.as_slice(), run.size))
            .collect();
        // 10, 40 and 50 Mbit/s times 1444/1500 times 15 s.
        assert_eq!(
            shape,
            [(&[0][..], 18_050_000), (&[1], 72_200_000), (&[0, 1], 90_250_000)]
        );
        assert_eq!(schedule.largest(), 90_250_000);
    }

    #[test]
    fn cut_defaults_to_the_fastest_path() {
        let schedule = Schedule::new(&[], Size::Time(Duration::from_secs(15)), Some(None)).unwrap();
        let run = &schedule.runs[3];
        assert_eq!((run.cut, run.size / 1_000), (Some(1), 30_083));
        let chosen = Schedule::new(&[], Size::Bytes(7), Some(Some(1))).unwrap();
        assert_eq!((chosen.runs[3].cut, chosen.runs[3].size), (Some(0), 7));
        for number in [0, 3] {
            assert!(Schedule::new(&[], Size::Bytes(7), Some(Some(number))).is_err());
        }
    }

    #[test]
    fn one_path_or_nine_are_refused() {
        let path = default_paths()[0];
        assert!(Schedule::new(&[path], Size::Bytes(7), None).is_err());
        assert!(Schedule::new(&[path; 9], Size::Bytes(7), None).is_err());
    }

    #[test]
    fn loss_lowers_the_upper_bound() {
        let path = ShapedPath {
            loss: 0.5,
            ..default_paths()[0]
        };
        assert_eq!(upper_bound(&path), 10e6 * 1_444.0 / 1_500.0 / 2.0);
    }
}
