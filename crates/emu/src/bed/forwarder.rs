//! Who carries the packets from host to host, and when? One thread with a link of the simulator for each direction of each
//! path.
//!
//! ```text
//! sleep until a packet comes or is due ─▶ deliver what is due ─▶ take what came, offer it to its link ─▶ sleep
//! ```
//!
//! The thread asks to be run before all others as soon as it has something to do, because on a machine with as many busy
//! programs as cores a thread like any other would wait for milliseconds.
//!
//! A virtual machine may be stopped as a whole, for tens of milliseconds several times a minute. If links went on meanwhile,
//! everything that was due would arrive at once, and senders would answer with bursts that no network gave them reason
//! for. So the clock of the links stands still while the machine does: see [`Road::tick`].

use std::io;
use std::num::NonZero;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anabranch_netsim::{Histogram, Link, LinkConfig};
use anabranch_types::{Instant, Seed};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::device::{Device, LONGEST};
use super::frame::Frame;
use super::hosts::run;

/// How many packets of a device are taken before it is looked what is due.
const AT_ONCE: usize = 16;
/// Who is run before all others is never that late, unless nobody is run.
const STANDSTILL: Duration = Duration::from_millis(5);
/// Above the threads of programs, below those of the kernel that serve hardware.
const PRIORITY: &str = "10";

/// How well a test bed kept the time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// By how many microseconds packets left their link later than they should have.
    pub late: Histogram,
    /// Packets that a host did not take, because its device was down.
    pub refused: u64,
    /// How often the machine stood still for more than 5 ms.
    pub standstills: u64,
    /// For how long altogether, in which the links stood still too.
    pub stood_still: Duration,
    /// How the thread is run.
    pub urgency: Urgency,
}

/// How a thread is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Urgency {
    /// As soon as it has something to do.
    RealTime,
    /// Before most others.
    Nice,
    /// Like any other.
    #[default]
    Usual,
}

/// The thread that carries packets; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    epoch: std::time::Instant,
    road: Mutex<Road>,
    alarm: OwnedFd,
}

#[derive(Debug)]
struct Road {
    /// Link number i takes what device number i sends.
    links: Vec<Link<Frame>>,
    timing: Timing,
    /// The latest moment that was seen, so that time never goes back.
    latest: Instant,
    is_over: bool,
}

impl Road {
    fn deadline(&self) -> Option<Instant> {
        self.links.iter().filter_map(Link::deadline).min()
    }

    /// The moment on the links' clock, `elapsed` after the beginning on that of the machine. Who comes much too late for what
    /// is due was stopped: the links' clock shows what is due, and goes on from there.
    fn tick(&mut self, elapsed: Duration) -> Instant {
        let now = Instant::ZERO + elapsed.saturating_sub(self.timing.stood_still);
        let due = self.deadline().unwrap_or(now).max(self.latest);
        let late = now.saturating_duration_since(due);
        if late > STANDSTILL {
            self.timing.standstills += 1;
            self.timing.stood_still += late;
            self.latest = due;
        } else {
            self.latest = now.max(self.latest);
        }
        self.latest
    }
}

impl Forwarder {
    /// Begins to carry packets. Devices number 2n and 2n + 1 are the ends of a path, and links have the same numbers.
    pub(super) fn start(devices: Vec<Device>, links: Vec<LinkConfig>, seed: Seed) -> io::Result<Self> {
        let link = |(index, config): (usize, LinkConfig)| {
            let seed = match config.name.as_str() {
                "" => seed.nth(index as u64),
                name => seed.split(name),
            };
            Link::new(config, seed)
        };
        let shared = Arc::new(Shared {
            epoch: std::time::Instant::now(),
            road: Mutex::new(Road {
                links: links.into_iter().enumerate().map(link).collect(),
                timing: Timing::default(),
                latest: Instant::ZERO,
                is_over: false,
            }),
            alarm: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        });
        let carrier = Carrier::new(Arc::clone(&shared), devices);
        let thread = thread::Builder::new().name("anabranch-bed".into());
        Ok(Self {
            shared,
            thread: Some(thread.spawn(move || carrier.carry())?),
        })
    }

    /// Acts on a link now, then lets the thread see what that changed.
    pub(super) fn act<T>(&self, link: usize, act: impl FnOnce(&mut Link<Frame>, Instant) -> T) -> T {
        let mut road = self.shared.lock();
        let now = road.tick(self.shared.elapsed());
        let result = act(&mut road.links[link], now);
        drop(road);
        self.shared.ring();
        result
    }

    pub(super) fn timing(&self) -> Timing {
        self.shared.lock().timing.clone()
    }

    /// Whether its thread has ended: nothing is carried any more.
    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(super) fn stood_still(&self) -> Duration {
        self.shared.lock().timing.stood_still
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.ring();
        if let Some(thread) = self.thread.take() {
            // It has nobody to tell of a panic but whoever reads the standard error.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn elapsed(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// A thread that panicked while it held the lock leaves links that are still links.
    fn lock(&self) -> MutexGuard<'_, Road> {
        self.road.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        // Full is as good as rung.
        let _ = rustix::io::write(&self.alarm, &1_u64.to_ne_bytes());
    }

    fn hush(&self) {
        let _ = rustix::io::read(&self.alarm, &mut [0_u8; 8]);
    }
}

/// What the thread has.
struct Carrier {
    shared: Arc<Shared>,
    devices: Vec<Device>,
    buffer: Vec<u8>,
    came: Vec<Frame>,
    due: Vec<(Instant, Frame)>,
}

impl Carrier {
    fn new(shared: Arc<Shared>, devices: Vec<Device>) -> Self {
        Self {
            shared,
            devices,
            buffer: vec![0; LONGEST],
            came: Vec::new(),
            due: Vec::new(),
        }
    }

    fn carry(mut self) {
        self.shared.lock().timing.urgency = hurry();
        // Ends too when the devices are taken away, which nobody but root can do.
        while let Some(ready) = self.sleep() {
            self.deliver();
            for index in ready {
                self.take(index);
            }
        }
    }

    /// The devices that have packets, as soon as there are any or one is due; `None` when it is over, or a device is gone.
    fn sleep(&mut self) -> Option<Vec<usize>> {
        let mut road = self.shared.lock();
        if road.is_over {
            return None;
        }
        let now = road.tick(self.shared.elapsed());
        let wait = road
            .deadline()
            .map(|deadline| deadline.saturating_duration_since(now));
        drop(road);
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let devices = self
            .devices
            .iter()
            .map(|device| PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN));
        let alarm = PollFd::from_borrowed_fd(self.shared.alarm.as_fd(), PollFlags::IN);
        let mut polled: Vec<PollFd<'_>> = devices.chain([alarm]).collect();
        // A signal wakes it early, which does no harm.
        let _ = poll(&mut polled, wait.as_ref());
        let ready = |polled: &PollFd<'_>| !polled.revents().is_empty();
        if polled.last().is_some_and(ready) {
            self.shared.hush();
        }
        let devices = &polled[..self.devices.len()];
        let is_gone = |polled: &PollFd<'_>| {
            polled
                .revents()
                .intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
        };
        if devices.iter().any(is_gone) {
            return None;
        }
        let devices = devices.iter().enumerate();
        Some(
            devices
                .filter(|(_, polled)| ready(polled))
                .map(|(index, _)| index)
                .collect(),
        )
    }

    /// Takes some of what a host sent. All of it has come by now, so the link sees it come now.
    fn take(&mut self, index: usize) {
        let device = &self.devices[index];
        for _ in 0..AT_ONCE {
            let Some(packet) = device.take(&mut self.buffer) else {
                break;
            };
            self.came.extend(Frame::parse(packet));
        }
        let mut road = self.shared.lock();
        let now = road.tick(self.shared.elapsed());
        for frame in self.came.drain(..) {
            let length = frame.length();
            road.links[index].offer(now, frame, length);
        }
    }

    /// Lets hosts receive what is due.
    fn deliver(&mut self) {
        for (index, device) in (0..self.devices.len()).map(|index| (index, index ^ 1)) {
            let mut road = self.shared.lock();
            let now = road.tick(self.shared.elapsed());
            let link = &mut road.links[index];
            while let Some(deadline) = link.deadline().filter(|deadline| *deadline <= now) {
                self.due.extend(link.take_due(now).map(|frame| (deadline, frame)));
            }
            drop(road);
            if self.due.is_empty() {
                continue;
            }
            let (mut late, mut refused) = (Vec::with_capacity(self.due.len()), 0);
            let began = self.shared.elapsed();
            for (deadline, frame) in self.due.drain(..) {
                let delay = now + (self.shared.elapsed() - began) - deadline;
                late.push(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX));
                refused += u64::from(!self.devices[device].give(frame.bytes()));
            }
            let mut road = self.shared.lock();
            late.into_iter().for_each(|late| road.timing.late.note(late));
            road.timing.refused += refused;
        }
    }
}

/// Asks to be run before others. `chrt` belongs to every Debian; without it, a nice value does almost as well.
fn hurry() -> Urgency {
    // Ignored for threads that run in real time.
    let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
    let thread = rustix::thread::gettid();
    let id = thread.as_raw_pid().to_string();
    if run("chrt", &["--fifo", "--pid", PRIORITY, &id]).is_ok() {
        return Urgency::RealTime;
    }
    match rustix::process::setpriority_process(Some(thread), -20) {
        Ok(()) => Urgency::Nice,
        Err(_) => Urgency::Usual,
    }
}

impl Timing {
    /// The lateness that a share of all packets did not exceed, to 3 %; `None` if there were no packets.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        self.late.quantile(share).map(Duration::from_micros)
    }

    /// What came after `earlier` was taken of the same bed.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            late: self.late.since(&earlier.late),
            refused: self.refused - earlier.refused,
            standstills: self.standstills - earlier.standstills,
            stood_still: self.stood_still - earlier.stood_still,
            urgency: self.urgency,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_netsim::{Link, LinkConfig};
    use anabranch_types::{Instant, Rate, Seed};

    use super::{Frame, Road, Timing};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_links_stand_still_while_the_machine_does() {
        let mut road = Road {
            links: vec![Link::new(LinkConfig::new(Rate::mbit(8), ms(10)), Seed(1))],
            timing: Timing::default(),
            latest: Instant::ZERO,
            is_over: false,
        };
        assert_eq!(road.tick(ms(50)), Instant::ZERO + ms(50), "nothing is due");
        let mut packet = [0; 1_000];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&1_000_u16.to_be_bytes());
        let frame = Frame::parse(&packet).unwrap();
        road.links[0].offer(Instant::ZERO + ms(50), frame, 1_000);
        assert_eq!(road.deadline(), Some(Instant::ZERO + ms(61)));
        assert_eq!(road.tick(ms(64)), Instant::ZERO + ms(64), "a little late");
        assert_eq!(road.timing.standstills, 0);
        assert_eq!(
            road.tick(ms(101)),
            Instant::ZERO + ms(64),
            "not before what was seen already"
        );
        assert_eq!(road.timing.stood_still, ms(37));
        assert_eq!(road.tick(ms(102)), Instant::ZERO + ms(65));
        assert_eq!(road.timing.standstills, 1);
    }
}
