//! How much may be in flight, if all paths together must not be greedier than one flow?
//!
//! Source: RFC 6356 (Linked Increases Algorithm).
//!
//! Idea: in congestion avoidance the paths share one increase, sized so that their sum gets what a single flow
//! would get on the best of them; slow start, losses and timeouts stay per path. A path alone behaves as `cmt`.
//!
//! ```text
//! on each SACK, before any update:
//!   total = Σ window_i
//!   α     = total · max(window_i / srtt_i²) / (Σ window_i / srtt_i)²
//! acked in congestion avoidance on path i:
//!   window_i += min(α · acked · PMDCS / total, acked · PMDCS / window_i)
//! ```
//!
//! Deviations: integers (α in units of 2⁻¹⁰); paths without a round-trip time sample, and paths that carry no
//! data, stay out of the sums.

use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::cmt::{GROWTH, INITIAL_PACKETS};
use super::growth::Growth;
use super::independent::Acked;
use super::window::{IdleThreshold, Window, quantum};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{AckDigest, CongestionControl, LossDigest, PathFacts, Policy, path_facts};

/// Parameters of [`Lia`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiaParameters {
    /// When a window may grow.
    pub growth: Growth,
    /// Initial window in full chunks; 0 for the formula of RFC 9260 §7.2.1.
    pub initial_packets: u16,
}

impl Parameters for LiaParameters {
    const LIST: &'static [Parameter] = &[GROWTH, INITIAL_PACKETS];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "growth" => Slot::text(&mut self.growth),
            "initial-packets" => Slot::number(&mut self.initial_packets, 0..=1_000),
            _ => return None,
        })
    }
}

/// Linked increases over all paths of an association.
#[derive(Debug)]
pub struct Lia {
    parameters: LiaParameters,
    paths: PathTable<State>,
}

#[derive(Debug)]
struct State {
    window: Window,
    /// Growth that did not make a whole byte yet, in 2⁻¹⁶ bytes.
    carry: u64,
}

/// The sums over all paths, as they were before the SACK.
#[derive(Clone, Copy, Debug)]
struct Coupling {
    total: u64,
    /// α · 2^[`ALPHA_BITS`].
    alpha: u64,
}

const ALPHA_BITS: u32 = 10;
const CARRY_BITS: u32 = 16;
/// Speeds are 2¹⁰ for the path with the longest round trip and at most 2²⁴, so that no product below exceeds
/// 128 bits.
const SPEED_BITS: u32 = 10;
const TOP_SPEED: u64 = 1 << 24;
/// Windows count up to 4 GiB in the sums, for the same reason.
const TOP_WINDOW: u64 = 1 << 32;

impl Lia {
    /// A controller without paths.
    #[must_use]
    pub fn new(parameters: LiaParameters) -> Self {
        Self {
            parameters,
            paths: PathTable::default(),
        }
    }

    /// Multiplying numerator and denominator of α by the square of the longest round-trip time turns 1/srtt into
    /// a ratio, "speed", that is exact enough as an integer.
    fn coupling(&self, paths: &[PathFacts]) -> Option<Coupling> {
        let members = || {
            paths.iter().filter(|path| path.is_usable()).filter_map(|path| {
                let srtt = u64::try_from(path.srtt?.as_nanos()).unwrap_or(u64::MAX).max(1);
                let window = self.paths.of(path.id)?.window.bytes.min(TOP_WINDOW);
                Some((window, srtt))
            })
        };
        let longest = members().map(|(_, srtt)| srtt).max()?;
        let (mut total, mut best, mut sum) = (0_u64, 0_u128, 0_u128);
        for (window, srtt) in members() {
            let speed = u128::from(mul_div(longest, 1 << SPEED_BITS, srtt).min(TOP_SPEED));
            total += window;
            best = best.max(u128::from(window) * speed * speed);
            sum += u128::from(window) * speed;
        }
        let numerator = u128::from(total)
            .checked_mul(best)?
            .checked_mul(1 << ALPHA_BITS)?;
        let alpha = u64::try_from(numerator / sum.checked_mul(sum)?.max(1)).ok()?;
        Some(Coupling { total, alpha })
    }
}

impl State {
    fn avoid_congestion(&mut self, acked: &Acked<'_>, coupling: Option<Coupling>) {
        let quantum = quantum(acked.path);
        let acked_chunks = mul_div(acked.ack.newly_acked << CARRY_BITS, quantum, 1);
        let alone = acked_chunks / self.window.bytes;
        let linked = coupling.map_or(alone, |coupling| {
            mul_div(acked_chunks, coupling.alpha, coupling.total << ALPHA_BITS)
        });
        let growth = self.carry + linked.min(alone);
        self.carry = growth % (1 << CARRY_BITS);
        self.window.grow(growth >> CARRY_BITS);
    }
}

impl Policy for Lia {
    fn name(&self) -> &'static str {
        "lia"
    }
}

impl CongestionControl for Lia {
    fn add_path(&mut self, path: &PathFacts, _now: Instant) {
        let window = Window::initial(path, self.parameters.initial_packets);
        self.paths.insert(path.id, State { window, carry: 0 });
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    fn on_ack(&mut self, ack: &AckDigest<'_>, paths: &[PathFacts], now: Instant) {
        let coupling = self.coupling(paths);
        for ack in ack.paths {
            let (Some(state), Some(path)) = (self.paths.of_mut(ack.path), path_facts(paths, ack.path)) else {
                continue;
            };
            let acked = Acked::new(self.parameters.growth, ack, path, now);
            let quantum = quantum(path);
            state.window.raise_to(quantum);
            if !acked.was_full(&mut state.window) || !acked.may_grow {
                continue;
            }
            if state.window.in_slow_start() {
                state.window.grow(ack.newly_acked.min(quantum));
            } else {
                state.avoid_congestion(&acked, coupling);
            }
        }
    }

    fn on_loss(&mut self, loss: &LossDigest, paths: &[PathFacts], _now: Instant) {
        if let (Some(state), Some(path)) = (self.paths.of_mut(loss.path), path_facts(paths, loss.path)) {
            state.window.cut(loss.cause, 5, path);
            state.carry = 0;
        }
    }

    fn on_idle(&mut self, path: &PathFacts, idle: Duration) {
        if let Some(state) = self.paths.of_mut(path.id) {
            state.window.decay(path, idle, IdleThreshold::Lowered);
        }
    }

    fn window(&self, path: PathId) -> u64 {
        self.paths.of(path).map_or(0, |state| state.window.bytes)
    }

    fn slow_start_threshold(&self, path: PathId) -> u64 {
        self.paths
            .of(path)
            .map_or(u64::MAX, |state| state.window.threshold)
    }
}

#[cfg(test)]
mod tests;
