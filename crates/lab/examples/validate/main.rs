//! Validation of the simulator: does it behave as closed forms and published rules say? Prints docs/validation.md; `make validate`
//! writes it.

mod page;
mod queues;
mod tcp;

use anabranch_lab::stats::interval::{self, Interval};

/// A law with the cells in which it was examined.
pub(crate) struct Law {
    pub(crate) name: &'static str,
    /// The law, its source and the setting, for the page.
    pub(crate) text: &'static str,
    /// What is measured, with its unit.
    pub(crate) quantity: &'static str,
    /// The relative difference that counts as agreement, chosen before the first run.
    pub(crate) margin: f64,
    pub(crate) cells: Vec<Cell>,
}

/// A setting with what the law says there, and the values of all runs.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) setting: String,
    pub(crate) expected: f64,
    pub(crate) values: Vec<f64>,
}

/// Whether runs agree with a law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Agreement {
    /// The whole interval of the ratio lies within the margin.
    Agrees,
    /// No value of the interval does.
    Differs,
    /// The interval covers an end of the margin.
    Undecided,
}

impl Cell {
    pub(crate) fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// The 95 % confidence interval of the ratio of the mean to the law. Runs that are all alike have one without width.
    pub(crate) fn ratio(&self) -> Interval {
        let Interval { low, high } = interval::of_mean(&self.values, 0.05);
        Interval {
            low: low / self.expected,
            high: high / self.expected,
        }
    }

    pub(crate) fn agreement(&self, margin: f64) -> Agreement {
        let Interval { low, high } = self.ratio();
        let (least, most) = (1.0 - margin, 1.0 + margin);
        if low >= least && high <= most {
            Agreement::Agrees
        } else if high < least || low > most {
            Agreement::Differs
        } else {
            Agreement::Undecided
        }
    }
}

/// How much is simulated.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// Runs of each cell.
    pub(crate) seeds: u64,
    /// Packets of a queue.
    pub(crate) packets: u32,
    /// Measured seconds of a connection.
    pub(crate) seconds: u64,
}

const FULL: Size = Size {
    seeds: 10,
    packets: 400_000,
    seconds: 300,
};

fn laws(size: Size) -> Vec<Law> {
    let mut laws = vec![
        queues::waiting_time(size),
        queues::red_average(size),
        queues::codel_drops(size),
    ];
    laws.extend(tcp::square_root_laws(size, tcp::Losses::Periodic));
    laws.extend(tcp::square_root_laws(size, tcp::Losses::Random));
    laws.push(tcp::cubic_response(size));
    laws
}

fn main() {
    print!("{}", page::page(&laws(FULL), FULL));
}

#[cfg(test)]
mod tests {
    use super::{Agreement, Cell, Size, laws, page};

    const QUICK: Size = Size {
        seeds: 3,
        packets: 60_000,
        seconds: 40,
    };

    /// Twice the margin in long runs, which docs/validation.md has.
    #[test]
    fn short_runs_are_near_all_laws() {
        let laws = laws(QUICK);
        for law in &laws {
            for cell in &law.cells {
                let ratio = cell.mean() / cell.expected;
                println!("{}, {}: {ratio:.3}", law.name, cell.setting);
                assert!(
                    (ratio - 1.0).abs() < 2.0 * law.margin,
                    "{}, {}: {ratio}",
                    law.name,
                    cell.setting
                );
            }
        }
        let page = page::page(&laws, QUICK);
        assert_eq!(page.matches("\n## ").count(), laws.len());
    }

    #[test]
    fn agreement_is_of_the_whole_interval() {
        let of = |values: &[f64]| {
            let cell = Cell {
                setting: String::new(),
                expected: 100.0,
                values: values.to_vec(),
            };
            cell.agreement(0.05)
        };
        assert_eq!(of(&[99.0, 100.0, 101.0]), Agreement::Agrees);
        assert_eq!(of(&[120.0, 121.0, 122.0]), Agreement::Differs);
        assert_eq!(of(&[100.0, 104.0, 108.0]), Agreement::Undecided);
        assert_eq!(of(&[100.0]), Agreement::Undecided, "one run shows nothing");
    }
}
