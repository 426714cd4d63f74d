//! Data transfer of one association: paths, policies, sender, receiver. What does a SACK, a timer or a packet change?
//!
//! One event changes several of these: a SACK changes the window of a path, its timers and the scoreboard. So one object,
//! [`Transfer`], owns them. It does not know the association (state, peer, control chunks, addresses, authentication, events); its
//! methods return what is to be done there as [`Effects`]. Each file is one mechanism:
//!
//! | file | mechanism |
//! |---|---|
//! | `ack` | what a SACK changes (RFC 9260 §6.2.1) |
//! | `truncated_sack` | what a SACK shows that has no room for its gap ack blocks |
//! | `loss` | lost chunks and fast recovery (§7.2.4) |
//! | `t3` | the retransmission timer (§6.3.3) |
//! | `forward` | abandoned messages and FORWARD TSN (RFC 3758) |
//! | `failure` | path failure detection (§8.1, §8.2; RFC 7829) |
//! | `heartbeat` | heartbeats (§5.4, §8.3) |
//! | `probing` | probes of paths that do not respond, while data waits |
//! | `progress` | whether data gets through to a peer that answers |
//! | `pmtu` | path MTU discovery (RFC 8899) |
//! | `receive` | received data, and SACKs (§6.2) |
//! | `ecn` | marks of routers (RFC 4960 Appendix A) |
//! | `reverse_path` | path of SACKs, and whether they arrive (§6.4) |
//! | `zero_window` | zero window probes (§6.1 A) |
//! | `sendable` | how much each path may send now (§6.1 B) |
//! | `plan` | which data is sent next, and on which path |
//! | `split` | chunks larger than the path MTU, in parts |
//! | `write` | writing of that data, chunk by chunk |
//! | `early` | data with the COOKIE ECHO (§5.1) |
//! | `reschedule` | chunk rescheduling when buffers are blocked |
//! | `duplicate` | duplicates on several paths |
//! | `timers` | deadlines and expiry of timers |

mod ack;
mod duplicate;
mod early;
mod ecn;
mod effects;
mod failure;
mod forward;
mod heartbeat;
mod invariants;
mod loss;
mod paths;
mod plan;
mod pmtu;
mod preference;
mod probing;
mod progress;
mod receive;
mod reconfig;
mod reschedule;
mod reverse_path;
mod sendable;
mod split;
mod t3;
mod timers;
mod truncated_sack;
mod write;
mod zero_window;

use alloc::boxed::Box;
use alloc::sync::Arc;

use anabranch_policy::{LossEvent, PathFacts, PolicySet, TailProbe};
use anabranch_types::{Instant, IntervalSet, PathId, Tsn};

pub(crate) use self::effects::Effects;
pub(crate) use self::heartbeat::HEARTBEAT_LEN;
pub(crate) use self::plan::{Batch, DataPlan};

use self::forward::Forwarding;
use self::progress::Stall;
use self::split::Splitting;
use self::zero_window::WindowProbe;
use crate::config::AssociationConfig;
use crate::on_demand::{Idle, OnDemand};
use crate::path::{Marks, PathSet, ProbeBudget};
use crate::recv::{Parts, Receiver, ReceiverConfig};
use crate::secrets::Secrets;
use crate::send::{SackWindow, Sender, SenderConfig};

/// Data transfer of one association.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) paths: PathSet,
    pub(crate) policies: PolicySet,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Incomplete chunks of the peer, received in parts.
    parts: OnDemand<Parts>,
    /// Chunks that are being sent in parts.
    splitting: OnDemand<Splitting>,
    config: Arc<AssociationConfig>,
    /// Consecutive errors on all paths together (RFC 9260 §8.1).
    pub(crate) errors: u16,
    window_probe: WindowProbe,
    stall: Option<Box<Stall>>,
    forwarding: OnDemand<Forwarding>,
    probe_budget: OnDemand<ProbeBudget>,
    /// Whether SHUTDOWN or SHUTDOWN ACK was sent, which ends heartbeats on confirmed paths (RFC 9260 §8.3).
    is_finishing: bool,
    /// Time at which the path scheduler is called again.
    scheduler_wakes: Option<Instant>,
    /// What the congestion control is to be told about queues.
    low_latency: Option<bool>,
    /// Random numbers for nonces and jitter of heartbeats.
    secrets: Secrets,
    /// Number of reachability probes sent, whose nonces are derived from `secrets`.
    probes_sent: u64,
    /// Whether the flags of SACKs hold the number of packets that they acknowledge.
    packet_counts: bool,
    /// Whether SACKs report a selection of the received TSNs if not all fit.
    selected_gaps: bool,
    /// See [`Transfer::splits_chunks`].
    splits_chunks: bool,
    pub(crate) marks: Marks,
    /// Sets whose memory the next SACK reuses.
    sack_scratch: Option<Box<[IntervalSet; 2]>>,
    pub(crate) counters: OnDemand<SackCounters>,
}

/// Counters of SACKs in both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackCounters {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) chunks_reneged: u64,
}

impl Idle for SackCounters {
    const IDLE: &'static Self = &Self {
        received: 0,
        sent: 0,
        chunks_reneged: 0,
    };

    fn is_idle(&self) -> bool {
        self.received == 0 && self.sent == 0
    }
}

/// The initial TSNs of both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialTsns {
    pub(crate) local: Tsn,
    pub(crate) peer: Tsn,
}

/// Parameters of data transfer that the handshake negotiates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Negotiated {
    /// Outbound streams that the peer accepts.
    pub(crate) outbound_streams: u16,
    /// The peer's receive window in bytes.
    pub(crate) peer_window: u32,
    /// Whether messages may be interleaved (I-DATA).
    pub(crate) interleaving: bool,
    /// Whether messages may be abandoned (FORWARD TSN).
    pub(crate) partial_reliability: bool,
    /// Whether SACKs report how many packets they acknowledge.
    pub(crate) packet_counts: bool,
    /// Whether SACKs report a selection of the received TSNs if not all fit, so that what was reported stays acknowledged.
    pub(crate) selected_gaps: bool,
    /// Whether a chunk may be sent in parts (PART).
    pub(crate) splits_chunks: bool,
}

impl Transfer {
    /// Creates data transfer without any paths.
    pub(crate) fn new(config: Arc<AssociationConfig>, initial: InitialTsns, secrets: Secrets) -> Self {
        Self {
            paths: PathSet::default(),
            policies: config.build_policies(),
            sender: Sender::new(SenderConfig {
                initial_tsn: initial.local,
                buffer: config.send_buffer,
                max_message: config.max_message,
                outbound_streams: config.wanted_streams(),
                peer_window: 0,
                sack_handling: config.policies.sack_handling,
                sack_walks: config.sack_walks,
                sack_window: SackWindow::new(config.policies.sack_window),
            }),
            receiver: Receiver::new(ReceiverConfig {
                initial_tsn: initial.peer,
                buffer: config.advertised_buffer(),
                max_message: config.max_message,
                whole: config.longest_whole(),
                inbound_streams: config.allowed_streams(),
                interleaving: false,
            })
            .with_nr_sack(config.policies.nr_sack),
            parts: OnDemand::default(),
            splitting: OnDemand::default(),
            errors: 0,
            window_probe: WindowProbe::default(),
            stall: None,
            forwarding: OnDemand::IDLE,
            probe_budget: OnDemand::IDLE,
            is_finishing: false,
            scheduler_wakes: None,
            low_latency: None,
            secrets,
            probes_sent: 0,
            packet_counts: false,
            selected_gaps: false,
            splits_chunks: false,
            marks: Marks::default(),
            sack_scratch: None,
            counters: OnDemand::IDLE,
            config,
        }
    }

    /// Continues with a configuration whose protocol parameters have changed.
    pub(crate) fn configure(&mut self, config: Arc<AssociationConfig>) {
        self.paths.set_rto_limits(config.rto());
        self.config = config;
    }

    /// Secrets for the new association after a restart of the peer.
    pub(crate) fn split_secrets(&mut self) -> Secrets {
        self.secrets.split()
    }

    /// Applies what the handshake negotiated. Returns the number of queued messages that were dropped, because the peer does
    /// not accept their streams.
    pub(crate) fn negotiated(&mut self, negotiated: Negotiated) -> u64 {
        let Negotiated {
            outbound_streams,
            peer_window,
            interleaving,
            partial_reliability,
            packet_counts,
            selected_gaps,
            splits_chunks,
        } = negotiated;
        self.packet_counts = packet_counts;
        self.selected_gaps = selected_gaps;
        self.splits_chunks = splits_chunks;
        let scheduler = &mut *self.policies.stream_scheduler;
        let refused = self
            .sender
            .negotiated(outbound_streams, peer_window, interleaving, scheduler);
        self.sender.negotiate_reliability(partial_reliability);
        self.sender.expect_selected_gaps(selected_gaps);
        refused.len() as u64
    }

    /// Stops all timers, because the association has ended.
    pub(crate) fn stop(&mut self) {
        for id in self.paths.ids() {
            let path = self.paths.path_mut(id);
            path.heartbeat = crate::path::Heartbeat::default();
            path.mtu = None;
            if let Some(sending) = path.sending.active_mut() {
                sending.t3.stop();
                sending.release_at = None;
                sending.blocked_until = None;
            }
        }
        self.scheduler_wakes = None;
        self.forwarding = OnDemand::IDLE;
        self.receiver.free_undeliverable();
    }

    /// Releases the memory of empty buffers and stopped timers. To be called when all data is acknowledged.
    pub(crate) fn release_memory(&mut self, now: Instant) {
        self.paths.release_memory();
        self.sender.release_memory();
        self.receiver.release_memory(now);
        self.sack_scratch = None;
    }

    /// Notes a packet that arrived over `path`, which is a transmission opportunity whatever it contains.
    pub(crate) fn packet_received(&mut self, path: PathId, length: usize) {
        let counters = &mut self.paths.path_mut(path).counters;
        counters.packets_received += 1;
        counters.bytes_received += length as u64;
        self.policies.burst.on_transmission_opportunity();
    }

    /// Notes that a packet of `length` bytes is sent on `path`.
    pub(crate) fn packet_sent(&mut self, path: PathId, length: usize, now: Instant) {
        let bytes = length as u64 + u64::from(self.paths.reserved());
        self.paths.fact_mut(path).last_sent = Some(now);
        let machinery = self.paths.path_mut(path);
        if let Some(preferred) = &mut machinery.preferred {
            preferred.sent(bytes, now);
        }
        let counters = &mut machinery.counters;
        counters.packets_sent += 1;
        counters.bytes_sent += bytes;
    }

    /// See [`crate::DeliverySettings::set_low_latency`].
    pub(crate) const fn set_low_latency(&mut self, low_latency: bool) {
        self.low_latency = Some(low_latency);
    }

    /// Tells the congestion control what has been set.
    #[cold]
    fn apply_low_latency(&mut self, low_latency: bool, now: Instant) {
        let facts = self.paths.facts();
        self.policies.congestion.set_low_latency(low_latency, facts, now);
        self.publish_windows();
    }

    /// Copies the windows of the congestion control into the facts, where the other policies see them.
    fn publish_windows(&mut self) {
        self.policies.measures_rates = self.policies.congestion.measures_rates();
        for id in self.paths.ids() {
            let cwnd = self.policies.congestion.cwnd(id);
            let ssthresh = self.policies.congestion.ssthresh(id);
            let measures_rates = self.policies.measures_rates;
            let pacing_rate = measures_rates.then(|| self.policies.congestion.pacing_rate(id));
            let (facts, path) = self.paths.both_mut(id);
            let limit = path.preference().limit;
            facts.cwnd = cwnd;
            facts.ssthresh = ssthresh;
            facts.pacing_rate = [pacing_rate.flatten(), limit].into_iter().flatten().min();
        }
    }

    /// Notifies the policies of a loss on one path.
    fn tell_loss(&mut self, loss: &LossEvent, now: Instant) {
        let facts = self.paths.facts();
        if self.policies.shared_bottleneck.detects() {
            self.policies.shared_bottleneck.on_loss(loss, facts, now);
        }
        self.policies.congestion.on_loss(loss, facts, now);
        self.policies.path_scheduler.on_loss(loss, facts, now);
    }

    /// Brings facts and timers of all paths up to date with the sender.
    fn publish(&mut self, now: Instant) {
        self.publish_windows();
        for path in self.paths.ids() {
            self.follow_path(path, now);
        }
    }

    /// Brings facts and timers of `path` up to date with the sender.
    fn follow_path(&mut self, path: PathId, now: Instant) {
        let (facts, machinery) = self.paths.both_mut(path);
        facts.in_flight = self.sender.pipe(path);
        facts.queued = self.sender.queued(path);
        let oldest = self.sender.earliest_outstanding(path);
        if oldest.is_none() && machinery.sending.active().is_none() {
            return;
        }
        let last = machinery.data_sent_at.max(machinery.acked_at);
        let sending = machinery.sending.make_mut();
        sending.t3.follow(oldest, facts.rto(), now);
        let probe_at = tail_probe_at(facts, last, sending.t3.expires(), &*self.policies.tail_probe);
        sending.tail_probe.follow(probe_at);
    }
}

/// Copies the groups of paths that share a bottleneck into the facts, and notifies the congestion control.
fn follow_bottlenecks(paths: &mut PathSet, policies: &mut PolicySet) {
    for id in paths.ids() {
        paths.fact_mut(id).bottleneck = policies.shared_bottleneck.group(id);
    }
    policies.congestion.on_bottlenecks(paths.facts());
}

/// The time of the tail loss probe: some time after `last`, the last transmission or acknowledgement, unless recovery or T3 comes
/// first (RFC 8985 §7.2).
fn tail_probe_at(
    facts: &PathFacts,
    last: Option<Instant>,
    t3: Option<Instant>,
    policy: &dyn TailProbe,
) -> Option<Instant> {
    if facts.in_flight == 0 || facts.in_recovery {
        return None;
    }
    let at = last? + policy.probe_after(facts)?;
    t3.is_some_and(|expires| at < expires).then_some(at)
}
