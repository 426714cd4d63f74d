//! Which stories are told? One file for each thing that can go well or wrong.

mod acknowledgement;
mod adversary;
mod bundling;
mod capture;
mod cmt;
mod collision;
mod coupling;
mod determinism;
mod failover;
mod flow_control;
mod handshake;
mod hostile_peer;
mod multihoming;
mod nat;
mod nr_sack;
mod own_policies;
mod path_schedulers;
mod regressions;
mod restart;
mod retransmission;
mod sack_handling;
mod sack_length;
mod sack_paths;
mod shutdown;
mod stream_schedulers;
mod streams;
