//! Peeling off (RFC 6458 §9.2): an association of a one-to-many style socket becomes a one-to-one style socket.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use anabranch::Readiness;

use super::{Phase, Socket, Style};
use crate::errno::Errno;
use crate::lock;

impl Socket {
    /// Moves an association to a socket of its own, with what was received of it and is not read yet.
    ///
    /// # Errors
    ///
    /// `EINVAL` if this socket is not of the one-to-many style or has no such association; `ENOTCONN` if the handshake is not over.
    pub(crate) fn peel_off(
        &self,
        id: i32,
        (nonblocking, cloexec): (bool, bool),
    ) -> Result<(Arc<Self>, OwnedFd), Errno> {
        if self.style != Style::OneToMany {
            return Err(Errno(libc::EINVAL));
        }
        let member = self.member(id)?;
        if !member.is_established() {
            return Err(Errno(libc::ENOTCONN));
        }
        let settings = Arc::clone(&member.settings);
        let (peeled, program) = Self::new(Style::OneToOne, self.is_v6, (nonblocking, cloexec), settings)?;
        *lock(&peeled.phase) = Phase::Connected;
        let mut reader = lock(&self.reader);
        // Another thread may have been faster.
        if self.forget(id).is_none() {
            return Err(Errno(libc::EINVAL));
        }
        let notices = reader.release(&member);
        member.set_owner(&peeled);
        self.settle_reader(&mut reader);
        drop(reader);
        peeled.enter(&member, &[member.peer()]);
        lock(&peeled.reader).adopt_notices(&member, notices);
        self.unblock(&member);
        peeled.on_readiness(&member, Readiness::Both);
        Ok((peeled, program))
    }
}
