//! Verdict of the demo: all paths together must be at least as fast as the best path alone.

use super::schedule::{HEADERS, PACKET, Schedule};
use crate::output::{DemoRow, rate_text};

/// Outcome of the demo.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// Sum of the measured goodputs of the single paths, in bit/s.
    pub(super) sum_of_single: f64,
    pub(super) text: String,
    pub(super) note: String,
    pub(super) passed: bool,
}

impl Verdict {
    /// Evaluates `rows`, which belong to the runs of `schedule` in the same order.
    pub(super) fn of(schedule: &Schedule, rows: &[DemoRow]) -> Self {
        let (single, several) = rows.split_at(schedule.paths.len().min(rows.len()));
        let sum_of_single = single.iter().map(|row| row.goodput_bit_s).sum();
        let best = single.iter().map(|row| row.goodput_bit_s).fold(0.0, f64::max);
        let together = several.first().map_or(0.0, |row| row.goodput_bit_s);
        let faster = together >= best;
        let verified = rows.iter().all(|row| row.verified);
        let mut text = format!(
            "{}: all paths together reached {}, {:.2} times the best single path ({}).",
            if faster { "FASTER" } else { "SLOWER" },
            rate_text(together),
            together / best,
            rate_text(best),
        );
        if !verified {
            text += " A SHA-256 DIFFERS: the received file is corrupted.";
        } else if several.len() > 1 {
            text += " The transfer survived the link failure. Every SHA-256 matches.";
        } else {
            text += " Every SHA-256 matches.";
        }
        Self {
            sum_of_single,
            text,
            note: note(),
            passed: faster && verified,
        }
    }
}

fn note() -> String {
    format!(
        "goodput: size of the file by the time from the first packet of the handshake to the receiver's confirmation\n\
         upper bound: rates of the links x {}/{PACKET}, without IP, UDP, SCTP and DATA headers of full packets and without \
         losses\n\
         sum: sum of the measured goodputs of the single paths; best path: the highest of them",
        PACKET - HEADERS
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::schedule::Size;
    use super::*;

    fn verdict(megabits: [f64; 3], verified: bool) -> Verdict {
        let schedule = Schedule::new(&[], Size::Time(Duration::from_secs(1)), None).unwrap();
        let row = |megabits: f64| DemoRow {
            run: String::new(),
            size: 1,
            seconds: 1.0,
            goodput_bit_s: megabits * 1e6,
            upper_bound_bit_s: 50e6,
            verified,
            cut: false,
            carried: vec![1],
        };
        Verdict::of(&schedule, &megabits.map(row))
    }

    #[test]
    fn all_paths_slower_than_the_best_path_fail() {
        let good = verdict([9.0, 38.0, 45.6], true);
        assert!(good.passed && good.sum_of_single == 47e6);
        assert!(
            good.text
                .starts_with("FASTER: all paths together reached 45.6 Mbit/s, 1.20 times"),
            "{}",
            good.text
        );
        let bad = verdict([9.0, 38.0, 37.9], true);
        assert!(!bad.passed && bad.text.starts_with("SLOWER"), "{}", bad.text);
    }

    #[test]
    fn differing_digest_fails() {
        let broken = verdict([9.0, 38.0, 45.6], false);
        assert!(
            !broken.passed && broken.text.contains("DIFFERS"),
            "{}",
            broken.text
        );
    }
}
