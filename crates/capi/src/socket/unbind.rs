//! Removal of addresses from a socket (`sctp_bindx`): of the endpoint, and of associations (RFC 5061).

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch::AddressError;

use super::{Member, Phase, Socket};
use crate::errno::Errno;
use crate::hub::Hub;
use crate::lock;

impl Socket {
    /// Removes addresses from the socket and its associations: all, or none.
    ///
    /// # Errors
    ///
    /// `EINVAL` if no address would stay, `EADDRNOTAVAIL` if the socket is not bound to one, `EOPNOTSUPP` if a peer cannot be told.
    pub(crate) fn unbind(&self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        if let Phase::Bound(place) = &mut *lock(&self.phase) {
            return place.remove(addresses);
        }
        let hub = self.hub().ok_or(Errno(libc::EINVAL))?;
        let locals: Result<Vec<SocketAddr>, Errno> =
            addresses.iter().map(|address| hub.address(*address)).collect();
        let locals = locals?;
        // A socket that was accepted does not own the addresses of the one that listens.
        let owns = hub.has_no_other_listener(self);
        if owns && !hub.has_more_than(&locals) {
            return Err(Errno(libc::EINVAL));
        }
        self.remove_from_members(&locals)?;
        if owns {
            for local in locals {
                Hub::withdraw(&hub, local)?;
            }
        }
        Ok(())
    }

    fn remove_from_members(&self, locals: &[SocketAddr]) -> Result<(), Errno> {
        let mut removed: Vec<(Arc<Member>, SocketAddr)> = Vec::new();
        for local in locals {
            for member in self.all_members() {
                match member.association.remove_local_address(*local) {
                    Ok(()) => removed.push((member, *local)),
                    Err(AddressError::UnknownAddress(_)) => {}
                    Err(error) => {
                        for (member, local) in removed {
                            let _ = member.association.add_local_address(local);
                        }
                        return Err(Errno::of_address(error));
                    }
                }
            }
        }
        Ok(())
    }
}
