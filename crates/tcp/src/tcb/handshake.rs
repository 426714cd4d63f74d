//! Three-way handshake: SYN, SYN-ACK, ACK (RFC 9293 §3.5), and the options negotiated with them.

use anabranch_policy::Reachability;
use anabranch_types::{Instant, PathId};

use super::timestamps::TimestampClock;
use super::{CloseReason, Context, Control, ControlBlock, Effects, MIN_MSS, State};
use crate::TcpConfig;
use crate::buffer::Reassembly;
use crate::sequence::InitialSequenceNumber;
use crate::sequence::SequenceNumber;
use crate::wire::{Kind, Options, Segment, Timestamps};

/// Parameters of a new control block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenParameters {
    pub(crate) id: PathId,
    /// Our initial sequence number.
    pub(crate) iss: SequenceNumber,
    /// Largest payload that we accept.
    pub(crate) mss: u16,
    /// Option space that any data segment may need, in addition to timestamps.
    pub(crate) reserved: u16,
}

impl ControlBlock {
    /// Creates a control block that sends the first SYN.
    pub(crate) fn connect(parameters: OpenParameters, config: &TcpConfig) -> Self {
        let mut tcb = Self::new(parameters, State::SynSent, config);
        tcb.control = Some(Control::Syn);
        tcb
    }

    /// Creates a control block that answers `syn`.
    pub(crate) fn accept(parameters: OpenParameters, syn: &Segment<'_>, config: &TcpConfig) -> Self {
        let mut tcb = Self::new(parameters, State::SynReceived, config);
        tcb.agree(syn, config);
        tcb.control = Some(Control::Syn);
        tcb
    }

    /// The options of our SYN or SYN-ACK. A SYN-ACK offers only what the peer has offered.
    pub(super) fn add_syn_options(&self, options: &mut Options, now: Instant, config: &TcpConfig) {
        let resets = self.state == State::SynReceived;
        let timestamps = match self.agreed.timestamp_clock {
            Some(timestamp_clock) => Some(timestamp_clock.now(now)),
            None if resets || !config.timestamps => None,
            None => Some(Timestamps {
                value: TimestampClock::value(self.local.0.0, now),
                echo: 0,
            }),
        };
        let scales = if resets {
            self.scales
        } else {
            config.window_scaling
        };
        options.mss = Some(self.own_mss);
        options.window_scale = scales.then_some(self.own_window.scale());
        options.sack_permitted = config.sack && (!resets || self.agreed.sack);
        options.timestamps = timestamps;
    }

    /// Processes the options of the peer's SYN.
    fn agree(&mut self, syn: &Segment<'_>, config: &TcpConfig) {
        let Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            ..
        } = syn.options;
        self.remote = InitialSequenceNumber(syn.sequence);
        self.reassembly = Reassembly::new(1);
        let theirs = mss.unwrap_or(super::DEFAULT_MSS).max(MIN_MSS);
        self.agreed.mss = self.agreed.mss.min(theirs);
        self.agreed.sack = sack_permitted && config.sack;
        self.agreed.timestamp_clock = timestamps
            .filter(|_| config.timestamps)
            .map(|timestamps| TimestampClock::new(self.local.0.0, timestamps.value));
        match window_scale.filter(|_| config.window_scaling) {
            Some(scale) => {
                self.scales = true;
                self.peer_window = super::PeerWindow::new(scale);
            }
            None => self.own_window.unscale(),
        }
        self.peer_window.begin(0, 0, syn.window);
    }

    /// RTT sample from the handshake, if there is one.
    fn measure_opening(&mut self, segment: &Segment<'_>, now: Instant) {
        // Karn's rule: a SYN that was sent twice gives no RTT sample, unless a timestamp identifies the transmission that was
        // answered (RFC 7323 §4). With a timestamp, a long queue is not mistaken for a loss of the following segments.
        let echoed = || {
            let timestamp_clock = self.agreed.timestamp_clock?;
            timestamp_clock.sent_at(segment.options.timestamps?, now)
        };
        let sent_at = if self.timers.tries == 0 {
            self.last_sent
        } else {
            echoed()
        };
        if let Some(sent_at) = sent_at {
            self.rtt.on_sample(sent_at, now);
        }
    }

    /// Whether `segment` acknowledges our SYN exactly, which requires having seen it.
    pub(crate) fn is_answered_by(&self, segment: &Segment<'_>) -> bool {
        segment.acknowledgement == Some(self.local.wire(1))
    }

    /// The SYN was sent: sets its retransmission timer.
    pub(super) fn on_syn_sent(&mut self, now: Instant, config: &TcpConfig) {
        let wait = config.syn_timeout * 2_u32.pow(u32::from(self.timers.tries.min(10)));
        self.timers.half_open = Some(now + wait);
        self.last_sent = Some(now);
    }

    /// Processes a segment in SYN-SENT (RFC 9293 §3.10.7.3). Returns whether it must be answered by a reset.
    pub(super) fn on_answer(
        &mut self,
        segment: &Segment<'_>,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> bool {
        let ours = self.local.wire(1);
        let acknowledged = segment.acknowledgement.map(|ack| ack == ours);
        match (segment.kind, acknowledged) {
            (Kind::Reset, Some(true)) => self.end(CloseReason::Refused, effects),
            (Kind::Reset, _) => {}
            (_, Some(false)) => return true,
            (Kind::Syn, Some(true)) => {
                effects.accepted = true;
                self.agree(segment, context.config);
                self.acks.now(context.now);
                self.open(segment, context, effects);
            }
            // Simultaneous open: the SYN is answered by a SYN-ACK.
            (Kind::Syn, None) => {
                self.agree(segment, context.config);
                self.state = State::SynReceived;
                self.control = Some(Control::Syn);
            }
            _ => {}
        }
        false
    }

    /// Enters ESTABLISHED: our SYN is acknowledged by `segment`, and the peer's SYN was received.
    pub(super) fn open(&mut self, segment: &Segment<'_>, context: &mut Context<'_>, effects: &mut Effects) {
        self.state = State::Established;
        self.control = None;
        self.timers.half_open = None;
        self.measure_opening(segment, context.now);
        let syns_lost = u64::from(core::mem::take(&mut self.timers.tries));
        let segment = self.effective_mss() as u16;
        let facts = self.facts(context);
        facts.reachability = Reachability::Active;
        facts.lost_chunks += syns_lost;
        facts.max_data_chunk = segment;
        facts.max_packet = segment + super::HEADER as u16;
        let facts = facts.clone();
        context.policies.add_path(&facts, context.now);
        self.refresh(context);
        effects.opened = true;
    }
}
