//! Emulator thread: sleeps until a packet is due on one of its links, then sends it.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anabranch_netsim::{Link, LinkConfig};
use anabranch_types::{Instant, Seed};

use crate::control::LinkHandle;
use crate::packet::EmulatedPacket;

/// Links in real time. Clones refer to the same emulator.
///
/// When the last clone, link handle and shaped socket are dropped, packets in flight still arrive; then the thread
/// ends.
#[derive(Clone, Debug)]
pub struct Emulator(Arc<Owner>);

/// How late the emulator delivered packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimingStats {
    /// Packets delivered.
    pub packets: u64,
    /// Maximum lateness.
    pub max: Duration,
    /// Sum of all lateness; divided by `packets`, the mean.
    pub total: Duration,
    /// Packets that the real socket refused.
    pub refused: u64,
}

impl Emulator {
    /// Starts the thread. Each link has a generator split from `seed` by its name, or by its number if it has none.
    ///
    /// # Errors
    ///
    /// The thread cannot be created.
    pub fn start(seed: Seed) -> io::Result<Self> {
        let shared = Arc::new(Shared::new());
        let runner = Arc::clone(&shared);
        thread::Builder::new()
            .name("anabranch-emu".into())
            .spawn(move || runner.run())?;
        Ok(Self(Arc::new(Owner { shared, seed })))
    }

    /// Adds a link. Any number of sockets may send through it.
    #[must_use]
    pub fn link(&self, config: LinkConfig) -> LinkHandle {
        let mut state = self.0.shared.lock();
        let index = state.links.len();
        let seed = match config.name.as_str() {
            "" => self.0.seed.nth(index as u64),
            name => self.0.seed.split(name),
        };
        state.links.push(Link::new(config, seed));
        LinkHandle::new(self.clone(), index)
    }

    /// Lateness so far.
    #[must_use]
    pub fn timing(&self) -> TimingStats {
        self.0.shared.lock().timing
    }

    /// Acts on a link now, and wakes the thread if a packet is due before its wake-up time.
    pub(crate) fn act<T>(&self, link: usize, act: impl FnOnce(&mut Link<EmulatedPacket>, Instant) -> T) -> T {
        let shared = &self.0.shared;
        let mut state = shared.lock();
        // Read under the lock: time must not run backwards for a link.
        let now = shared.now();
        let result = act(&mut state.links[link], now);
        let due = state.links[link].deadline();
        let is_earlier = due.is_some_and(|due| state.sleeps_until.is_none_or(|until| due < until));
        drop(state);
        if is_earlier {
            shared.wakeup.notify_one();
        }
        result
    }
}

/// Held by all handles, but not by the thread.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    seed: Seed,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.lock().is_abandoned = true;
        self.shared.wakeup.notify_one();
    }
}

struct Shared {
    epoch: std::time::Instant,
    state: Mutex<State>,
    wakeup: Condvar,
}

struct State {
    links: Vec<Link<EmulatedPacket>>,
    /// When the thread wakes up by itself; `None` for never.
    sleeps_until: Option<Instant>,
    /// All handles are dropped: no more packets will come.
    is_abandoned: bool,
    timing: TimingStats,
}

impl Shared {
    fn new() -> Self {
        let state = State {
            links: Vec::new(),
            sleeps_until: None,
            is_abandoned: false,
            timing: TimingStats::default(),
        };
        Self {
            epoch: std::time::Instant::now(),
            state: Mutex::new(state),
            wakeup: Condvar::new(),
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.epoch.elapsed()
    }

    /// Ignores poisoning: links stay valid if a thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut due = Vec::new();
        let mut state = self.lock();
        loop {
            state.take_due(self.now(), &mut due);
            if due.is_empty() {
                let deadline = state.deadline();
                if state.is_abandoned && deadline.is_none() {
                    return;
                }
                state = self.sleep(state, deadline);
            } else {
                drop(state);
                let refused = due
                    .drain(..)
                    .map(EmulatedPacket::leave)
                    .filter(|taken| !taken)
                    .count();
                state = self.lock();
                state.timing.refused += refused as u64;
            }
        }
    }

    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        state.sleeps_until = deadline;
        match deadline {
            Some(deadline) => {
                let woken = self.wakeup.wait_timeout(state, deadline - self.now());
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.wakeup.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl State {
    fn deadline(&self) -> Option<Instant> {
        self.links.iter().filter_map(Link::deadline).min()
    }

    fn take_due(&mut self, now: Instant, due: &mut Vec<EmulatedPacket>) {
        for link in &mut self.links {
            while let Some(deadline) = link.deadline().filter(|deadline| *deadline <= now) {
                if let Some(packet) = link.take_due(now) {
                    self.timing.note(now - deadline);
                    due.push(packet);
                }
            }
        }
    }
}

impl TimingStats {
    fn note(&mut self, late: Duration) {
        self.packets += 1;
        self.total += late;
        self.max = self.max.max(late);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} links", self.lock().links.len())
    }
}
