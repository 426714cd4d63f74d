//! Scenario tests, tests with hostile peers and randomized tests, on simulated networks in virtual time.
//!
//! `cargo test -p anabranch-tests` runs them all. `fixture` has the hosts, networks and assertions that scenarios use.

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod scenario;
