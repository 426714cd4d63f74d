//! Which runs, how long, and how fast could they be? One over each path alone, one over all, perhaps one with a
//! cut; sized so that each would take the same time at its ceiling.

use std::time::Duration;

use anabranch::Rate;

use crate::failure::Failure;
use crate::parse::ShapedPath;

/// IP packets on the emulated links, in bytes.
pub(super) const PACKET: u64 = 1_500;

/// Of each packet: IPv4 20, UDP 8, SCTP common header 12 (RFC 9260 §3.1), DATA chunk header 16 (§3.3.1).
pub(super) const HEADERS: u64 = 20 + 8 + 12 + 16;

/// Addresses 127.0.0.1 and so on, one for each path.
const MAX_PATHS: usize = 8;

/// What the user wants to send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// The same in each run.
    Bytes(u64),
    /// As much as each run's ceiling carries in so long.
    Time(Duration),
}

/// All runs.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) paths: Vec<ShapedPath>,
    pub(super) runs: Vec<Run>,
}

/// One transfer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// Indices of the plan's paths.
    pub(super) over: Vec<usize>,
    /// Index of the path that is cut when half of the file has arrived.
    pub(super) cut: Option<usize>,
    /// In bytes.
    pub(super) size: u64,
    /// Bits of the file per second that the links could carry.
    pub(super) ceiling: f64,
}

impl Plan {
    /// `cut` counts from 1; where it has no number, it is of the fastest path.
    pub(super) fn new(paths: &[ShapedPath], size: Size, cut: Option<Option<usize>>) -> Result<Self, Failure> {
        let paths = if paths.is_empty() {
            default_paths()
        } else {
            paths.to_vec()
        };
        if !(2..=MAX_PATHS).contains(&paths.len()) {
            return Err(Failure::Usage(format!(
                "a comparison needs 2 to {MAX_PATHS} paths: give --path several times"
            )));
        }
        let ceilings: Vec<f64> = paths.iter().map(ceiling).collect();
        let sum: f64 = ceilings.iter().sum();
        let mut runs: Vec<Run> = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            let name = format!("path {}: {path}", index + 1);
            runs.push(Run {
                name,
                over: vec![index],
                cut: None,
                size: bytes(size, ceilings[index]),
                ceiling: ceilings[index],
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
            ceiling: sum,
        });
        if let Some(number) = cut {
            let cut = cut_path(number, &ceilings)?;
            // Half of the bytes at the rate of all, half at that of the rest: the harmonic mean.
            let ceiling = 2.0 / (1.0 / sum + 1.0 / (sum - ceilings[cut]));
            let name = format!("{together}, {} cut half-way", cut + 1);
            runs.push(Run {
                name,
                over: all,
                cut: Some(cut),
                size: bytes(size, ceiling),
                ceiling,
            });
        }
        Ok(Self { paths, runs })
    }

    /// Bytes of the largest run.
    pub(super) fn largest(&self) -> u64 {
        self.runs.iter().map(|run| run.size).max().unwrap_or(0)
    }
}

fn default_paths() -> Vec<ShapedPath> {
    let path = |megabits, milliseconds| ShapedPath {
        rate: Rate::mbit(megabits),
        delay: Duration::from_millis(milliseconds),
        loss: 0.0,
    };
    vec![path(10, 10), path(40, 30)]
}

/// What full packets leave of the link's rate for the file, in bits per second, when each lost one is sent again.
pub(super) fn ceiling(path: &ShapedPath) -> f64 {
    let payload_share = (PACKET - HEADERS) as f64 / PACKET as f64;
    path.rate.as_bits_per_second() as f64 * payload_share * (1.0 - path.loss)
}

fn bytes(size: Size, ceiling: f64) -> u64 {
    match size {
        Size::Bytes(bytes) => bytes,
        Size::Time(time) => (ceiling / 8.0 * time.as_secs_f64()).round() as u64,
    }
}

fn cut_path(number: Option<usize>, ceilings: &[f64]) -> Result<usize, Failure> {
    let fastest = || (0..ceilings.len()).max_by(|left, right| ceilings[*left].total_cmp(&ceilings[*right]));
    let index = number.map_or_else(fastest, |number| number.checked_sub(1));
    let known = index.filter(|index| *index < ceilings.len());
    known.ok_or_else(|| {
        let (number, last) = (number.unwrap_or_default(), ceilings.len());
        Failure::Usage(format!("--cut {number}: there are only paths 1 to {last}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_runs_alone_then_all_together_for_the_same_time() {
        let plan = Plan::new(&[], Size::Time(Duration::from_secs(15)), None).unwrap();
        let shape: Vec<_> = plan
            .runs
            .iter()
            .map(|run| (run.over.as_slice(), run.size))
            .collect();
        // 10, 40 and 50 Mbit/s times 1444/1500 times 15 s.
        assert_eq!(
            shape,
            [(&[0][..], 18_050_000), (&[1], 72_200_000), (&[0, 1], 90_250_000)]
        );
        assert_eq!(plan.largest(), 90_250_000);
    }

    #[test]
    fn a_cut_takes_the_fastest_path_unless_told_and_the_run_is_sized_for_it() {
        let plan = Plan::new(&[], Size::Time(Duration::from_secs(15)), Some(None)).unwrap();
        let run = &plan.runs[3];
        assert_eq!((run.cut, run.size / 1_000), (Some(1), 30_083));
        let told = Plan::new(&[], Size::Bytes(7), Some(Some(1))).unwrap();
        assert_eq!((told.runs[3].cut, told.runs[3].size), (Some(0), 7));
        for number in [0, 3] {
            assert!(Plan::new(&[], Size::Bytes(7), Some(Some(number))).is_err());
        }
    }

    #[test]
    fn one_path_is_nothing_to_compare() {
        let path = default_paths()[0];
        assert!(Plan::new(&[path], Size::Bytes(7), None).is_err());
        assert!(Plan::new(&[path; 9], Size::Bytes(7), None).is_err());
    }

    #[test]
    fn lost_packets_lower_the_ceiling() {
        let path = ShapedPath {
            loss: 0.5,
            ..default_paths()[0]
        };
        assert_eq!(ceiling(&path), 10e6 * 1_444.0 / 1_500.0 / 2.0);
    }
}
