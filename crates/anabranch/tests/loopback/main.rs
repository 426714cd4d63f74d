//! Does the library keep its promises over real sockets? Stories between endpoints on this host's loopback
//! addresses.
#![cfg(test)]

mod addresses;
mod common;
mod ending;
mod many;
mod paths;
mod pressure;
mod talking;
