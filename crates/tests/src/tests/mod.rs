//! Which stories are told? One file for each thing that can go well or wrong.

mod adversary;
mod regressions;
