//! Interoperability with Linux' TCP and MPTCP, over links of the simulator in real time.
#![cfg(test)]

mod ends;
mod multipath;
mod tcp;
