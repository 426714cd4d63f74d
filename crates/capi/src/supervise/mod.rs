//! Supervisor: answers the system calls on SCTP sockets of a program into which nothing can be preloaded, as static ones or those in Go.
//!
//! `anabranch run` has this library preloaded into a process of its own, where it takes over. It starts the program under a filter
//! (ADR 0155): the kernel reports calls on our sockets to it, and waits for the answers.
//! One thread answers all calls; none of them makes it wait. What would block stays pending until the descriptor is ready, while signals
//! can interrupt it.
//!
//! | file | contents |
//! |---|---|
//! | `filter` | which calls arrive here? |
//! | `launch` | the program: start, signals, end |
//! | `sockets` | which descriptor is which? |
//! | `numbers` | which number does a new descriptor get? |
//! | `memory` | the program's memory |
//! | `call` | one call |
//! | `transfer` | calls that send and receive |
//! | `setup` | calls that create, bind, connect and accept |

mod call;
mod filter;
mod launch;
mod memory;
mod numbers;
mod setup;
mod sockets;
mod transfer;

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::errno::Errno;
use crate::ffi::seccomp::{Listener, Notification};
use crate::mirror::Mirror;
use crate::socket::{Member, Received, Served, Socket, Style};
pub(crate) use launch::start;
use sockets::Sockets;

/// How often the supervisor looks for calls that a signal has interrupted, and for sockets whose processes have ended.
const TICK: Duration = Duration::from_millis(100);

/// How long the result of an interrupted call is kept for the case that the call is repeated.
const REPEATED_WITHIN: Duration = Duration::from_secs(1);

/// What becomes of a call.
#[derive(Debug)]
enum Outcome {
    Done(i64),
    /// `EPIPE`, and the signal.
    Broken,
    /// The kernel executes it.
    Pass,
    /// A message was received. It stays if the call waits for it no longer.
    Received(i64, Arc<Socket>, Box<Received>),
    /// A new socket, and a descriptor of it with this number.
    New(New),
    /// Another descriptor of a socket, with this number.
    Duplicate(OwnedFd, i32, bool),
    /// It waits, if the descriptor of its socket does.
    Wait(Awaited),
    /// The handshake goes on. The second value is the result of the call.
    Connecting(Arc<Socket>, Arc<Member>, i64),
}

/// What a call waits for.
#[derive(Debug)]
struct Awaited {
    socket: Arc<Socket>,
    events: PollFlags,
    /// What is writable then instead of the socket, if one association of several is waited for.
    gate: Option<Arc<Mirror>>,
    /// Associations that have taken the message.
    served: Served,
}

impl Awaited {
    fn new(socket: &Arc<Socket>, events: PollFlags) -> Self {
        Self {
            socket: Arc::clone(socket),
            events,
            gate: None,
            served: Served::default(),
        }
    }

    /// The descriptors that tell of it: the socket's, which hangs up when it is closed, and perhaps the gate's.
    fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        let gate = self.gate.as_ref();
        let events = if gate.is_some() {
            PollFlags::empty()
        } else {
            self.events
        };
        let gate = gate.map(|gate| PollFd::from_borrowed_fd(gate.descriptor(), self.events));
        [PollFd::from_borrowed_fd(self.socket.descriptor(), events)]
            .into_iter()
            .chain(gate)
    }
}

/// A new socket.
#[derive(Debug)]
struct New {
    socket: Arc<Socket>,
    program: OwnedFd,
    number: i32,
    closes_on_exec: bool,
    /// The socket that has accepted it, or from which it was peeled off.
    origin: Option<Arc<Socket>>,
}

/// A call that waits.
#[derive(Debug)]
struct Pending {
    notification: Notification,
    awaited: Awaited,
    /// The end of `SO_RCVTIMEO` or `SO_SNDTIMEO`.
    limit: Option<Instant>,
    handshake: Option<(Arc<Member>, i64)>,
}

/// What an interrupted call of a thread has done, for the case that the kernel or the program repeats it.
#[derive(Debug)]
enum Interrupted {
    /// Its result, and when. A call that comes later is another one with the same arguments.
    Done(i64, Instant),
    /// Associations that have taken a message for all, and when that was seen last.
    Sending(Served, Instant),
    Connecting(Arc<Socket>, Arc<Member>, i64),
}

/// The supervisor.
#[derive(Debug)]
struct Supervisor {
    listener: Listener,
    sockets: Sockets,
    pending: Vec<Pending>,
    interrupted: BTreeMap<u32, (i64, [u64; 6], Interrupted)>,
    /// Messages that an interrupted call has taken, with their sockets.
    returned: Vec<(Arc<Socket>, Received)>,
    /// The origin of a socket that an interrupted call has accepted or peeled off, that socket and its descriptor.
    ungiven: Vec<(Arc<Socket>, Arc<Socket>, OwnedFd)>,
}

impl Supervisor {
    fn new(listener: Listener) -> Self {
        Self {
            listener,
            sockets: Sockets::default(),
            pending: Vec::new(),
            interrupted: BTreeMap::new(),
            returned: Vec::new(),
            ungiven: Vec::new(),
        }
    }

    /// Answers calls until all processes of the program have ended.
    fn run(&mut self) {
        let mut swept = Instant::now();
        loop {
            let mut watched = vec![PollFd::new(&self.listener, PollFlags::IN)];
            watched.extend(self.pending.iter().flat_map(|call| call.awaited.descriptors()));
            let _ = poll(&mut watched, self.until_tick().as_ref());
            let calls = watched[0].revents();
            let mut told = watched[1..].iter().map(|fd| !fd.revents().is_empty());
            let ready = self.pending.iter().map(|call| {
                let count = call.awaited.descriptors().count();
                told.by_ref()
                    .take(count)
                    .fold(false, |any, is_told| any | is_told)
            });
            let ready: Vec<bool> = ready.collect();
            drop(watched);
            self.retry(&ready);
            if calls.contains(PollFlags::IN) {
                if let Ok(notification) = self.listener.receive() {
                    self.handle(notification);
                }
            } else if calls.contains(PollFlags::HUP) {
                // No process has the filter any more.
                self.sockets.close_all();
                return self.forget_closed();
            }
            self.end_late_calls();
            if swept.elapsed() >= TICK {
                swept = Instant::now();
                self.tick();
            }
        }
    }

    /// How long to wait for calls and sockets: until a call is late, or a tick is due; for ever if there is nothing to look at then.
    fn until_tick(&self) -> Option<Timespec> {
        let has_kept = !self.returned.is_empty() || !self.ungiven.is_empty();
        if self.sockets.is_empty() && self.pending.is_empty() && !has_kept {
            return None;
        }
        let limits = self.pending.iter().filter_map(|call| call.limit);
        let first = limits
            .min()
            .map(|limit| limit.saturating_duration_since(Instant::now()));
        first.unwrap_or(TICK).min(TICK).try_into().ok()
    }

    /// Tries pending calls again whose sockets are ready.
    fn retry(&mut self, ready: &[bool]) {
        if !ready.contains(&true) {
            return;
        }
        let mut is_ready = ready.iter();
        let is_ready = |_: &mut Pending| is_ready.next() == Some(&true);
        let calls: Vec<Pending> = self.pending.extract_if(.., is_ready).collect();
        for call in calls {
            if !self.listener.is_waiting(call.notification.id) {
                self.forget(call);
                continue;
            }
            let notification = call.notification;
            match call.handshake {
                None => self.attempt(notification, call.awaited.served, call.limit),
                Some((member, result)) => {
                    let outcome = Outcome::Connecting(call.awaited.socket, member, result);
                    self.finish(notification, Ok(outcome), call.limit);
                }
            }
        }
    }

    /// A call waits no longer. A handshake that it began goes on, and a message for all that some have taken stays with them.
    fn forget(&mut self, call: Pending) {
        let Awaited { socket, served, .. } = call.awaited;
        let begun = match call.handshake {
            Some((member, result)) => Interrupted::Connecting(socket, member, result),
            None if served.is_empty() => return,
            None => Interrupted::Sending(served, Instant::now()),
        };
        self.keep(&call.notification, begun);
    }

    fn keep(&mut self, call: &Notification, what: Interrupted) {
        self.interrupted
            .insert(call.thread, (call.number, call.arguments, what));
    }

    /// Ends calls whose time is over.
    fn end_late_calls(&mut self) {
        let now = Instant::now();
        let is_late = |call: &mut Pending| call.limit.is_some_and(|limit| limit <= now);
        let late: Vec<Pending> = self.pending.extract_if(.., is_late).collect();
        for call in late {
            let error = if call.handshake.is_some() {
                libc::EINPROGRESS
            } else {
                libc::EAGAIN
            };
            let answered = self.listener.answer(call.notification.id, Err(Errno(error)));
            if answered.is_err() {
                self.forget(call);
            }
        }
    }

    /// Forgets interrupted calls, and closes sockets that no process has.
    fn tick(&mut self) {
        let listener = &self.listener;
        let has_ended = |call: &mut Pending| !listener.is_waiting(call.notification.id);
        let ended: Vec<Pending> = self.pending.extract_if(.., has_ended).collect();
        ended.into_iter().for_each(|call| self.forget(call));
        let lives = |thread: &u32| std::path::Path::new(&format!("/proc/{thread}")).exists();
        self.interrupted.retain(|thread, _| lives(thread));
        self.sockets.sweep_at_times();
        self.forget_closed();
    }

    /// A call has arrived.
    fn handle(&mut self, notification: Notification) {
        // A thread makes one call at a time: a signal has interrupted what waits of it.
        let is_interrupted = |call: &mut Pending| call.notification.thread == notification.thread;
        let interrupted: Vec<Pending> = self.pending.extract_if(.., is_interrupted).collect();
        interrupted.into_iter().for_each(|call| self.forget(call));
        let before = self.interrupted.remove(&notification.thread);
        let same = before.filter(|(number, arguments, _)| {
            (*number, arguments) == (notification.number, &notification.arguments)
        });
        match same {
            Some((_, _, Interrupted::Done(result, then))) if then.elapsed() < REPEATED_WITHIN => {
                self.finish(notification, Ok(Outcome::Done(result)), None);
            }
            Some((_, _, Interrupted::Sending(served, then))) if then.elapsed() < REPEATED_WITHIN => {
                self.attempt(notification, served, None);
            }
            Some((_, _, Interrupted::Connecting(socket, member, result))) => {
                self.finish(
                    notification,
                    Ok(Outcome::Connecting(socket, member, result)),
                    None,
                );
            }
            Some((_, _, Interrupted::Done(..) | Interrupted::Sending(..))) | None => {
                self.attempt(notification, Served::default(), None);
            }
        }
    }

    fn attempt(&mut self, notification: Notification, served: Served, limit: Option<Instant>) {
        let outcome = self.call(&notification, served);
        self.finish(notification, outcome, limit);
    }

    fn finish(
        &mut self,
        notification: Notification,
        outcome: Result<Outcome, Errno>,
        limit: Option<Instant>,
    ) {
        let id = notification.id;
        match outcome {
            // A call that was interrupted meanwhile and is repeated gets the same result.
            Ok(Outcome::Done(result)) => {
                if self.listener.answer(id, Ok(result)).is_err() {
                    self.keep(&notification, Interrupted::Done(result, Instant::now()));
                }
            }
            Err(error) => drop(self.listener.answer(id, Err(error))),
            Ok(Outcome::Broken) => {
                let _ = self.listener.answer(id, Err(Errno(libc::EPIPE)));
                // Earlier, it would interrupt the call.
                sockets::signal(notification.thread, Signal::PIPE);
            }
            Ok(Outcome::Pass) => drop(self.listener.pass(id)),
            Ok(Outcome::Received(result, socket, received)) => {
                if self.listener.answer(id, Ok(result)).is_err() {
                    socket.mark(true);
                    self.returned.push((socket, *received));
                }
            }
            Ok(Outcome::New(new)) => self.give(&notification, new),
            Ok(Outcome::Duplicate(descriptor, number, closes)) => {
                let given = self.listener.give(id, descriptor.as_fd(), number, closes);
                self.refuse(id, given);
            }
            Ok(Outcome::Wait(awaited)) => {
                if !awaited.socket.waits().unwrap_or(false) {
                    let _ = self.listener.answer(id, Err(Errno(libc::EAGAIN)));
                    return;
                }
                let sends = awaited.events == PollFlags::OUT;
                let limit = limit.or_else(|| awaited.socket.limit(sends));
                self.pending.push(Pending {
                    notification,
                    awaited,
                    limit,
                    handshake: None,
                });
            }
            Ok(Outcome::Connecting(socket, member, result)) => {
                self.connect(notification, socket, member, result, limit);
            }
        }
    }

    /// A call waits for the end of a handshake.
    fn connect(
        &mut self,
        notification: Notification,
        socket: Arc<Socket>,
        member: Arc<Member>,
        result: i64,
        limit: Option<Instant>,
    ) {
        // Before the handshake is looked at: the gate opens at its end and may go then.
        let gate = member.gate();
        if let Some(ended) = socket.handshake(&member) {
            return self.finish(notification, ended.map(|()| Outcome::Done(result)), limit);
        }
        let limit = limit.or_else(|| socket.limit(true));
        self.pending.push(Pending {
            notification,
            awaited: Awaited {
                gate,
                ..Awaited::new(&socket, PollFlags::OUT)
            },
            limit,
            handshake: Some((member, result)),
        });
    }

    /// Gives the program a new socket. If that fails, one that has been accepted or peeled off is kept for the next call.
    fn give(&mut self, notification: &Notification, new: New) {
        let id = notification.id;
        let given = self
            .listener
            .give(id, new.program.as_fd(), new.number, new.closes_on_exec);
        match (given, new.origin) {
            (Ok(()), _) => {
                let _ = self.sockets.enter(new.socket, &new.program);
            }
            (Err(error), Some(origin)) => {
                if origin.style == Style::OneToOne {
                    origin.mark(true);
                }
                self.ungiven.push((origin, new.socket, new.program));
                self.refuse(id, Err(error));
            }
            (Err(error), None) => {
                sockets::close(new.socket);
                self.refuse(id, Err(error));
            }
        }
    }

    /// A socket of this origin that an interrupted call has not given to the program.
    fn take_ungiven(
        &mut self,
        origin: &Arc<Socket>,
        is_wanted: impl Fn(&Socket) -> bool,
    ) -> Option<(Arc<Socket>, OwnedFd)> {
        let is_it =
            |(from, new, _): &mut (Arc<Socket>, Arc<Socket>, _)| Arc::ptr_eq(from, origin) && is_wanted(new);
        let (_, new, program) = self.ungiven.extract_if(.., is_it).next()?;
        if origin.style == Style::OneToOne {
            origin.mark(false);
        }
        Some((new, program))
    }

    /// Forgets what interrupted calls have taken from sockets that are closed now.
    fn forget_closed(&mut self) {
        let sockets = &self.sockets;
        self.returned.retain(|(socket, _)| sockets.contains(socket));
        let is_orphan = |(origin, ..): &mut (Arc<Socket>, _, _)| !sockets.contains(origin);
        for (_, socket, _) in self.ungiven.extract_if(.., is_orphan) {
            sockets::close(socket);
        }
    }

    /// Answers a call whose descriptor could not be given.
    fn refuse(&self, id: u64, given: Result<(), Errno>) {
        if let Err(error) = given {
            // The number is beyond the program's limit.
            let number = if error.0 == libc::EBADF {
                libc::EMFILE
            } else {
                error.0
            };
            let _ = self.listener.answer(id, Err(Errno(number)));
        }
    }
}
