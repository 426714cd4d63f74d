//! Transmission control block (TCB, RFC 9293 §3.3.1): one sequence space, of a TCP connection or of an MPTCP subflow.
//!
//! A control block does not know the application or the endpoint. It is given segments and timer expiries, and polled for
//! segments to send; data comes from the connection's send buffer and goes to its receive queue.

mod ack_schedule;
mod handshake;
mod input;
mod output;
mod rates;
mod recovery;
mod scoreboard;
mod sent_segment;
mod state;
mod timers;
mod timestamps;
mod window;

use alloc::vec::Vec;
use core::ops::AddAssign;

use anabranch_policy::{PathFacts, PolicySet, RttEstimator};
use anabranch_types::{Instant, PathId};
use bytes::Bytes;

use ack_schedule::AckSchedule;
pub(crate) use handshake::OpenParameters;
pub(crate) use output::{Demand, HeaderFields, OutgoingSegment};
use recovery::Recovery;
use scoreboard::Scoreboard;
pub(crate) use sent_segment::Payload;
pub use state::State;
use timers::Timers;
use timestamps::TimestampClock;
pub(crate) use window::OwnWindow;
use window::PeerWindow;

use crate::TcpConfig;
use crate::buffer::Reassembly;
use crate::sequence::InitialSequenceNumber;
use crate::sequence::SequenceNumber;
use crate::wire::HEADER;

/// Space of the timestamps option in each segment, including padding.
const TIMESTAMPS: u16 = 12;
/// Send MSS toward an IPv4 peer that announced none (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Minimum send MSS: smaller segments help nobody but an attacker.
const MIN_MSS: u16 = 64;

/// Context of one call.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) config: &'a TcpConfig,
    pub(crate) policies: &'a mut PolicySet,
    /// Path state of each control block of the connection.
    pub(crate) facts: &'a mut [PathFacts],
}

/// Options negotiated with the SYNs.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    /// Largest payload of our segments, before options other than timestamps are deducted.
    mss: u16,
    sack: bool,
    timestamp_clock: Option<TimestampClock>,
}

/// Transmission control block of one TCP connection or subflow.
#[derive(Debug)]
pub(crate) struct ControlBlock {
    id: PathId,
    state: State,
    /// Largest payload that we accept.
    own_mss: u16,
    local: InitialSequenceNumber,
    remote: InitialSequenceNumber,
    agreed: Agreed,
    scoreboard: Scoreboard,
    peer_window: PeerWindow,
    own_window: OwnWindow,
    rtt: RttEstimator,
    recovery: Recovery,
    reassembly: Reassembly,
    /// Position of the peer's FIN, once it was received.
    peer_fin: Option<u64>,
    acks: AckSchedule,
    timers: Timers,
    /// Window scaling was negotiated.
    scales: bool,
    /// Option space that any data segment may need, in addition to timestamps.
    reserved: u16,
    /// When data was last sent.
    last_sent: Option<Instant>,
    /// When the last challenge ACK was sent.
    challenged_at: Option<Instant>,
    /// A SYN, SYN-ACK or window probe is to be sent.
    control: Option<Control>,
    counters: TcpCounters,
}

/// Control segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Control {
    /// SYN or SYN-ACK, depending on the state.
    Syn,
    /// Window probe: a segment that the peer must answer with its window.
    WindowProbe,
}

/// Counters of a control block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpCounters {
    /// Segments sent, including those without data.
    pub segments_sent: u64,
    /// Segments received that belonged to the connection.
    pub segments_received: u64,
    /// Bytes sent for the first time.
    pub bytes_sent: u64,
    /// Bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Segments declared lost because later ones were acknowledged.
    pub found_lost: u64,
    /// Fast recoveries started.
    pub fast_recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Payload bytes received, including duplicates.
    pub bytes_received: u64,
    /// Duplicate payload bytes received.
    pub duplicate_bytes: u64,
}

impl AddAssign for TcpCounters {
    fn add_assign(&mut self, other: Self) {
        self.segments_sent += other.segments_sent;
        self.segments_received += other.segments_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_retransmitted += other.bytes_retransmitted;
        self.retransmissions += other.retransmissions;
        self.found_lost += other.found_lost;
        self.fast_recoveries += other.fast_recoveries;
        self.timeouts += other.timeouts;
        self.bytes_received += other.bytes_received;
        self.duplicate_bytes += other.duplicate_bytes;
    }
}

/// Results of a segment or timer expiry that the connection must act on.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The segment is acceptable, so its other contents may be used too.
    pub(crate) accepted: bool,
    /// The retransmission timer expired.
    pub(crate) timeout: bool,
    /// The connection is established.
    pub(crate) opened: bool,
    /// Bytes that became readable, in order.
    pub(crate) ready: Vec<(u64, Bytes)>,
    /// The peer has closed its direction, and everything has arrived.
    pub(crate) peer_finished: bool,
    /// Acknowledged payload, to be released from the send buffer.
    pub(crate) freed: u64,
    /// The connection is closed.
    pub(crate) closed: Option<CloseReason>,
}

/// Reason for the close of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CloseReason {
    /// Both directions were closed normally.
    Finished,
    /// The peer reset the connection.
    Reset,
    /// The peer refused the connection: there is no listener.
    Refused,
    /// Timeout: the peer did not answer for too long.
    TimedOut,
    /// This side aborted the connection.
    Aborted,
    /// The peer or a middlebox does not support Multipath TCP, and this side does not fall back to TCP (RFC 8684 §3.7).
    NoMptcp,
    /// The peer sent contradictory mappings or DATA_FINs.
    Violation,
}

impl ControlBlock {
    /// Creates a control block in `state`, before anything is known of the peer.
    fn new(parameters: OpenParameters, state: State, config: &TcpConfig) -> Self {
        let agreed = Agreed {
            mss: parameters.mss,
            sack: false,
            timestamp_clock: None,
        };
        Self {
            id: parameters.id,
            state,
            own_mss: parameters.mss,
            local: InitialSequenceNumber(parameters.iss),
            remote: InitialSequenceNumber(SequenceNumber::default()),
            agreed,
            scoreboard: Scoreboard::new(1, config.nr_sack),
            peer_window: PeerWindow::new(0),
            own_window: OwnWindow::new(config.receive_buffer, config.window_scaling),
            rtt: RttEstimator::new(config.rto()),
            recovery: Recovery::default(),
            reassembly: Reassembly::new(0),
            peer_fin: None,
            acks: AckSchedule::new(config.quick_acks),
            timers: Timers::default(),
            scales: false,
            reserved: parameters.reserved,
            last_sent: None,
            challenged_at: None,
            control: None,
            counters: TcpCounters::default(),
        }
    }

    pub(crate) const fn state(&self) -> State {
        self.state
    }

    pub(crate) const fn counters(&self) -> &TcpCounters {
        &self.counters
    }

    /// Bytes received that wait for a gap before them.
    pub(crate) const fn out_of_order_bytes(&self) -> u64 {
        self.reassembly.beyond_bytes()
    }

    /// Largest payload of a segment that has only the options common to all segments.
    pub(crate) const fn effective_mss(&self) -> u64 {
        let options = if self.agreed.timestamp_clock.is_some() {
            TIMESTAMPS
        } else {
            0
        };
        (self.agreed.mss - options - self.reserved) as u64
    }

    /// Payload that fits a packet of `mtu` bytes with headers and without options: the value of the MSS option (RFC 6691).
    pub(crate) fn mss_for(mtu: u16, is_ipv4: bool) -> u16 {
        let ip = if is_ipv4 { 20 } else { 40 };
        mtu.saturating_sub(HEADER as u16 + ip).max(MIN_MSS)
    }

    fn facts<'a>(&self, context: &'a mut Context<'_>) -> &'a mut PathFacts {
        &mut context.facts[self.id.index()]
    }

    /// Updates the path state from the control block and the congestion controller.
    fn refresh(&self, context: &mut Context<'_>) {
        let window = context.policies.congestion.cwnd(self.id);
        let threshold = context.policies.congestion.ssthresh(self.id);
        context.policies.measures_rates = context.policies.congestion.measures_rates();
        let pacing_rate = match context.policies.measures_rates {
            true => context.policies.congestion.pacing_rate(self.id),
            false => None,
        };
        let facts = self.facts(context);
        facts.pacing_rate = pacing_rate;
        facts.cwnd = window;
        facts.ssthresh = threshold;
        facts.in_flight = self.in_flight();
        facts.queued = self.scoreboard.held();
        facts.in_recovery = self.recovery.is_fast();
        facts.rtt.clone_from(&self.rtt);
        facts.last_sent = self.last_sent;
    }

    /// Sequence numbers in flight. Without SACK, each duplicate acknowledgement stands for a segment that has arrived (RFC 5681
    /// §3.2).
    fn in_flight(&self) -> u64 {
        let arrived = match self.agreed.sack {
            true => 0,
            false => self.recovery.duplicates() * self.effective_mss(),
        };
        self.scoreboard.in_flight().saturating_sub(arrived)
    }

    /// Whether this is a subflow of Multipath TCP. Only subflows reserve space for MPTCP options.
    const fn shares_window(&self) -> bool {
        self.reserved > 0
    }

    /// Requests an immediate acknowledgement.
    pub(crate) const fn acknowledge_at_once(&mut self, now: Instant) {
        self.acks.now(now);
    }

    /// Data positions of the data sent on this subflow and not acknowledged cumulatively.
    pub(crate) fn data_in_flight(&self) -> impl Iterator<Item = core::ops::Range<u64>> + '_ {
        self.scoreboard.data()
    }

    /// The next sequence number expected from the peer (RCV.NXT).
    pub(crate) const fn expected(&self) -> u64 {
        self.reassembly.next()
    }

    /// Window scale shift of our windows.
    pub(crate) const fn own_scale(&self) -> u8 {
        self.own_window.scale()
    }

    /// The send window of `segment` in bytes; that of a SYN is never scaled (RFC 7323 §2.2).
    pub(crate) fn offered(&self, segment: &crate::wire::Segment<'_>) -> u64 {
        match segment.kind {
            crate::wire::Kind::Syn => u64::from(segment.window),
            _ => self.peer_window.scaled(segment.window),
        }
    }

    /// Accepts sequence numbers up to the size of the receive buffer, regardless of the advertised window, which subflows share.
    pub(crate) fn open_window_by_buffer(&mut self) {
        let edge = self.reassembly.next() + self.own_window.capacity();
        self.own_window.open_to(edge);
    }

    /// Closes the connection immediately; nothing more is sent or expected.
    pub(crate) fn forget(&mut self) {
        self.state = State::Closed;
        self.timers = Timers::default();
        self.control = None;
        self.acks.on_sent();
    }
}
