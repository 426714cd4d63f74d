//! Did it pay to use all paths? The rule of the field: together they are at least as fast as the best alone.

use super::plan::{HEADERS, PACKET, Plan};
use crate::output::{DemoRow, rate_text};

/// What the runs showed.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// Of the measured goodputs of the paths alone, in bits per second.
    pub(super) sum_of_single: f64,
    pub(super) text: String,
    pub(super) note: String,
    pub(super) passed: bool,
}

impl Verdict {
    /// `rows` belong to the runs of `plan`, in the same order.
    pub(super) fn of(plan: &Plan, rows: &[DemoRow]) -> Self {
        let (single, several) = rows.split_at(plan.paths.len().min(rows.len()));
        let sum_of_single = single.iter().map(|row| row.goodput_bit_s).sum();
        let best = single.iter().map(|row| row.goodput_bit_s).fold(0.0, f64::max);
        let together = several.first().map_or(0.0, |row| row.goodput_bit_s);
        let faster = together >= best;
        let verified = rows.iter().all(|row| row.verified);
        let mut text = format!(
            "{}: all paths together carried {}, {:.2} times the best of them alone ({}).",
            if faster { "FASTER" } else { "SLOWER" },
            rate_text(together),
            together / best,
            rate_text(best),
        );
        if !verified {
            text += " A SHA-256 DIFFERS: what arrived is not what was sent.";
        } else if several.len() > 1 {
            text += " The transfer survived the cut. Every SHA-256 is equal.";
        } else {
            text += " Every SHA-256 is equal.";
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
        "goodput: bits of the file, from the first packet of the handshake to the receiver's verdict\n\
         ceiling: rates of the links x {}/{PACKET}: what IP, UDP, SCTP and DATA headers leave of full packets, less \
         loss\n\
         sum: measured goodputs of the paths alone, added up; best path: the highest of them",
        PACKET - HEADERS
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::plan::Size;
    use super::*;

    fn verdict(megabits: [f64; 3], verified: bool) -> Verdict {
        let plan = Plan::new(&[], Size::Time(Duration::from_secs(1)), None).unwrap();
        let row = |megabits: f64| DemoRow {
            run: String::new(),
            size: 1,
            seconds: 1.0,
            goodput_bit_s: megabits * 1e6,
            ceiling_bit_s: 50e6,
            verified,
            cut: false,
            carried: vec![1],
        };
        Verdict::of(&plan, &megabits.map(row))
    }

    #[test]
    fn all_together_must_not_be_slower_than_the_best_alone() {
        let good = verdict([9.0, 38.0, 45.6], true);
        assert!(good.passed && good.sum_of_single == 47e6);
        assert!(
            good.text
                .starts_with("FASTER: all paths together carried 45.6 Mbit/s, 1.20 times"),
            "{}",
            good.text
        );
        let bad = verdict([9.0, 38.0, 37.9], true);
        assert!(!bad.passed && bad.text.starts_with("SLOWER"), "{}", bad.text);
    }

    #[test]
    fn nothing_is_fast_that_arrives_broken() {
        let broken = verdict([9.0, 38.0, 45.6], false);
        assert!(
            !broken.passed && broken.text.contains("DIFFERS"),
            "{}",
            broken.text
        );
    }
}
