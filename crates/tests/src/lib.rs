//! Scenario tests: hostile peers and randomized simulations, on simulated networks in virtual time.
//!
//! `cargo test -p anabranch-tests` runs them all. The vocabulary that the stories are told in is in `story`.

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod scenario;
