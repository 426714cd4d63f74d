//! Transfers over networks as they are in the field: NATs, routes, packet sizes and addresses that change.
//!
//! Needs root, Debian's iproute2, nftables, conntrack and tayga.
#![cfg(test)]
#![cfg(target_os = "linux")]

mod changes;
mod figures;
#[expect(dead_code, reason = "the tests of the program use the rest")]
#[path = "../program/harness.rs"]
mod harness;
mod holes;
mod nat;
mod nat64;
mod network;
mod outage;
mod packet_size;
mod parallel;
mod receiver;
mod scenario;
mod scenarios;
mod suspension;
mod temporary_addresses;
mod transfer;
mod tun;
mod uplinks;
mod words;
