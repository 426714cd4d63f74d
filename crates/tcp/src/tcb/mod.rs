//! Transmission control block (TCB, RFC 9293 §3.3.1): one sequence space, of a TCP connection or of an MPTCP subflow.
//!
//! A connection knows no application and no endpoint. It is told of segments and moments, and asked what it wants to send;
//! bytes come from the connection's send buffer and go to its reader.

mod ack_schedule;
mod handshake;
mod input;
mod output;
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

/// Space of the two timestamps in each segment, padding included.
const TIMESTAMPS: u16 = 12;
/// Send MSS toward an IPv4 peer that announced none (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Nobody gains by segments smaller than this, but an attacker might.
const MIN_MSS: u16 = 64;

/// What the connection works with, for the time of one call.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) config: &'a TcpConfig,
    pub(crate) policies: &'a mut PolicySet,
    /// What is known of each connection of the connection.
    pub(crate) facts: &'a mut [PathFacts],
}

/// What the two ends agreed on with their SYNs.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    /// Largest payload of our segments, options other than timestamps not counted.
    mss: u16,
    sack: bool,
    timestamp_clock: Option<TimestampClock>,
}

/// One TCP connection.
#[derive(Debug)]
pub(crate) struct ControlBlock {
    id: PathId,
    state: State,
    /// Largest payload that we take.
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
    /// Where the peer's FIN is, once it was seen.
    peer_fin: Option<u64>,
    acks: AckSchedule,
    timers: Timers,
    /// Both ends scale their windows.
    scales: bool,
    /// Room for options that any segment with data may have, beside timestamps.
    reserved: u16,
    /// When the last data left.
    last_sent: Option<Instant>,
    /// When what may have been forged was last answered.
    challenged_at: Option<Instant>,
    /// A SYN, SYN-ACK or probe of the window is to leave.
    control: Option<Control>,
    counters: TcpCounters,
}

/// What leaves apart from data and acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Control {
    /// SYN or SYN-ACK, as the state says.
    Syn,
    /// A segment that the peer must answer, and so tells its window.
    WindowProbe,
}

/// What a connection counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpCounters {
    /// Segments sent, those without data included.
    pub segments_sent: u64,
    /// Segments received that belonged to the connection.
    pub segments_received: u64,
    /// Bytes sent for the first time.
    pub bytes_sent: u64,
    /// Bytes sent again.
    pub bytes_retransmitted: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Segments found lost because later ones arrived.
    pub found_lost: u64,
    /// Fast recoveries that began.
    pub fast_recoveries: u64,
    /// Times the retransmission timer expired.
    pub timeouts: u64,
    /// Payload received, what was there already included.
    pub bytes_received: u64,
    /// Payload received that was there already.
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

/// What a segment or a moment changed, for the connection to act upon.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The segment is what the peer would have said; anything else in it may be believed too.
    pub(crate) accepted: bool,
    /// The retransmission timer expired.
    pub(crate) timeout: bool,
    /// Both ends have agreed to begin.
    pub(crate) opened: bool,
    /// Bytes that can be read now, in order.
    pub(crate) ready: Vec<(u64, Bytes)>,
    /// The peer has sent everything, and all of it is here.
    pub(crate) peer_finished: bool,
    /// Payload that was acknowledged and leaves the send buffer.
    pub(crate) freed: u64,
    /// The connection is over.
    pub(crate) closed: Option<CloseReason>,
}

/// Why a connection is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CloseReason {
    /// Both directions were ended in order.
    Finished,
    /// The peer aborted it.
    Reset,
    /// The peer does not want it: there is no listener.
    Refused,
    /// The peer answered nothing for too long.
    TimedOut,
    /// This side aborted it.
    Aborted,
    /// The peer, or somebody on the way, does not speak Multipath TCP, and this side does not go on without (RFC 8684
    /// §3.7).
    NoMptcp,
    /// The peer contradicted itself in what it said of the data.
    Violation,
}

impl ControlBlock {
    /// A connection in `state`, before anything is known of the peer.
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

    /// Bytes that arrived and wait for what is missing before them.
    pub(crate) const fn out_of_order_bytes(&self) -> u64 {
        self.reassembly.beyond_bytes()
    }

    /// Largest payload of a segment that has only the options of every segment.
    pub(crate) const fn effective_mss(&self) -> u64 {
        let options = if self.agreed.timestamp_clock.is_some() {
            TIMESTAMPS
        } else {
            0
        };
        (self.agreed.mss - options - self.reserved) as u64
    }

    /// Payload that fits a packet of `mtu` bytes with headers and without options: what the MSS option says (RFC 6691).
    pub(crate) fn mss_for(mtu: u16, is_ipv4: bool) -> u16 {
        let ip = if is_ipv4 { 20 } else { 40 };
        mtu.saturating_sub(HEADER as u16 + ip).max(MIN_MSS)
    }

    fn facts<'a>(&self, context: &'a mut Context<'_>) -> &'a mut PathFacts {
        &mut context.facts[self.id.index()]
    }

    /// The facts follow what the connection and the congestion control know.
    fn refresh(&self, context: &mut Context<'_>) {
        let window = context.policies.congestion.cwnd(self.id);
        let threshold = context.policies.congestion.ssthresh(self.id);
        let facts = self.facts(context);
        facts.cwnd = window;
        facts.ssthresh = threshold;
        facts.in_flight = self.in_flight();
        facts.queued = self.scoreboard.held();
        facts.in_recovery = self.recovery.is_fast();
        facts.srtt = self.rtt.smoothed();
        facts.rttvar = self.rtt.variation();
        facts.min_rtt = self.rtt.smallest();
        facts.rto = self.rtt.rto();
        facts.last_sent = self.last_sent;
    }

    /// Numbers believed to be on their way. Without SACK each duplicate acknowledgement stands for a segment that has
    /// arrived (RFC 5681 §3.2).
    fn in_flight(&self) -> u64 {
        let arrived = match self.agreed.sack {
            true => 0,
            false => self.recovery.duplicates() * self.effective_mss(),
        };
        self.scoreboard.in_flight().saturating_sub(arrived)
    }

    /// Whether windows are those of a connection with several subflows. Only such subflows need room for what that takes.
    const fn shares_window(&self) -> bool {
        self.reserved > 0
    }

    /// An acknowledgement leaves at once.
    pub(crate) const fn acknowledge_at_once(&mut self, now: Instant) {
        self.acks.now(now);
    }

    /// Where the data of a connection is that was sent and not acknowledged cumulatively on this connection.
    pub(crate) fn data_in_flight(&self) -> impl Iterator<Item = core::ops::Range<u64>> + '_ {
        self.scoreboard.data()
    }

    /// The next number that the peer is expected to send.
    pub(crate) const fn expected(&self) -> u64 {
        self.reassembly.next()
    }

    /// By how many bits our windows are shifted.
    pub(crate) const fn own_scale(&self) -> u8 {
        self.own_window.scale()
    }

    /// What the window field of `segment` stands for; that of a SYN is never scaled (RFC 7323 §2.2).
    pub(crate) fn offered(&self, segment: &crate::wire::Segment<'_>) -> u64 {
        match segment.kind {
            crate::wire::Kind::Syn => u64::from(segment.window),
            _ => self.peer_window.scaled(segment.window),
        }
    }

    /// Takes numbers as far as a receive buffer reaches, whatever was told of a window that several subflows share.
    pub(crate) fn open_window_by_buffer(&mut self) {
        let edge = self.reassembly.next() + self.own_window.capacity();
        self.own_window.open_to(edge);
    }

    /// The connection ends here and now; nothing more is sent or expected.
    pub(crate) fn forget(&mut self) {
        self.state = State::Closed;
        self.timers = Timers::default();
        self.control = None;
        self.acks.on_sent();
    }
}
