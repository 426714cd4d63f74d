//! Transport protocol of a simulation. What does a scenario need of SCTP, TCP and Multipath TCP?
//!
//! [`crate::Scenario`] and [`crate::Simulation`] are written once, over this trait. What a protocol has alone, such as
//! SCTP's encapsulation port, are methods of `Scenario<Sctp>` or `Scenario<Tcp>`.

use core::net::{IpAddr, SocketAddr};

use anabranch_netsim::topology::Path;
use anabranch_policy::PathFacts;
use anabranch_types::{Instant, Seed};

use crate::{AnyHost, HostCounters, HostState, Side};

/// A transport protocol: its hosts, and what is measured of them.
pub trait Transport: Default {
    /// A host with an endpoint and the applications on it.
    type Host: Into<AnyHost> + 'static;
    /// How a side sets up an association or connection.
    type Config: Clone + Default;
    /// The application on one association or connection.
    type App: Clone + Default;
    /// Names an association or connection of a host.
    type Id;

    /// The port of both hosts; that of the encapsulation, where there is one.
    fn port(&self) -> u16;

    /// The configuration of a host with these addresses.
    fn configure(config: Self::Config, _addresses: &[IpAddr]) -> Self::Config {
        config
    }

    /// Builds a host.
    fn host(&self, setup: HostSetup<'_, Self>) -> Self::Host;

    /// The host inside of [`AnyHost`].
    ///
    /// # Panics
    ///
    /// If it speaks another protocol.
    fn of(host: &AnyHost) -> &Self::Host;

    /// The same, to be changed.
    ///
    /// # Panics
    ///
    /// As [`Transport::of`].
    fn of_mut(host: &mut AnyHost) -> &mut Self::Host;

    /// Starts an association or connection with an application on it, from `local` where the protocol binds to one address.
    ///
    /// # Panics
    ///
    /// If the endpoint refuses; it does so only for addresses that no scenario makes.
    fn connect(
        host: &mut Self::Host,
        now: Instant,
        local: IpAddr,
        remotes: &[SocketAddr],
        config: Self::Config,
        app: Self::App,
    ) -> Self::Id;

    /// The host has one address more, if its protocol can use it.
    fn add_address(host: &mut Self::Host, now: Instant, address: SocketAddr);

    /// The host has one address less.
    fn remove_address(host: &mut Self::Host, now: Instant, address: SocketAddr);

    /// Facts of the paths of the newest association or connection.
    fn path_facts(host: &Self::Host) -> &[PathFacts];

    /// Bytes that all applications of the host have read.
    fn bytes_read(host: &Self::Host) -> u64;

    /// Counts what the packets carry that leave from now on.
    fn count_overhead(host: &mut Self::Host);

    /// Windows and buffers now; `None` while the host has no association. `paths` are those of the scenario.
    fn state(host: &Self::Host, paths: &[Path]) -> Option<HostState>;

    /// Everything counted so far; `None` while the host has no association. `paths` are those of the scenario.
    fn counters(host: &Self::Host, paths: &[Path]) -> Option<HostCounters>;
}

/// What a host is built of.
pub struct HostSetup<'a, T: Transport> {
    /// Which of the two.
    pub side: Side,
    /// Source of its randomness.
    pub seed: Seed,
    /// Its addresses, in the order of the paths.
    pub addresses: Vec<IpAddr>,
    /// How it sets up associations or connections.
    pub config: &'a T::Config,
    /// The application on those that its peer starts.
    pub app: T::App,
    /// Somebody captures packets.
    pub is_captured: bool,
}
