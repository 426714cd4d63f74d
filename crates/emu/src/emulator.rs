//! Who keeps the time of the links? One thread that sleeps until a packet is due.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anabranch_netsim::{Link, LinkConfig};
use anabranch_types::{Instant, Seed};

use crate::control::LinkHandle;
use crate::parcel::Parcel;

/// Links in real time. Clones are the same emulator.
///
/// When the last clone, link handle and shaped socket are gone, what is under way still arrives; then the
/// thread ends.
#[derive(Clone, Debug)]
pub struct Emulator(Arc<Owner>);

/// How well the emulator kept the time so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Punctuality {
    /// Packets delivered.
    pub packets: u64,
    /// By how much the latest of them was late.
    pub worst: Duration,
    /// The sum of all lateness; divided by `packets`, the mean.
    pub total: Duration,
    /// Packets that the real network did not take.
    pub refused: u64,
}

impl Emulator {
    /// Starts the thread. Each link splits its random numbers from `seed`, by its name if it has one, else by
    /// its number.
    ///
    /// # Errors
    ///
    /// The system has no thread for us.
    pub fn start(seed: Seed) -> io::Result<Self> {
        let wheel = Arc::new(Wheel::new());
        let runner = Arc::clone(&wheel);
        thread::Builder::new()
            .name("anabranch-emu".into())
            .spawn(move || runner.run())?;
        Ok(Self(Arc::new(Owner { wheel, seed })))
    }

    /// Adds a link. Any number of sockets may send through it.
    #[must_use]
    pub fn link(&self, config: LinkConfig) -> LinkHandle {
        let mut turning = self.0.wheel.lock();
        let index = turning.links.len();
        let seed = match config.name.as_str() {
            "" => self.0.seed.nth(index as u64),
            name => self.0.seed.split(name),
        };
        turning.links.push(Link::new(config, seed));
        LinkHandle::new(self.clone(), index)
    }

    /// How well the time was kept so far.
    #[must_use]
    pub fn punctuality(&self) -> Punctuality {
        self.0.wheel.lock().punctuality
    }

    /// Acts on a link now, then lets the thread see whether a packet is due earlier than it thought.
    pub(crate) fn act<T>(&self, link: usize, act: impl FnOnce(&mut Link<Parcel>, Instant) -> T) -> T {
        let wheel = &self.0.wheel;
        let mut turning = wheel.lock();
        // Taken under the lock: a link must not see time run backwards.
        let now = wheel.now();
        let result = act(&mut turning.links[link], now);
        let due = turning.links[link].deadline();
        let oversleeps = due.is_some_and(|due| turning.sleeps_until.is_none_or(|until| due < until));
        drop(turning);
        if oversleeps {
            wheel.alarm.notify_one();
        }
        result
    }
}

/// Held by everything but the thread.
#[derive(Debug)]
struct Owner {
    wheel: Arc<Wheel>,
    seed: Seed,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.wheel.lock().abandoned = true;
        self.wheel.alarm.notify_one();
    }
}

struct Wheel {
    epoch: std::time::Instant,
    turning: Mutex<Turning>,
    alarm: Condvar,
}

struct Turning {
    links: Vec<Link<Parcel>>,
    /// When the thread will look by itself; `None` for never.
    sleeps_until: Option<Instant>,
    /// Nobody can send any more.
    abandoned: bool,
    punctuality: Punctuality,
}

impl Wheel {
    fn new() -> Self {
        let turning = Turning {
            links: Vec::new(),
            sleeps_until: None,
            abandoned: false,
            punctuality: Punctuality::default(),
        };
        Self {
            epoch: std::time::Instant::now(),
            turning: Mutex::new(turning),
            alarm: Condvar::new(),
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.epoch.elapsed()
    }

    /// A thread that panicked while it held the lock leaves links that are still links.
    fn lock(&self) -> MutexGuard<'_, Turning> {
        self.turning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut due = Vec::new();
        let mut turning = self.lock();
        loop {
            turning.take_due(self.now(), &mut due);
            if due.is_empty() {
                let deadline = turning.deadline();
                if turning.abandoned && deadline.is_none() {
                    return;
                }
                turning = self.sleep(turning, deadline);
            } else {
                drop(turning);
                let refused = due.drain(..).map(Parcel::leave).filter(|taken| !taken).count();
                turning = self.lock();
                turning.punctuality.refused += refused as u64;
            }
        }
    }

    fn sleep<'a>(
        &self,
        mut turning: MutexGuard<'a, Turning>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, Turning> {
        turning.sleeps_until = deadline;
        match deadline {
            Some(deadline) => {
                let woken = self.alarm.wait_timeout(turning, deadline - self.now());
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.alarm.wait(turning).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Turning {
    fn deadline(&self) -> Option<Instant> {
        self.links.iter().filter_map(Link::deadline).min()
    }

    fn take_due(&mut self, now: Instant, due: &mut Vec<Parcel>) {
        for link in &mut self.links {
            while let Some(deadline) = link.deadline().filter(|deadline| *deadline <= now) {
                if let Some(parcel) = link.take_due(now) {
                    self.punctuality.note(now - deadline);
                    due.push(parcel);
                }
            }
        }
    }
}

impl Punctuality {
    fn note(&mut self, late: Duration) {
        self.packets += 1;
        self.total += late;
        self.worst = self.worst.max(late);
    }
}

impl fmt::Debug for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} links", self.lock().links.len())
    }
}
