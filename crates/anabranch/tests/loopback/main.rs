//! Tests of the library over real sockets: endpoints on this host's loopback addresses.
#![cfg(test)]

mod addresses;
mod bytes;
mod closing;
mod common;
mod data_channels;
#[cfg(feature = "dtls")]
mod dtls;
mod executor;
mod heartbeats;
mod many;
mod messages;
mod parts;
mod paths;
mod pressure;
mod readiness;
mod reordering;
mod sealed;
mod sight;
mod streams;
