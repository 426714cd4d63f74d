//! Timers of an association: the earliest deadline of all parts. Each part keeps its own timers.

use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, earliest};

use super::addresses::probe_waiting_pairs;
use super::{Association, CloseReason, State};
use crate::address::Addresses;
use crate::config::AssociationConfig;
use crate::handshake;
use crate::path::PathSet;

impl Association {
    /// The time at which [`Association::handle_timeout`] is due; `None` if no timer runs.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Closed => None,
            // Before the end of the handshake only the handshake timer counts. A restarted handshake may have left timers of
            // paths behind, which wait until it is complete.
            State::CookieWait(_) | State::CookieEchoed(..) => self.state.deadline(),
            _ => earliest([
                self.state.deadline(),
                self.addresses.deadline(),
                self.join_deadline(),
                self.reconfig_deadline(),
                self.transfer.deadline(),
            ]),
        }
    }

    //= rfc6951 5.5-2
    /// Handles all timers that are due at `now`, in a fixed order.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.state.is_closed() {
            return;
        }
        self.transfer.policies.burst.on_transmission_opportunity();
        if self.state.deadline().is_some_and(|deadline| deadline <= now) {
            match self.state {
                State::CookieWait(_) | State::CookieEchoed(..) => {
                    self.transfer.lose_early(now);
                    let parts = (&self.addresses, &self.transfer.paths);
                    let next = handshake_timer(&mut self.state, &self.config, parts, now);
                    match next {
                        Some(path) => self.control.send_handshake(path),
                        None => self.end(CloseReason::NoAnswer, Some(Vec::new())),
                    }
                }
                _ => self.shutdown_timer(now),
            }
        }
        let effects = self.addresses.on_timeout(&mut self.transfer, now);
        self.apply(effects);
        if !self.state.is_closed() && !self.is_in_handshake() {
            let effects = self.transfer.on_timeout(now);
            self.apply(effects);
        }
        if let Some(reconfig) = &mut self.reconfig
            && self.state.changes_streams()
        {
            let effects = reconfig.on_timeout(&mut self.transfer, now);
            self.apply(effects);
        }
        if self.may_join() {
            let retired = self.addresses.retire_left(&mut self.transfer, now);
            let joined = self.addresses.join(&mut self.transfer, now);
            self.apply(retired.then(joined));
        }
        let parts = (&mut self.addresses, &mut self.control);
        probe_waiting_pairs(&self.state, parts, &mut self.transfer, now);
        if self.transfer.sender.is_drained() {
            self.transfer.release_memory(now);
            self.events.release_memory();
        }
        self.debug_check();
    }

    fn join_deadline(&self) -> Option<Instant> {
        let deadline = self.addresses.join_deadline(&self.transfer.paths);
        deadline.filter(|_| self.may_join())
    }

    /// Requests are repeated in the states in which they may be sent.
    fn reconfig_deadline(&self) -> Option<Instant> {
        let reconfig = self.reconfig.as_ref().filter(|_| self.state.changes_streams());
        reconfig?.deadline()
    }
}

//= rfc9260 4-3, 4-4, 4-5, 4-6, 4-7, 4-8, 5.1.4-3
/// Handles the expiry of T1: INIT or COOKIE ECHO is retransmitted, on the next path if there is one (RFC 9260 §5.1), which is returned;
/// `None` if Max.Init.Retransmits is exceeded. An INIT is sent only to addresses that the application gave, because an address that the
/// peer lists may belong to another host. A COOKIE ECHO may go to listed addresses, bundled with a HEARTBEAT (RFC 9260 §5.4),
/// because the initial address may have failed.
fn handshake_timer(
    state: &mut State,
    config: &AssociationConfig,
    (addresses, paths): (&Addresses, &PathSet),
    now: Instant,
) -> Option<PathId> {
    let retry = match state {
        State::CookieWait(Some(retry)) => retry.as_mut(),
        State::CookieEchoed(echo) => &mut echo.retry,
        _ => return None,
    };
    retry.repeat(config.rto().max, now);
    let repeated = retry.repeated;
    if repeated > config.max_init_retransmits {
        return None;
    }
    Some(match state {
        State::CookieEchoed(echo) => handshake::path_of_cookie(addresses, paths, &echo.cookie, repeated),
        _ => handshake::path_of_init(addresses, paths, repeated),
    })
}
