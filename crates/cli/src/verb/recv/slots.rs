//! Slots of a receiver. Which senders transfer, which wait, and which slots are taken over?
//!
//! While senders wait, a transfer without progress ends. Each source has a limited number of slots and of places in the
//! queue, so that one host does not keep out all others.

use std::collections::VecDeque;
use std::future::pending;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::output::Counter;
use crate::transfer::Queued;

/// Maximum number of waiting senders of one source.
pub(super) const WAITING_PER_SOURCE: usize = 64;

/// Limits of a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of transfers at once.
    pub(super) slots: usize,
    /// Maximum number of transfers at once from one source.
    pub(super) per_source: usize,
    /// Time without progress after which a slot may be taken over.
    pub(super) idle: Duration,
}

/// One source: an IPv4 address, or the first 64 bits of an IPv6 address, because one host may use all addresses behind
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source(IpAddr);

impl Source {
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self(address),
            IpAddr::V6(address) => {
                let network = u128::from(address) >> 64 << 64;
                Self(IpAddr::V6(network.into()))
            }
        }
    }
}

/// State of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// It waits for this many senders before it.
    Waiting(u64),
    /// It has a slot.
    Granted,
    /// It lost its slot, because it made no progress while others waited.
    TakenOver,
}

/// All senders of a receiver.
#[derive(Debug)]
pub(super) struct Slots {
    limits: Limits,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    running: Vec<Running>,
    /// In the order of arrival.
    waiting: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    source: Source,
    turn: watch::Sender<Turn>,
}

#[derive(Debug)]
struct Running {
    entry: Entry,
    progress: Option<Arc<Counter>>,
    bytes: u64,
    /// Time at which `bytes` changed last.
    changed: Instant,
}

impl Slots {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            queue: Mutex::default(),
        }
    }

    pub(super) const fn limits(&self) -> Limits {
        self.limits
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a sender; `None` if too many of its source wait.
    pub(super) fn join(self: &Arc<Self>, source: Source, now: Instant) -> Option<Place> {
        let mut queue = self.lock();
        let waiting = queue.waiting.iter().filter(|entry| entry.source == source);
        if waiting.count() >= WAITING_PER_SOURCE {
            return None;
        }
        let id = queue.next;
        queue.next += 1;
        let (sender, turn) = watch::channel(Turn::Waiting(u64::MAX));
        queue.waiting.push_back(Entry {
            id,
            source,
            turn: sender,
        });
        queue.advance(self.limits, now);
        Some(Place {
            slots: Arc::clone(self),
            id,
            turn,
        })
    }

    /// Takes over the slots of transfers without progress, as far as waiting senders can use them.
    pub(super) fn take_over_idle(&self, now: Instant) {
        let mut queue = self.lock();
        for running in &mut queue.running {
            let bytes = running.progress.as_ref();
            let bytes = bytes.map_or(0, |counter| counter.bytes.load(Ordering::Relaxed));
            if bytes != running.bytes {
                (running.bytes, running.changed) = (bytes, now);
            }
        }
        queue.running.sort_by_key(|running| running.changed);
        while let Some(index) = queue.idle_in_the_way(self.limits, now) {
            let running = queue.running.remove(index);
            running.entry.turn.send_replace(Turn::TakenOver);
            queue.advance(self.limits, now);
        }
    }

    /// Whether any transfer runs.
    pub(super) fn are_used(&self) -> bool {
        !self.lock().running.is_empty()
    }
}

impl Queue {
    fn running_of(&self, source: Source) -> usize {
        let of_source = |running: &&Running| running.entry.source == source;
        self.running.iter().filter(of_source).count()
    }

    /// Assigns free slots to waiting senders, and notifies all others of their place in the queue.
    fn advance(&mut self, limits: Limits, now: Instant) {
        while self.running.len() < limits.slots {
            let may_run = |entry: &Entry| self.running_of(entry.source) < limits.per_source;
            let Some(index) = self.waiting.iter().position(may_run) else {
                break;
            };
            let Some(entry) = self.waiting.remove(index) else {
                break;
            };
            entry.turn.send_replace(Turn::Granted);
            self.running.push(Running {
                entry,
                progress: None,
                bytes: 0,
                changed: now,
            });
        }
        for (ahead, entry) in (0..).zip(&self.waiting) {
            let turn = Turn::Waiting(ahead);
            entry
                .turn
                .send_if_modified(|known| std::mem::replace(known, turn) != turn);
        }
    }

    /// A transfer without progress whose slot a waiting sender could use.
    fn idle_in_the_way(&self, limits: Limits, now: Instant) -> Option<usize> {
        self.running.iter().position(|running| {
            let is_idle = now.duration_since(running.changed) >= limits.idle;
            let could_run = |entry: &Entry| {
                let freed = usize::from(entry.source == running.entry.source);
                self.running_of(entry.source) - freed < limits.per_source
            };
            is_idle && self.waiting.iter().any(could_run)
        })
    }
}

/// The place of one sender in the queue or in a slot; released when dropped.
#[derive(Debug)]
pub(super) struct Place {
    slots: Arc<Slots>,
    id: u64,
    turn: watch::Receiver<Turn>,
}

impl Place {
    fn turn(&mut self) -> Turn {
        *self.turn.borrow_and_update()
    }

    /// Measures the progress of the transfer by the bytes of `counter`.
    pub(super) fn measure(&self, counter: &Arc<Counter>) {
        let mut queue = self.slots.lock();
        if let Some(running) = queue
            .running
            .iter_mut()
            .find(|running| running.entry.id == self.id)
        {
            running.progress = Some(Arc::clone(counter));
        }
    }

    /// Completes when the slot was taken over.
    pub(super) async fn taken_over(&mut self) {
        while self.turn() != Turn::TakenOver {
            self.changed().await;
        }
    }
}

impl Queued for Place {
    fn ahead(&mut self) -> Option<u64> {
        match self.turn() {
            Turn::Waiting(ahead) => Some(ahead),
            Turn::Granted | Turn::TakenOver => None,
        }
    }

    async fn changed(&mut self) {
        if self.turn.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queue = self.slots.lock();
        queue.running.retain(|running| running.entry.id != self.id);
        queue.waiting.retain(|entry| entry.id != self.id);
        queue.advance(self.slots.limits, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Role;

    const IDLE: Duration = Duration::from_secs(30);

    fn slots(slots: usize, per_source: usize) -> Arc<Slots> {
        Arc::new(Slots::new(Limits {
            slots,
            per_source,
            idle: IDLE,
        }))
    }

    fn host(number: u8) -> Source {
        Source::of([192, 0, 2, number].into())
    }

    fn joins(slots: &Arc<Slots>, number: u8, now: Instant) -> Place {
        slots.join(host(number), now).unwrap()
    }

    #[test]
    fn queue_advances_in_the_order_of_arrival() {
        let (slots, now) = (slots(1, 1), Instant::now());
        let mut places: Vec<Place> = (1..=4).map(|number| joins(&slots, number, now)).collect();
        let turns = |places: &mut [Place]| places.iter_mut().map(Place::turn).collect::<Vec<_>>();
        let [first, second, third] = [Turn::Waiting(0), Turn::Waiting(1), Turn::Waiting(2)];
        assert_eq!(turns(&mut places), [Turn::Granted, first, second, third]);
        // A waiting sender gives up.
        drop(places.remove(2));
        assert_eq!(turns(&mut places), [Turn::Granted, first, second]);
        drop(places.remove(0));
        assert_eq!(turns(&mut places), [Turn::Granted, first]);
    }

    #[test]
    fn one_source_leaves_slots_to_others() {
        let (slots, now) = (slots(3, 2), Instant::now());
        let mut greedy: Vec<Place> = (0..5).map(|_| joins(&slots, 1, now)).collect();
        let granted = greedy
            .iter_mut()
            .filter_map(|place| (place.turn() == Turn::Granted).then_some(()));
        assert_eq!(granted.count(), 2);
        assert_eq!(joins(&slots, 2, now).turn(), Turn::Granted);
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_source() {
        let of = |address: &str| Source::of(address.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn too_many_waiting_senders_of_one_source_are_refused() {
        let (slots, now) = (slots(1, 1), Instant::now());
        let places: Vec<Place> = (0..=WAITING_PER_SOURCE).map(|_| joins(&slots, 1, now)).collect();
        assert!(slots.join(host(1), now).is_none());
        assert!(slots.join(host(2), now).is_some());
        drop(places);
    }

    #[test]
    fn idle_slot_is_taken_over_only_while_others_wait() {
        let (slots, now) = (slots(1, 1), Instant::now());
        let mut holder = joins(&slots, 1, now);
        slots.take_over_idle(now + IDLE);
        assert_eq!(holder.turn(), Turn::Granted);
        let mut other = joins(&slots, 2, now);
        slots.take_over_idle(now + IDLE - Duration::from_millis(1));
        assert_eq!((holder.turn(), other.turn()), (Turn::Granted, Turn::Waiting(0)));
        slots.take_over_idle(now + IDLE);
        assert_eq!((holder.turn(), other.turn()), (Turn::TakenOver, Turn::Granted));
    }

    #[test]
    fn slot_of_a_transfer_that_makes_progress_is_kept() {
        let (slots, now) = (slots(1, 1), Instant::now());
        let mut holder = joins(&slots, 1, now);
        let counter = Arc::new(Counter::new(1, Role::Receive, None, now));
        holder.measure(&counter);
        let mut other = joins(&slots, 2, now);
        for step in 1..4 {
            counter.bytes.fetch_add(1, Ordering::Relaxed);
            slots.take_over_idle(now + step * IDLE);
        }
        assert_eq!((holder.turn(), other.turn()), (Turn::Granted, Turn::Waiting(0)));
    }

    #[test]
    fn sender_of_a_source_at_its_limit_takes_over_that_sources_slot_only() {
        let (slots, now) = (slots(2, 1), Instant::now());
        let mut places: Vec<Place> = [1, 2, 2].map(|number| joins(&slots, number, now)).into();
        slots.take_over_idle(now + IDLE);
        let turns: Vec<Turn> = places.iter_mut().map(Place::turn).collect();
        assert_eq!(turns, [Turn::Granted, Turn::TakenOver, Turn::Granted]);
    }
}
