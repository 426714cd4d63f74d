//! Limits of an endpoint. How many associations may the peers of one source prefix have, and how much received data may all hold?
//!
//! Memory for received data is not divided in advance. An association may use the free part, or an equal share (the limit
//! divided by the maximum number of associations) if that is more. A few associations with undeliverable messages therefore
//! leave room for the others. All together hold at most twice the limit, apart from the short message that each may always
//! complete.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::config::{EndpointConfig, SourcePrefix};

/// Total use of the limits by all associations.
#[derive(Debug)]
pub(super) struct Limits {
    /// Bytes of received data, with the overhead of its chunks.
    receive_memory: u64,
    held: u64,
    /// Bytes of messages in send buffers above which none grows.
    send_memory: u64,
    queued: u64,
    associations: usize,
    /// An equal share of the memory for each of them.
    equal_share: u64,
    per_prefix: usize,
    prefix: SourcePrefix,
    /// Associations that were set up by peers of each prefix.
    of_prefix: BTreeMap<IpAddr, usize>,
}

impl Limits {
    pub(super) fn new(config: &EndpointConfig) -> Self {
        Self {
            receive_memory: config.receive_memory,
            held: 0,
            send_memory: config.send_memory,
            queued: 0,
            associations: config.max_associations,
            equal_share: config.receive_memory / config.max_associations.max(1) as u64,
            per_prefix: config.max_associations_per_prefix,
            prefix: config.source_prefix,
            of_prefix: BTreeMap::new(),
        }
    }

    /// Bytes of received data of all associations.
    pub(super) const fn held(&self) -> u64 {
        self.held
    }

    /// Whether there is room for one more association than `associations`, set up by a peer at `source`.
    pub(super) fn admits(&self, associations: usize, source: IpAddr) -> bool {
        let from_there = self.of_prefix.get(&masked(self.prefix, source)).copied();
        associations < self.associations && from_there.unwrap_or_default() < self.per_prefix
    }

    /// Counts an association; `source` is the address of a peer that set it up. Returns the prefix for which it counts.
    pub(super) fn add(&mut self, source: Option<IpAddr>) -> Option<IpAddr> {
        let prefix = source.map(|source| masked(self.prefix, source));
        if let Some(prefix) = prefix {
            *self.of_prefix.entry(prefix).or_default() += 1;
        }
        prefix
    }

    /// Removes an association that held `held` bytes, had `queued` in its send buffer, and counted for `prefix`.
    pub(super) fn remove(&mut self, (held, queued): (u64, u64), prefix: Option<IpAddr>) {
        self.held -= held;
        self.queued -= queued;
        if let Some(prefix) = prefix
            && let Some(count) = self.of_prefix.get_mut(&prefix)
        {
            *count -= 1;
            if *count == 0 {
                self.of_prefix.remove(&prefix);
            }
        }
    }

    /// Changes the memory that an association holds from `before` to `held`.
    pub(super) const fn update(&mut self, before: &mut u64, held: u64) {
        self.held = self.held - *before + held;
        *before = held;
    }

    /// Changes the bytes in the send buffer of an association from `before` to `queued`.
    pub(super) const fn update_queued(&mut self, before: &mut u64, queued: u64) {
        self.queued = self.queued - *before + queued;
        *before = queued;
    }

    /// Whether half of the memory for received data is in use, so that no buffer grows.
    pub(super) const fn is_receive_memory_scarce(&self) -> bool {
        self.held >= self.receive_memory / 2
    }

    /// Whether half of the memory for send buffers is in use, so that none grows.
    pub(super) const fn is_send_memory_scarce(&self) -> bool {
        self.queued >= self.send_memory / 2
    }

    /// Bytes that an association may hold which holds `held`.
    pub(super) fn grant(&self, held: u64) -> u64 {
        let free = self.receive_memory.saturating_sub(self.held);
        held.saturating_add(free).max(self.equal_share)
    }

    /// Whether the memory for received data is used up.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.held >= self.receive_memory
    }
}

/// The prefix of an address. An IPv4-mapped IPv6 address has that of the IPv4 address.
fn masked(lengths: SourcePrefix, source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(lengths.v4.into()).unwrap_or_default();
            Ipv4Addr::from(u32::from(address) & !host).into()
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(lengths.v6.into()).unwrap_or_default();
            Ipv6Addr::from(u128::from(address) & !host).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_prefix_are_counted_together() {
        let lengths = SourcePrefix { v4: 24, v6: 64 };
        let prefix = |address: &str| masked(lengths, address.parse().expect("an address"));
        assert_eq!(prefix("192.0.2.1"), prefix("192.0.2.200"));
        assert_ne!(prefix("192.0.2.1"), prefix("192.0.3.1"));
        assert_eq!(prefix("192.0.2.1"), prefix("::ffff:192.0.2.1"));
        assert_eq!(prefix("2001:db8::1"), prefix("2001:db8::ffff:2"));
        assert_ne!(prefix("2001:db8::1"), prefix("2001:db8:0:1::1"));
        let whole = masked(SourcePrefix { v4: 32, v6: 128 }, IpAddr::from([192, 0, 2, 1]));
        assert_eq!(whole, IpAddr::from([192, 0, 2, 1]));
        let none = masked(SourcePrefix { v4: 0, v6: 0 }, IpAddr::from([192, 0, 2, 1]));
        assert_eq!(none, IpAddr::from([0, 0, 0, 0]));
    }

    #[test]
    fn association_may_use_free_memory_or_an_equal_share() {
        let config = EndpointConfig {
            receive_memory: 1_000,
            max_associations: 2,
            ..EndpointConfig::default()
        };
        let mut limits = Limits::new(&config);
        let (mut hog, mut modest) = (0, 0);
        assert_eq!(limits.grant(hog), 1_000);
        limits.update(&mut hog, 499);
        assert!(!limits.is_receive_memory_scarce());
        limits.update(&mut hog, 900);
        assert!(limits.is_receive_memory_scarce() && !limits.is_send_memory_scarce());
        limits.update(&mut modest, 50);
        assert_eq!(limits.grant(hog), 950);
        assert_eq!(limits.grant(modest), 500);
        limits.update(&mut hog, 1_000);
        assert!(limits.is_exhausted());
        assert_eq!(limits.grant(hog), 1_000);
        limits.remove((hog, 0), None);
        assert_eq!((limits.held(), limits.is_exhausted()), (50, false));
    }
}
