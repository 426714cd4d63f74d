//! Interface changes. When addresses of wildcard sockets appear or disappear, new associations use the current ones, and
//! existing associations announce the change to their peers by ASCONF (RFC 5061).

use std::net::SocketAddr;

use anabranch_proto::{AddressError, AssociationMut};
use anabranch_types::{AddressScope, AssociationId};

use super::State;

#[cfg(target_os = "linux")]
pub(crate) use watch::follow;

#[cfg(target_os = "linux")]
mod watch {
    use std::future::pending;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Duration;

    use anabranch_io::expand_wildcard;

    use super::super::{Shared, until};
    use crate::runtime::{InterfaceChanges, either, sleep, timeout};

    /// Delay between the first notification and listing the addresses: one change causes many notifications.
    const SETTLING: Duration = Duration::from_millis(100);

    /// When an address that could not be removed yet is tried again.
    const RETRY: Duration = Duration::from_secs(1);

    /// Keeps the addresses of wildcard sockets up to date until the endpoint ends.
    pub(crate) async fn follow(shared: Arc<Shared>, changes: InterfaceChanges) {
        let gone = until(&shared.gone, || shared.lock().driver_is_gone.then_some(()));
        let following = async {
            let mut is_done = true;
            loop {
                let changed = changes.changed();
                let change = if is_done {
                    Some(changed.await)
                } else {
                    timeout(RETRY, changed).await
                };
                match change {
                    Some(Ok(())) => sleep(SETTLING).await,
                    Some(Err(_)) => return pending::<()>().await,
                    None => {}
                }
                // If listing fails, the next change triggers another attempt.
                if let Some(present) = present_addresses(&shared) {
                    is_done = shared.command(|state| state.follow(&present));
                }
            }
        };
        either(gone, following).await;
    }

    /// The addresses at which the sockets can be reached now.
    fn present_addresses(shared: &Shared) -> Option<Vec<SocketAddr>> {
        let sockets: Vec<SocketAddr> = {
            let state = shared.lock();
            state.sockets.iter().map(|socket| socket.local_addr()).collect()
        };
        let mut present = Vec::new();
        for socket in sockets {
            present.extend(expand_wildcard(socket).ok()?);
        }
        Some(present)
    }
}

impl State {
    /// Applies the list of addresses at which the sockets can be reached now: new associations use these, and existing ones
    /// announce the difference to their peers. `false` if an association still has an address that is gone, to be tried again.
    pub(crate) fn follow(&mut self, present: &[SocketAddr]) -> bool {
        let known = self.core.local().to_vec();
        let added: Vec<SocketAddr> = missing_from(&known, present);
        for gone in missing_from(present, &known) {
            self.core.remove_local(gone);
        }
        for address in &added {
            self.core.add_local(*address);
        }
        let ids: Vec<AssociationId> = self.ids().collect();
        let mut is_done = true;
        for id in ids {
            for address in &added {
                self.announce(id, *address);
            }
            if let Some(mut association) = self.core.association_mut(id) {
                is_done &= remove_gone(&mut association, present);
            }
        }
        is_done
    }

    /// Announces a new address of ours to the peer of an association; during the handshake it is queued for later.
    fn announce(&mut self, id: AssociationId, address: SocketAddr) {
        let Some(mut association) = self.core.association_mut(id) else {
            return;
        };
        if association.is_closed() || !is_useful(&association, address) {
            return;
        }
        if !association.is_connected() {
            drop(association);
            self.unannounced.push((id, address));
            return;
        }
        // If the peer does not support address changes, the association keeps its addresses.
        let _: Result<(), AddressError> = association.add_local_address(address);
    }

    /// Announces the addresses that were added during the handshake of an association, which is now complete.
    pub(crate) fn announce_late(&mut self, id: AssociationId) {
        let late = self.unannounced.extract_if(.., |(of, _)| *of == id);
        let late: Vec<(AssociationId, SocketAddr)> = late.collect();
        for (id, address) in late {
            self.announce(id, address);
        }
    }
}

fn missing_from(list: &[SocketAddr], of: &[SocketAddr]) -> Vec<SocketAddr> {
    of.iter()
        .filter(|address| !list.contains(address))
        .copied()
        .collect()
}

/// Whether the address is useful to the peer: loopback addresses only on this host, all others only elsewhere, as in the
/// handshake.
fn is_useful(association: &AssociationMut<'_>, address: SocketAddr) -> bool {
    let is_loopback = |address: SocketAddr| AddressScope::of(address.ip()) == AddressScope::Loopback;
    let paths = association.path_addresses();
    paths
        .iter()
        .any(|path| is_loopback(path.remote) == is_loopback(address))
}

/// Removes addresses that are gone. The last one is kept until there is another one: without it the association would end, and it may come
/// back. `false` if one is kept for now.
fn remove_gone(association: &mut AssociationMut<'_>, present: &[SocketAddr]) -> bool {
    let mut locals: Vec<SocketAddr> = association
        .path_addresses()
        .iter()
        .map(|path| path.local)
        .collect();
    locals.sort_unstable();
    locals.dedup();
    let results = missing_from(present, &locals)
        .into_iter()
        .map(|gone| association.remove_local_address(gone));
    // A peer without address changes goes on with what it knows.
    results
        .filter(|result| matches!(result, Err(AddressError::LastAddress(_) | AddressError::TooMany)))
        .count()
        == 0
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use crate::{Association, AssociationEvent, Endpoint, PathChange};

    fn on_loopback(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, last], port))
    }

    async fn next_change(association: &Association, change: PathChange) -> SocketAddr {
        let mut events = association.events();
        loop {
            match events.next().await {
                Some(AssociationEvent::Path(event)) if event.change == change => return event.addr.remote,
                Some(_) => {}
                None => panic!("the association ended"),
            }
        }
    }

    #[tokio::test]
    async fn peer_learns_addresses_that_come_and_go() {
        let server = Endpoint::builder().insecure().local("0.0.0.0:0").listen();
        let server = server.bind().await.expect("loopback is there");
        let client = Endpoint::builder().insecure().local("127.0.0.3:0").bind();
        let client = client.await.expect("loopback is there");
        let port = server.local_addrs()[0].port();
        let (first, second) = (on_loopback(1, port), on_loopback(2, port));
        let (association, accepted) = tokio::join!(client.connect(first), server.accept());
        let association = association.expect("a server that accepts");
        let _accepted = accepted.expect("an association");

        let added = next_change(&association, PathChange::Added);
        let follow = async {
            server.shared().command(|state| state.follow(&[first, second]));
        };
        let (added, ()) = tokio::join!(added, follow);
        assert_eq!(added, second);
        let removed = next_change(&association, PathChange::Removed);
        let follow = async {
            // Wait until the path from the second address is confirmed; otherwise the first address would be the last one.
            loop {
                let paths = association.statistics().paths;
                let is_confirmed = |path: &crate::PathStatistics| {
                    path.addr.remote == second && path.reachability == crate::Reachability::Active
                };
                if paths.iter().any(is_confirmed) {
                    break;
                }
                tokio::task::yield_now().await;
            }
            server.shared().command(|state| state.follow(&[second]));
        };
        let (removed, ()) = tokio::join!(removed, follow);
        assert_eq!(removed, first);
    }
}
