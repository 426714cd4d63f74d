//! Transport protocol of a simulation: the interface that a scenario needs of SCTP, TCP and Multipath TCP.
//!
//! [`crate::Scenario`] and [`crate::Simulation`] are generic over this trait. Features of one protocol, such as SCTP's
//! encapsulation port, are methods of `Scenario<Sctp>` or `Scenario<Tcp>`.

use core::net::{IpAddr, SocketAddr};

use anabranch_netsim::topology::Path;
use anabranch_policy::PathFacts;
use anabranch_types::{Instant, Seed};

use crate::{AnyHost, HostCounters, HostState, Side};

/// A transport protocol: its hosts and their measurements.
pub trait Transport: Default {
    /// A host with an endpoint and the applications on it.
    type Host: Into<AnyHost> + 'static;
    /// Configuration of an association or connection.
    type Config: Clone + Default;
    /// The application on one association or connection.
    type App: Clone + Default;
    /// Identifies an association or connection of a host.
    type Id;

    /// Port of both hosts, or the encapsulation port if there is one.
    fn port(&self) -> u16;

    /// The configuration of a host with these addresses.
    fn configure(config: Self::Config, _addresses: &[IpAddr]) -> Self::Config {
        config
    }

    /// Builds a host.
    fn host(&self, setup: HostSetup<'_, Self>) -> Self::Host;

    /// The host inside [`AnyHost`].
    ///
    /// # Panics
    ///
    /// If the host uses another protocol.
    fn of(host: &AnyHost) -> &Self::Host;

    /// Like [`Self::of`], mutable.
    ///
    /// # Panics
    ///
    /// As [`Transport::of`].
    fn of_mut(host: &mut AnyHost) -> &mut Self::Host;

    /// Starts an association or connection with an application on it, from `local` if the protocol binds to one address.
    ///
    /// # Panics
    ///
    /// If the endpoint refuses the connection, which happens only for addresses that no scenario creates.
    fn connect(
        host: &mut Self::Host,
        now: Instant,
        local: IpAddr,
        remotes: &[SocketAddr],
        config: Self::Config,
        app: Self::App,
    ) -> Self::Id;

    /// Adds an address to the host, if its protocol supports that.
    fn add_address(host: &mut Self::Host, now: Instant, address: SocketAddr);

    /// Removes an address from the host.
    fn remove_address(host: &mut Self::Host, now: Instant, address: SocketAddr);

    /// State of the paths of the newest association or connection.
    fn path_facts(host: &Self::Host) -> &[PathFacts];

    /// Bytes read by all applications of the host.
    fn bytes_read(host: &Self::Host) -> u64;

    /// Starts counting the overhead of the packets sent from now on.
    fn count_overhead(host: &mut Self::Host);

    /// Current windows and buffers; `None` while the host has no association. `paths` are those of the scenario.
    fn state(host: &Self::Host, paths: &[Path]) -> Option<HostState>;

    /// All counters so far; `None` while the host has no association. `paths` are those of the scenario.
    fn counters(host: &Self::Host, paths: &[Path]) -> Option<HostCounters>;
}

/// Parameters of a host to be built.
pub struct HostSetup<'a, T: Transport> {
    /// Side.
    pub side: Side,
    /// Random seed.
    pub seed: Seed,
    /// Its addresses, in path order.
    pub addresses: Vec<IpAddr>,
    /// Configuration of its associations or connections.
    pub config: &'a T::Config,
    /// Application on accepted associations or connections.
    pub app: T::App,
    /// Packets are captured.
    pub is_captured: bool,
}
