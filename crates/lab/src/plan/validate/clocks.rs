//! Validation of clocks: drifts in range, starts before the measurement.

use super::super::BackendPlan;
use super::super::setting::Setting;
use super::{Fault, fault};

/// Largest drift in parts per million; quartz clocks have less than 100.
const LARGEST_DRIFT: f64 = 10_000.0;

pub(super) fn check_clocks(setting: &Setting) -> Result<(), Fault> {
    let clocks = setting.clocks;
    if !(0.0..=LARGEST_DRIFT).contains(&clocks.drift) {
        return fault(["clocks", "drift"], "expected parts per million from 0 to 10000");
    }
    if clocks.start > setting.time.warm_up {
        return fault(
            ["clocks", "start"],
            "hosts must have started when the measurement begins: expected at most `time.warm-up`",
        );
    }
    if setting.backend == BackendPlan::Testbed && !clocks.start.0.is_zero() {
        return fault(
            ["clocks", "start"],
            "`start` works in the simulator only; real hosts start at times of their own",
        );
    }
    Ok(())
}
