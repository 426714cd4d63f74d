//! Parsers of command-line values: addresses, quantities, links and traffic. Every error says what was expected.

mod address;
mod link;
mod quantity;
mod traffic;

pub(crate) use address::{
    DEFAULT_PORT, LocalAddresses, Origin, Origins, PeerAddress, PeerAddresses, is_same_host, no_device,
    parse_dashboard, parse_from, parse_key, parse_listen, parse_to,
};
pub(crate) use link::{ShapedPath, parse_path};
pub(crate) use quantity::{parse_delay, parse_duration, parse_rate, parse_size};
pub(crate) use traffic::{Traffic, parse_traffic};

#[cfg(test)]
mod tests;
