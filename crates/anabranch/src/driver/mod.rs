//! Driver: one task for each endpoint, which carries packets between the core and the sockets.
//!
//! The driver works in rounds: it receives a batch from every socket, passes it to the core and sends what the core has to
//! send, in batches too; then it checks whether handles or the timer brought new work, and sleeps if not.

mod channels;
mod data_channels;
mod flood;
mod follow;
mod idle;
mod inbox;
mod seal;
mod sealed;
mod shared;
mod signals;
mod sockets;
mod streams;

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anabranch_io::{IcmpKind, Incoming, Socket};
use anabranch_proto::{self as proto, Transmit};
pub(crate) use channels::Attempt;
pub(crate) use data_channels::{ChannelParts, DataChannelController, Next as NextMessage, NotSent};
#[cfg(target_os = "linux")]
pub(crate) use follow::follow;
pub(crate) use inbox::Looked;
pub(crate) use seal::Seal;
pub(crate) use shared::{Shared, SharedLimits, State};
pub use signals::Readiness;
pub(crate) use signals::{Signals, until};
pub(crate) use streams::{Receiving, Sending, StreamController};

use anabranch_types::{Instant, earliest};

use crate::observe::{Direction, Observer, tell};
use crate::runtime::{self, Clock, Timer};
use flood::{Staged, is_init};
use seal::Opened;
use sealed::{packets, seal_packets};
use signals::Wakings;
use sockets::SocketQueues;

/// Rounds before other tasks of the thread run. Small: received data is still in the cache when the application reads it,
/// and its memory is free again before the next batch needs some.
const ROUNDS: usize = 2;

/// Batches received per socket and round, up to 64 KiB each.
const RECEIVE_BATCHES: usize = 2;

/// Batches received per socket and round while many INITs arrive: fewer system calls, and one lock of the state for all.
const MAX_RECEIVE_BATCHES: usize = 32;

/// Reads of all sockets during a flood before the received packets are handled.
const FLOOD_READS: usize = 16;

/// Batches sent per round, up to 64 KiB each.
const SEND_BATCHES: usize = 8;

/// Answers to unverified peers sent per round, and INITs handled per round during a flood.
const SEND_REPLIES: usize = 64;

/// Minimum time between two rounds for expired timers while all sockets are full.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// Time without any packet sent after which timers are handled although all sockets are full.
const STUCK_AFTER: Duration = Duration::from_secs(1);

/// The driver task of one endpoint.
#[derive(Debug)]
pub(crate) struct Driver {
    shared: Arc<Shared>,
    queues: SocketQueues,
    timer: Timer,
    incoming: Vec<Incoming>,
    outgoing: Vec<u8>,
    replies: Vec<(Transmit, Vec<u8>)>,
    /// Packets that were opened, below a seal.
    opened: Vec<Opened>,
    /// Packets read during a flood of INITs; `None` if there is no flood.
    flood: Option<Staged>,
    wakings: Wakings,
    observer: Option<Box<dyn Observer>>,
    /// Time since which all sockets have been full and nothing was sent.
    stuck_since: Option<Instant>,
    /// Whether packets of expired timers are accepted although the sockets are full. They are queued up to a limit and
    /// dropped beyond it, like in the queue of an interface. Otherwise timers that start when a packet is sent would never
    /// start again, and an unreachable peer would never be detected.
    may_overflow: bool,
    /// Whether `may_overflow` was set since the sockets became full.
    has_overflowed: bool,
    /// Sockets were added from which nothing was received yet.
    has_new_sockets: bool,
}

/// The next step after a round.
enum Next {
    Round,
    Sleep,
    End,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        sockets: Vec<Arc<dyn Socket>>,
        clock: Clock,
        observer: Option<Box<dyn Observer>>,
    ) -> Self {
        Self {
            shared,
            queues: SocketQueues::new(sockets),
            timer: Timer::new(clock),
            incoming: vec![Incoming::new(); RECEIVE_BATCHES],
            outgoing: Vec::new(),
            replies: Vec::new(),
            opened: Vec::new(),
            flood: None,
            wakings: Wakings::default(),
            observer,
            stuck_since: None,
            may_overflow: false,
            has_overflowed: false,
            has_new_sockets: false,
        }
    }

    /// Passes received packets and ICMP messages to the core; `false` if nothing had arrived.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let is_told = self.receive_icmp(cx);
        let Self {
            shared,
            queues,
            incoming,
            wakings,
            observer,
            flood,
            opened,
            ..
        } = self;
        let width = incoming.len();
        let (mut is_full, mut inits) = (false, 0);
        let received = queues.receive(cx, incoming, |batches| {
            is_full |= batches.len() == width;
            let now = shared.now();
            let news = shared.seal.as_ref().map(|seal| {
                seal.open(now, batches, opened);
                seal.take_news()
            });
            let batches = &*batches;
            // Behind a seal there are no INITs without a handshake.
            inits += if news.is_some() { 0 } else { count_inits(batches) };
            let mut state = shared.lock();
            match news {
                Some(news) => {
                    state.on_news(now, news, wakings);
                    state.handle_opened(now, batches, opened);
                }
                None => state.handle_clear(now, batches),
            }
            let happened = state.collect(wakings);
            let seen = observer.as_ref().map(|_| state.look());
            drop(state);
            if let (Some(observer), Some(seen)) = (observer.as_mut(), seen) {
                let packets = packets(batches, shared.seal.as_ref().map(|_| &opened[..]));
                tell(&mut **observer, (now, Direction::Received), packets, &seen);
            }
            wakings.carry_out();
            shared.tell(happened);
            shared.tell_sealed();
        });
        // Most received packets are INITs, and there are more than one round can handle.
        if !is_full || 2 * inits < width {
            incoming.truncate(RECEIVE_BATCHES);
        } else if width < MAX_RECEIVE_BATCHES {
            incoming.resize_with(2 * width, Incoming::new);
        } else if observer.is_none() {
            *flood = Some(Staged::default());
        }
        received || is_told
    }

    fn receive_icmp(&mut self, cx: &mut Context<'_>) -> bool {
        let messages = self.queues.take_icmp(cx);
        if !messages.is_empty() {
            let now = self.shared.now();
            if let Some(seal) = &self.shared.seal {
                messages.iter().for_each(|message| seal.handle_icmp(now, message));
            }
            let mut state = self.shared.lock();
            for message in &messages {
                state.core.handle_icmp(now, icmp_of(message));
            }
        }
        !messages.is_empty()
    }

    /// Like [`Self::receive`], during a flood of INITs.
    fn receive_flood(&mut self, cx: &mut Context<'_>, mut staged: Staged) -> bool {
        let is_told = self.receive_icmp(cx);
        staged.clear();
        let mut inits = 0;
        for _ in 0..FLOOD_READS {
            let received = self.queues.receive(cx, &mut self.incoming, |batches| {
                inits += count_inits(batches);
                staged.push(batches);
            });
            if !received || staged.is_full() {
                break;
            }
        }
        let now = self.shared.now();
        let mut state = self.shared.lock();
        let mut received = is_told;
        for (path, ecn, datagram) in staged.select(SEND_REPLIES) {
            received = true;
            state.core.handle_datagram(now, path, ecn, datagram);
        }
        let happened = state.collect(&mut self.wakings);
        drop(state);
        self.wakings.carry_out();
        self.shared.tell(happened);
        // The flood is over when one round can answer all INITs.
        self.flood = Some(staged).filter(|_| inits > SEND_REPLIES);
        received
    }

    /// Sends until the core has nothing more to send (`true`), or sockets are full or the budget of the round is used up.
    fn transmit(&mut self) -> bool {
        let may_overflow = mem::take(&mut self.may_overflow);
        for batch in 0..SEND_BATCHES {
            self.outgoing.clear();
            let now = self.shared.now();
            let mut state = self.shared.lock();
            if batch == 0 {
                state.work = false;
                if mem::take(&mut state.sockets_changed) {
                    self.queues.follow(&state.sockets);
                    self.has_new_sockets = true;
                }
                if self.observer.is_none() {
                    state.core.poll_replies(SEND_REPLIES, &mut self.replies);
                }
            }
            if self.queues.are_full() && !may_overflow {
                state.core.list_deadlines();
                return false;
            }
            let max_segments = self.max_segments();
            let transmit = state.core.poll_transmit(now, &mut self.outgoing, max_segments);
            let seen = self.observer.as_ref().map(|_| state.look());
            drop(state);
            for (mut transmit, mut bytes) in self.replies.drain(..) {
                if seal_packets(&self.shared, &mut transmit, &mut bytes) {
                    self.queues.send(&transmit, &bytes);
                }
            }
            if batch == 0 {
                self.transmit_handshakes(now);
            }
            let Some(mut transmit) = transmit else { return true };
            if let (Some(observer), Some(seen)) = (&mut self.observer, seen) {
                let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
                let packets = self
                    .outgoing
                    .chunks(segment)
                    .map(|packet| (transmit.path, packet));
                tell(&mut **observer, (now, Direction::Sent), packets, &seen);
            }
            if seal_packets(&self.shared, &mut transmit, &mut self.outgoing) {
                self.queues.send(&transmit, &self.outgoing);
            }
        }
        false
    }

    /// Checks for a reason not to sleep; without one, registers the task to be woken by whatever brings one.
    fn settle(&mut self, cx: &mut Context<'_>, received: bool, core_is_silent: bool) -> Next {
        self.queues.flush(cx);
        let now = self.shared.now();
        let are_full = self.queues.are_full();
        let stuck_at = self.stuck_at(are_full, now);
        let seal_deadline = self.settle_seal(now);
        let mut state = self.shared.lock();
        let refusing = self.queues.take_refusing();
        let refused = !refusing.is_empty();
        for path in refusing {
            state.core.handle_too_large(now, path, None);
        }
        let due = state.core.poll_timeout().is_some_and(|deadline| deadline <= now);
        if due {
            state.core.handle_timeout(now);
        }
        let idle_deadline = state.end_idle(now, &mut self.wakings);
        // New sockets were not polled yet.
        let has_new_sockets = mem::take(&mut self.has_new_sockets);
        let happened = state.collect(&mut self.wakings);
        // Events since then may require a packet, perhaps the last one.
        let is_silent = core_is_silent && !due && !state.work;
        if is_silent {
            state.tidy_up();
        }
        let is_stuck = stuck_at.is_some_and(|at| at <= now);
        self.may_overflow = is_stuck && (due || !mem::replace(&mut self.has_overflowed, is_stuck));
        let unsent = !core_is_silent && !are_full;
        let next = if self.queues.are_broken() || is_over(&state) && is_silent && self.queues.are_empty() {
            Next::End
        } else if received
            || due && !are_full
            || self.may_overflow
            || refused
            || unsent
            || has_new_sockets
            || state.work && !are_full
        {
            Next::Round
        } else {
            state.driver = Some(cx.waker().clone());
            Next::Sleep
        };
        let deadline = earliest([state.core.poll_timeout(), seal_deadline, idle_deadline]);
        // An overdue deadline stays overdue while nothing can be sent, so it is postponed.
        let deadline = match stuck_at {
            Some(at) => earliest([
                deadline.map(|deadline| deadline.max(now + FULL_PAUSE)),
                Some(at).filter(|_| !is_stuck),
            ]),
            None => deadline,
        };
        drop(state);
        self.wakings.carry_out();
        self.shared.tell(happened);
        match (next, deadline) {
            (Next::Sleep, Some(deadline)) if self.timer.poll(cx, deadline).is_ready() => Next::Round,
            (next, _) => next,
        }
    }
}

fn count_inits(batches: &[Incoming]) -> usize {
    let of_batch = |batch: &Incoming| batch.datagrams().filter(|datagram| is_init(datagram)).count();
    batches.iter().map(of_batch).sum()
}

/// Converts an ICMP message for the core.
fn icmp_of(message: &anabranch_io::IcmpMessage) -> proto::IcmpMessage<'_> {
    let kind = match (message.kind, message.reporter) {
        (IcmpKind::PortUnreachable, Some(reporter)) => proto::IcmpKind::PortUnreachable(reporter),
        (IcmpKind::PortUnreachable, None) | (IcmpKind::Unreachable, _) => proto::IcmpKind::Unreachable,
        (IcmpKind::PacketTooBig(mtu), _) => {
            proto::IcmpKind::PacketTooBig(u16::try_from(mtu).unwrap_or(u16::MAX))
        }
    };
    proto::IcmpMessage {
        destination: message.destination,
        kind,
        quoted: &message.quoted,
    }
}

impl Driver {
    /// The time at which timers are handled although all sockets are full; `None` if some are not full.
    fn stuck_at(&mut self, are_full: bool, now: Instant) -> Option<Instant> {
        let has_sent = self.queues.take_progress();
        if !are_full || has_sent {
            self.stuck_since = None;
            self.has_overflowed = false;
        }
        are_full.then(|| *self.stuck_since.get_or_insert(now) + STUCK_AFTER)
    }
}

/// Whether neither handles nor peers can bring new work.
fn is_over(state: &State) -> bool {
    !state.accepting && !state.has_living()
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            let received = match self.flood.take() {
                Some(staged) => self.receive_flood(cx, staged),
                None => self.receive(cx),
            };
            let core_is_silent = self.transmit();
            match self.settle(cx, received, core_is_silent) {
                Next::Round => {}
                Next::Sleep => return Poll::Pending,
                Next::End => return Poll::Ready(()),
            }
        }
        runtime::yield_to_others(cx);
        Poll::Pending
    }
}

/// When the driver ends, in order or because its runtime ends or all sockets broke, all associations end.
impl Drop for Driver {
    fn drop(&mut self) {
        // Tasks that wait for the end may reuse the addresses.
        self.queues.close();
        let sockets = mem::take(&mut self.shared.lock().sockets);
        drop(sockets);
        self.shared.lock().abort_all(&mut self.wakings);
        self.wakings.carry_out();
        self.shared.acceptable.notify_waiters();
        self.shared.ended.notify_waiters();
        self.shared.gone.notify_waiters();
    }
}
