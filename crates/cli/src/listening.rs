//! Endpoints that wait for other hosts. With which sockets and keys?

use std::path::Path;
use std::sync::Arc;

use anabranch::io::Socket;
use anabranch::{AssociationConfig, Endpoint, EndpointConfig, PublicKey};

use crate::failure::Failure;
use crate::keys::{self, ReceiverKeys};
use crate::network;
use crate::output::{Event, Reporter};
use crate::parse::LocalAddresses;

/// Receive buffer in bytes of associations whose purpose is not accepted yet: many unknown peers may be waiting.
pub(crate) const UNACCEPTED_BUFFER: u64 = 64 << 10;

/// Associations of peers at one IPv4 address or in one /64 of IPv6: one source cannot take the place of all others.
const MAX_PER_SOURCE: usize = 256;

/// Sockets at the addresses that the user named, or at this port of all addresses.
pub(crate) fn listening_sockets(
    listen: Option<&LocalAddresses>,
    port: u16,
) -> Result<Vec<Arc<dyn Socket>>, Failure> {
    match listen {
        Some(locals) => locals.0.iter().map(|local| network::open(*local)).collect(),
        None => network::open_everywhere(port),
    }
}

/// The keys that the user named, or this user's, unless everything is to be in the clear. Reports warnings about them.
pub(crate) fn receiver_keys(
    insecure: bool,
    key: Option<&Path>,
    allow: Vec<PublicKey>,
    reporter: &dyn Reporter,
) -> Result<ReceiverKeys, Failure> {
    if insecure {
        return Ok(ReceiverKeys::Insecure);
    }
    let (keys, warning) = ReceiverKeys::load(key, allow)?;
    for message in warning.iter().chain(&keys::key_log_warning()) {
        reporter.report(&Event::Warning {
            transfer: None,
            path: None,
            message,
        });
    }
    Ok(keys)
}

/// An endpoint that listens on `sockets`.
pub(crate) async fn listen(
    sockets: Vec<Arc<dyn Socket>>,
    config: AssociationConfig,
    keys: &ReceiverKeys,
) -> Result<Endpoint, Failure> {
    let limits = EndpointConfig {
        max_associations_per_prefix: MAX_PER_SOURCE,
        ..EndpointConfig::default()
    };
    keys::receive_by(network::endpoint_on(sockets, config), keys)
        .endpoint_config(limits)
        .listen()
        .follow_interfaces()
        .bind()
        .await
        .map_err(Failure::work)
}
