//! Retransmission timeout (RFC 9260 §6.3.3). What happens when the T3-rtx timer of a path expires?
//!
//! The timer itself is [`crate::path::T3`].

use anabranch_policy::{LossCause, LossEvent};
use anabranch_types::{Instant, PathId};

use super::zero_window::WindowProbe;
use super::{Effects, Transfer};
use crate::send::Lost;

impl Transfer {
    //= rfc9260 6.3.3-2
    /// Handles T3-rtx of `path` if it has expired: all outstanding data is lost, cwnd falls to one packet, and the RTO doubles (RFC
    /// 9260 §6.3.3 E1 to E3).
    pub(super) fn t3_timer(&mut self, path: PathId, now: Instant) -> Effects {
        let expires = self.paths.path(path).sending.t3.expires();
        if expires.is_none_or(|expires| expires > now) {
            return Effects::default();
        }
        let lost = self.sender.lose_all(path);
        self.begin_recovery_from_timeout(path, lost.highest);
        let (facts, machinery) = self.paths.both_mut(path);
        facts.rtt.back_off();
        let sending = machinery.sending.make_mut();
        sending.t3.stop();
        sending.loss_check_at = None;
        sending.tail_probe.settle();
        machinery.counters.rare().timeouts += 1;
        self.policies.loss.on_timeout(path);
        let (counts, mut effects) = match self.window_probe {
            WindowProbe::Out { answered } => {
                (self.window_probe_timed_out(path, answered), Effects::default())
            }
            WindowProbe::Idle | WindowProbe::At(_) | WindowProbe::Due => {
                (true, self.congestion_timeout(path, lost, now))
            }
        };
        self.publish(now);
        if counts {
            self.damp(path, now);
            effects.append(self.error_on(path, now));
        }
        effects
    }

    //= rfc9260 6.1-6
    /// Handles the timeout of a zero window probe. The peer had no room, which is no congestion, so cwnd does not change (RFC 9260
    /// §6.1 A), and one packet is sent as the next probe. Returns whether the timeout counts as an error of the path, as it does
    /// unless SACKs keep arriving.
    fn window_probe_timed_out(&mut self, path: PathId, answered: Option<Instant>) -> bool {
        let machinery = self.paths.path_mut(path);
        machinery.sending.make_mut().one_at_a_time = true;
        answered.is_none_or(|at| !machinery.was_silent_since(at))
    }

    //= rfc9260 7.2.3-2
    fn congestion_timeout(&mut self, path: PathId, lost: Lost, now: Instant) -> Effects {
        self.paths.chunks_lost(path, lost.chunks);
        let event = LossEvent {
            path,
            cause: LossCause::Timeout,
            bytes: lost.bytes,
        };
        self.tell_loss(&event, now);
        // A policy whose window has room for more permits more to be sent.
        let window = self.policies.congestion.cwnd(path);
        let (facts, machinery) = self.paths.both_mut(path);
        machinery.sending.make_mut().one_at_a_time = window <= u64::from(facts.max_data_chunk);
        self.doubt_mtu_after_timeout(path, now)
    }
}
