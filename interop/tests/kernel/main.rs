//! Do the kernel's TCP and Multipath TCP and ours understand each other? Stories over links of the simulator in real time.
#![cfg(test)]

mod ends;
mod multipath;
mod tcp;
