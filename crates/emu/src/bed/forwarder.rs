//! Forwarder of a test bed: one thread moves packets between hosts through one simulator link per direction and path.
//!
//! ```text
//! sleep until a packet comes or is due ─▶ deliver packets that are due ─▶ read new packets, offer them to links ─▶ sleep
//! ```
//!
//! The thread requests real-time scheduling, because on a busy machine a normal thread would wait for milliseconds.
//!
//! A virtual machine may stall for tens of milliseconds several times a minute. If the links' clock kept running, all
//! packets due in the meantime would arrive at once and cause bursts that the emulated network does not. So the
//! links' clock stops while the machine is stalled: see [`ForwarderState::advance_clock`].

use std::io;
use std::num::NonZero;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anabranch_netsim::{Histogram, Link, LinkConfig};
use anabranch_types::{Instant, Seed};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::device::{Device, MAX_PACKET};
use super::frame::Frame;
use super::hosts::run;

/// How many packets are read from a device before due packets are delivered.
const BATCH: usize = 16;
/// A real-time thread is never this late unless the whole machine is stalled.
const STALL: Duration = Duration::from_millis(5);
/// Real-time priority above programs and below the kernel's interrupt threads.
const PRIORITY: &str = "10";

/// Lateness and stalls of a test bed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// Lateness of packets at the end of their link, in microseconds.
    pub late: Histogram,
    /// Packets that a host refused because its device was down.
    pub refused: u64,
    /// How often the machine stalled for more than 5 ms.
    pub stalls: u64,
    /// Total time of stalls, during which the links' clock stopped too.
    pub stalled: Duration,
    /// Scheduling of the thread.
    pub scheduling: Scheduling,
}

/// Scheduling class of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scheduling {
    /// Real-time (`SCHED_FIFO`).
    RealTime,
    /// Normal, with the highest nice level.
    Nice,
    /// Normal.
    #[default]
    Normal,
}

/// Handle of the forwarding thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    epoch: std::time::Instant,
    state: Mutex<ForwarderState>,
    wakeup: OwnedFd,
}

#[derive(Debug)]
struct ForwarderState {
    /// Link number i carries packets from device number i.
    links: Vec<Link<Frame>>,
    timing: Timing,
    /// Latest time returned: time never runs backwards.
    latest: Instant,
    is_over: bool,
}

impl ForwarderState {
    fn deadline(&self) -> Option<Instant> {
        self.links.iter().filter_map(Link::deadline).min()
    }

    /// Time on the links' clock, `elapsed` after the start on the machine's clock. If it is much later than the next
    /// deadline, the machine was stalled: the links' clock is set to that deadline and continues from there.
    fn advance_clock(&mut self, elapsed: Duration) -> Instant {
        let now = Instant::ZERO + elapsed.saturating_sub(self.timing.stalled);
        let due = self.deadline().unwrap_or(now).max(self.latest);
        let late = now.saturating_duration_since(due);
        if late > STALL {
            self.timing.stalls += 1;
            self.timing.stalled += late;
            self.latest = due;
        } else {
            self.latest = now.max(self.latest);
        }
        self.latest
    }
}

impl Forwarder {
    /// Starts forwarding. Devices 2n and 2n + 1 are the ends of path n; links have the same numbers.
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
            state: Mutex::new(ForwarderState {
                links: links.into_iter().enumerate().map(link).collect(),
                timing: Timing::default(),
                latest: Instant::ZERO,
                is_over: false,
            }),
            wakeup: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        });
        let worker = Worker::new(Arc::clone(&shared), devices);
        let thread = thread::Builder::new().name("anabranch-bed".into());
        Ok(Self {
            shared,
            thread: Some(thread.spawn(move || worker.run())?),
        })
    }

    /// Acts on a link now, then wakes the thread.
    pub(super) fn act<T>(&self, link: usize, act: impl FnOnce(&mut Link<Frame>, Instant) -> T) -> T {
        let mut state = self.shared.lock();
        let now = state.advance_clock(self.shared.elapsed());
        let result = act(&mut state.links[link], now);
        drop(state);
        self.shared.wake();
        result
    }

    pub(super) fn timing(&self) -> Timing {
        self.shared.lock().timing.clone()
    }

    /// Whether the thread has ended.
    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(super) fn stalled(&self) -> Duration {
        self.shared.lock().timing.stalled
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed to standard error.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn elapsed(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// Ignores poisoning: links stay valid if a thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, ForwarderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // A full counter wakes the thread too.
        let _ = rustix::io::write(&self.wakeup, &1_u64.to_ne_bytes());
    }

    fn clear_wakeup(&self) {
        let _ = rustix::io::read(&self.wakeup, &mut [0_u8; 8]);
    }
}

/// State of the thread.
struct Worker {
    shared: Arc<Shared>,
    devices: Vec<Device>,
    buffer: Vec<u8>,
    received: Vec<Frame>,
    due: Vec<(Instant, Frame)>,
}

impl Worker {
    fn new(shared: Arc<Shared>, devices: Vec<Device>) -> Self {
        Self {
            shared,
            devices,
            buffer: vec![0; MAX_PACKET],
            received: Vec::new(),
            due: Vec::new(),
        }
    }

    fn run(mut self) {
        self.shared.lock().timing.scheduling = raise_priority();
        // Also ends when a device is removed, which only root can do.
        while let Some(ready) = self.sleep() {
            self.deliver();
            for index in ready {
                self.take(index);
            }
        }
    }

    /// Waits until a device has packets or a packet is due, and returns the devices with packets; `None` at the end or
    /// if a device was removed.
    fn sleep(&mut self) -> Option<Vec<usize>> {
        let mut state = self.shared.lock();
        if state.is_over {
            return None;
        }
        let now = state.advance_clock(self.shared.elapsed());
        let wait = state
            .deadline()
            .map(|deadline| deadline.saturating_duration_since(now));
        drop(state);
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let devices = self
            .devices
            .iter()
            .map(|device| PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN));
        let wakeup = PollFd::from_borrowed_fd(self.shared.wakeup.as_fd(), PollFlags::IN);
        let mut polled: Vec<PollFd<'_>> = devices.chain([wakeup]).collect();
        // A signal may wake the thread early, which is harmless.
        let _ = poll(&mut polled, wait.as_ref());
        let ready = |polled: &PollFd<'_>| !polled.revents().is_empty();
        if polled.last().is_some_and(ready) {
            self.shared.clear_wakeup();
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

    /// Reads a batch of packets that a host sent, and offers them to the link at the current time.
    fn take(&mut self, index: usize) {
        let device = &self.devices[index];
        for _ in 0..BATCH {
            let Some(packet) = device.take(&mut self.buffer) else {
                break;
            };
            self.received.extend(Frame::parse(packet));
        }
        let mut state = self.shared.lock();
        let now = state.advance_clock(self.shared.elapsed());
        for frame in self.received.drain(..) {
            let length = frame.length();
            state.links[index].offer(now, frame, length);
        }
    }

    /// Delivers the packets that are due.
    fn deliver(&mut self) {
        for (index, device) in (0..self.devices.len()).map(|index| (index, index ^ 1)) {
            let mut state = self.shared.lock();
            let now = state.advance_clock(self.shared.elapsed());
            let link = &mut state.links[index];
            while let Some(deadline) = link.deadline().filter(|deadline| *deadline <= now) {
                self.due.extend(link.take_due(now).map(|frame| (deadline, frame)));
            }
            drop(state);
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
            let mut state = self.shared.lock();
            late.into_iter().for_each(|late| state.timing.late.note(late));
            state.timing.refused += refused;
        }
    }
}

/// Requests real-time scheduling with `chrt`, which every Debian has; falls back to a nice level.
fn raise_priority() -> Scheduling {
    // Has no effect on real-time threads.
    let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
    let thread = rustix::thread::gettid();
    let id = thread.as_raw_pid().to_string();
    if run("chrt", &["--fifo", "--pid", PRIORITY, &id]).is_ok() {
        return Scheduling::RealTime;
    }
    match rustix::process::setpriority_process(Some(thread), -20) {
        Ok(()) => Scheduling::Nice,
        Err(_) => Scheduling::Normal,
    }
}

impl Timing {
    /// Quantile `share` of the lateness, accurate to 3 %; `None` if there were no packets.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        self.late.quantile(share).map(Duration::from_micros)
    }

    /// The part recorded after `earlier` was read from the same bed.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            late: self.late.since(&earlier.late),
            refused: self.refused - earlier.refused,
            stalls: self.stalls - earlier.stalls,
            stalled: self.stalled - earlier.stalled,
            scheduling: self.scheduling,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_netsim::{Link, LinkConfig};
    use anabranch_types::{Instant, Rate, Seed};

    use super::{ForwarderState, Frame, Timing};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn clock_of_links_stops_while_machine_is_stalled() {
        let mut state = ForwarderState {
            links: vec![Link::new(LinkConfig::new(Rate::mbit(8), ms(10)), Seed(1))],
            timing: Timing::default(),
            latest: Instant::ZERO,
            is_over: false,
        };
        assert_eq!(
            state.advance_clock(ms(50)),
            Instant::ZERO + ms(50),
            "nothing is due"
        );
        let mut packet = [0; 1_000];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&1_000_u16.to_be_bytes());
        let frame = Frame::parse(&packet).unwrap();
        state.links[0].offer(Instant::ZERO + ms(50), frame, 1_000);
        assert_eq!(state.deadline(), Some(Instant::ZERO + ms(61)));
        assert_eq!(
            state.advance_clock(ms(64)),
            Instant::ZERO + ms(64),
            "a little late"
        );
        assert_eq!(state.timing.stalls, 0);
        assert_eq!(
            state.advance_clock(ms(101)),
            Instant::ZERO + ms(64),
            "not before the latest time"
        );
        assert_eq!(state.timing.stalled, ms(37));
        assert_eq!(state.advance_clock(ms(102)), Instant::ZERO + ms(65));
        assert_eq!(state.timing.stalls, 1);
    }
}
