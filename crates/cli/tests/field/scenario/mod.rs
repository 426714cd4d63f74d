//! Scenarios drawn at random: a network, and what happens to it while a file is sent. Does every file arrive whole, or is there a
//! clear error?
//!
//! ```text
//!            ┌─ up0 ── lan [isp0: NAT, tbf] wan ─ [cgn0: NAT] ─┐
//!   client ──┼─ up1 ── lan [isp1: tbf] wan ────────────────────┼─ switch ── eth0, eth1 server
//!            └─ up2 ── ...                                     ┘
//! ```

mod ample;
mod draw;
mod outage;
mod program;
mod run;
mod site;

pub(super) use draw::{Family, Happening, RandomScenario, Uplink, What};
pub(super) use run::{Outcome, run};
pub(super) use site::Site;

/// How long the program waits for a packet of its peer, in milliseconds: the default of `--timeout`.
const PATIENCE: u64 = 15_000;

/// How long it takes after an outage until packets arrive again, at most: a path is probed each second, an address is joined with
/// back-off.
const RETURN: u64 = 4_000;
