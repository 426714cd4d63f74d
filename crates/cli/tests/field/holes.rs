//! Packet-size holes: routers that drop packets above a size, in each combination of size, IP version, ICMP, number of paths, and
//! time. Does the file arrive, with most of what fits?
//!
//! `make test` runs some of the cells; `make field-holes` (`ANABRANCH_HOLES=all`) runs all of them.

use std::env;
use std::fmt;

use anabranch::SEAL_OVERHEAD;
use serde_json::Value;

use super::harness::needs_root;
use super::network::{Network, Turn};
use super::parallel;
use super::scenario::{Family, Happening, RandomScenario, Site, Uplink, What};
use super::transfer::{Order, mtu};

/// Rates of the two uplinks in Mbit/s.
const RATES: [u32; 2] = [3, 9];

/// Time that the file takes without any loss, in seconds.
const SECONDS: u32 = 30;

/// How much of what fits must be carried.
const SHARE: f64 = 0.8;

/// One combination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cell {
    /// The largest IP packet that passes, in bytes.
    size: u32,
    family: Family,
    /// Whether a router reports the drop by ICMP.
    has_icmp: bool,
    /// The uplinks with a hole: the fast one, or both.
    holed: &'static [usize],
    /// Whether the hole is there before the transfer.
    at_start: bool,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, family, .. } = self;
        let icmp = if self.has_icmp { "ICMP" } else { "silent" };
        let paths = if self.holed.len() == 2 {
            "both paths"
        } else {
            "one path"
        };
        let time = if self.at_start { "at start" } else { "mid-way" };
        write!(f, "{size} bytes, {family:?}, {icmp}, {paths}, {time}")
    }
}

impl Cell {
    fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for number in 0..48 {
            let [family, icmp, holed, time] = [1, 2, 4, 8].map(|bit| (number / 3) & bit == 0);
            cells.push(Self {
                size: [1_280, 1_300, 1_400][number % 3],
                family: if family { Family::V4 } else { Family::V6 },
                has_icmp: icmp,
                holed: if holed { &[1] } else { &[0, 1] },
                at_start: time,
            });
        }
        cells
    }

    /// Goodput if all packets have the size that the hole lets through, in Mbit/s.
    fn fits(&self) -> f64 {
        let headers =
            if self.family == Family::V4 { 20 } else { 40 } + 8 + u32::from(SEAL_OVERHEAD) + 12 + 16;
        let goodput = |number: usize| {
            let size = if self.holed.contains(&number) {
                self.size
            } else {
                1_500
            };
            // The shaper counts the Ethernet header as well.
            f64::from(RATES[number]) * f64::from(size - headers) / f64::from(size + 14)
        };
        goodput(0) + goodput(1)
    }

    fn scenario(&self) -> RandomScenario {
        let uplink = |mbit| Uplink {
            mbit,
            queue_ms: 30,
            nats: 0,
        };
        let happening = |uplink: &usize| Happening {
            at: 0,
            lasts: None,
            what: What::Hole {
                uplink: *uplink,
                size: self.size,
                silent: !self.has_icmp,
            },
        };
        RandomScenario {
            seed: 0,
            uplinks: RATES.map(uplink).to_vec(),
            family: self.family,
            policy_routing: true,
            names_devices: false,
            bytes: (RATES.iter().sum::<u32>() * SECONDS * 1_000_000 / 8) as usize,
            happenings: self.holed.iter().map(happening).collect(),
        }
    }

    /// The share of what fits that was carried.
    fn run(&self, turn: &Turn) -> Result<f64, String> {
        let scenario = self.scenario();
        let site = Site::make(&scenario, turn).ok_or("no right to make namespaces")?;
        let make_holes = || scenario.happenings.iter().for_each(|hole| site.begin(hole.what));
        let order = Order {
            client: &site.client,
            server: &site.server,
            bytes: scenario.bytes,
            send: &["--to", &site.server_addresses()],
            recv: &[],
        };
        if self.at_start {
            make_holes();
        }
        let mut transfer = order.start();
        if !self.at_start {
            (0..SECONDS / 4).for_each(|_| drop(transfer.sender.event("progress")));
            make_holes();
        }
        let summary = transfer.finish();
        self.check_mtus(&summary)?;
        let share = summary["goodput_bit_s"].as_f64().unwrap() / 1e6 / self.fits();
        if share < SHARE {
            return Err(format!("{:.0} % of what fits", share * 100.0));
        }
        Ok(share)
    }

    fn check_mtus(&self, summary: &Value) -> Result<(), String> {
        for path in self.holed {
            let mtu = mtu(summary, *path);
            // Path MTU discovery ends when the next size would be less than four bytes larger.
            if !(1_200..=u64::from(self.size) + 3).contains(&mtu) {
                return Err(format!("path {path} has an MTU of {mtu}"));
            }
        }
        Ok(())
    }
}

#[test]
fn file_arrives_with_most_of_what_fits_through_holes() {
    let turn = Turn::take();
    if needs_root("network namespaces", || Network::beside_others(&turn)).is_none() {
        return;
    }
    let mut cells = Cell::all();
    if env::var("ANABRANCH_HOLES").as_deref() != Ok("all") {
        // Each value of each property, and most pairs of them.
        cells = cells.into_iter().step_by(7).collect();
    }
    let count = cells.len();
    let results = parallel::all(
        &cells,
        |cell| cell.run(&turn),
        |done, cell, result| match result {
            Ok(share) => println!("{done:3} of {count}, {cell}: {:.0} % of what fits", share * 100.0),
            Err(what) => println!("{done:3} of {count}, {cell}: FAILED: {what}"),
        },
    );
    let failed = results.iter().filter(|result| result.is_err()).count();
    assert_eq!(failed, 0, "of {count} cells");
}
