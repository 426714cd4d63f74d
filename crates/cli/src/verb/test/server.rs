//! Server of tests. What does it do? Serves one client at a time, and tells others that it is busy.

use std::collections::BTreeMap;
use std::future::Future;
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anabranch::{BufferSize, Endpoint};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::clock::{self, Basis};
use super::control::{Control, Peer, Role, VERSION};
use super::figures::Figures;
use super::report::{Measured, headline, start_of};
use super::session::Session;
use super::task::Task;
use super::{FAREWELL, PORT, REPORT, association_config};
use crate::arguments::TestArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::keys;
use crate::listening::{UNACCEPTED_BUFFER, listen, listening_sockets, receiver_keys};
use crate::network::{self, Guarded};
use crate::output::{Event, IntervalReport, Reporter};

/// Maximum number of associations that belong to no test: their first message has not arrived, or they are refused.
const MAX_UNKNOWN: usize = 1_024;

/// Maximum number of streams and paths in the intervals that are kept for the results.
const MAX_KEPT: usize = 500_000;

/// Minimum time between two intervals that are printed.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);

/// What others are told.
const OTHER_PROGRAM: &str =
    "this is a server of tests (`anabranch test --server`); `anabranch recv` receives files";

/// Serves tests until interrupted.
pub(super) async fn run(
    arguments: TestArguments,
    reporter: &dyn Reporter,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let mut config = association_config(&arguments.settings)?;
    let buffer = mem::replace(&mut config.receive_buffer, BufferSize::Fixed(UNACCEPTED_BUFFER));
    let sockets = listening_sockets(arguments.listen.as_ref(), PORT)?;
    let keys = receiver_keys(
        arguments.insecure,
        arguments.key.as_deref(),
        arguments.allow.clone(),
        reporter,
    )?;
    let endpoint = listen(sockets, config, &keys).await?;
    let addresses = endpoint.local_addrs();
    reporter.report(&Event::TestListening {
        addresses: &addresses,
        to: keys.address(&addresses).as_deref(),
    });
    let server = Server {
        reporter,
        one_off: arguments.one_off,
        encrypted: !arguments.insecure,
        patience: arguments.timeout,
        buffer,
        keeps_intervals: arguments.output.is_json(),
        running: Mutex::default(),
        stop: Notify::new(),
    };
    let result = server.serve(&endpoint, interrupt).await;
    network::close(&endpoint).await;
    result
}

struct Server<'s> {
    reporter: &'s dyn Reporter,
    one_off: bool,
    encrypted: bool,
    patience: Duration,
    /// Receive buffer of the associations of a test.
    buffer: BufferSize,
    /// Whether the intervals are printed with the results.
    keeps_intervals: bool,
    running: Mutex<Option<Place>>,
    /// Ends the running test, whose results are printed then.
    stop: Notify,
}

/// Where the associations of the running test go.
#[derive(Debug)]
struct Place {
    test: String,
    joins: mpsc::UnboundedSender<(u16, Guarded)>,
}

/// The first message of a client.
struct Greeting {
    association: Guarded,
    /// Its address.
    peer: String,
    first: Result<Control, Failure>,
}

impl Server<'_> {
    async fn serve(&self, endpoint: &Endpoint, interrupt: &mut Interrupt) -> Result<(), Failure> {
        let mut unknown = JoinSet::new();
        let mut test = None;
        let mut is_interrupted = false;
        loop {
            let running = async {
                match &mut test {
                    Some(running) => std::pin::Pin::as_mut(running).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                association = endpoint.accept(), if unknown.len() < MAX_UNKNOWN => {
                    let association = association.ok_or_else(|| Failure::work("the sockets of the endpoint failed"))?;
                    unknown.spawn(greet(Guarded(association), self.patience));
                }
                Some(ended) = unknown.join_next() => {
                    // Nothing comes of those that were refused.
                    let Some(Greeting { association, peer, first }) = ended.map_err(Failure::work)? else {
                        continue;
                    };
                    match first {
                        Ok(Control::Test { version: VERSION, task, salt, clock }) if test.is_none() => {
                            let same_clock = !clock.is_empty() && clock::name(&salt) == clock;
                            test = Some(Box::pin(self.test(association, peer, task, same_clock)));
                        }
                        Ok(Control::Data { test, number }) => self.join(association, &test, number),
                        Ok(other) => drop(unknown.spawn(refuse(association, other, self.patience))),
                        Err(failure) => self.warn(&format!("{peer}: {failure}")),
                    }
                }
                () = interrupt.wait() => {
                    if test.is_none() || is_interrupted {
                        return Err(Failure::Interrupted);
                    }
                    is_interrupted = true;
                    self.stop.notify_one();
                }
                ended = running => {
                    if is_interrupted {
                        return Err(Failure::Interrupted);
                    }
                    test = None;
                    *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    if self.one_off {
                        return ended;
                    }
                    if let Err(failure) = ended {
                        self.warn(&failure.to_string());
                    }
                }
            }
        }
    }

    fn warn(&self, message: &str) {
        self.reporter.report(&Event::Error {
            transfer: None,
            message,
            exit_code: None,
        });
    }

    /// Hands an association to the test that it names.
    fn join(&self, association: Guarded, test: &str, number: u16) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match &*running {
            Some(place) if place.test == test => {
                // If the association has ended, the test reports it.
                let _ = association.set_receive_buffer(self.buffer);
                // Without a receiver, all associations are there.
                let _ = place.joins.send((number, association));
            }
            _ => association.abort("there is no such test"),
        }
    }

    /// Carries out a test. A failure names the client.
    async fn test(
        &self,
        control: Guarded,
        from: String,
        task: Task,
        same_clock: bool,
    ) -> Result<(), Failure> {
        let _ = control.set_receive_buffer(self.buffer);
        let peer = Peer {
            control: &control,
            role: Role::Client,
            patience: self.patience,
        };
        let prepared = self.unless_stopped(self.prepare(&peer, &task, same_clock)).await;
        let result = match prepared {
            Ok(prepared) => self.measure(&peer, &from, &task, prepared).await,
            Err(failure) => {
                peer.within(FAREWELL).tell(&rejection(&failure)).await;
                Err(failure)
            }
        };
        result.map_err(|failure| Failure::Work(format!("test of {from}: {failure}")))
    }

    /// The result of `work`, unless the user interrupts.
    async fn unless_stopped<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        tokio::select! {
            () = self.stop.notified() => Err(Failure::Interrupted),
            done = work => done,
        }
    }

    /// Accepts the task, waits for its associations, and answers the questions for our clock.
    async fn prepare(&self, peer: &Peer<'_>, task: &Task, same_clock: bool) -> Result<Prepared, Failure> {
        task.check().map_err(Failure::Work)?;
        let associations = self.gather(peer, task, same_clock).await?;
        // Each exchange has the patience of `hear`; this ends a client that asks for the clock for ever. It is longer, so that `hear` reports
        // a client that is silent.
        let compared = timeout(2 * self.patience, compare_clocks(peer)).await;
        let (offset, basis) =
            compared.map_err(|_| Failure::work("the client did not begin to measure"))??;
        Ok(Prepared {
            associations,
            offset,
            basis,
        })
    }

    async fn measure(
        &self,
        peer: &Peer<'_>,
        from: &str,
        task: &Task,
        prepared: Prepared,
    ) -> Result<(), Failure> {
        let Prepared {
            associations,
            offset,
            basis,
        } = prepared;
        self.reporter.report(&Event::TestBegins(&headline(task, from)));
        let start = start_of(task, self.encrypted, associations.iter());
        let step = interval_of(task, self.keeps_intervals);
        let mut running = Running {
            peer,
            session: Session::begin(task, false, step, associations, offset),
            reporter: self.reporter,
            intervals: self.keeps_intervals.then(Kept::default),
        };
        let ended = self.unless_stopped(running.measure()).await;
        let ours = running.session.figures();
        let last = match &ended {
            Ok(_) => Control::Result {
                figures: ours.clone(),
            },
            Err(failure) => rejection(failure),
        };
        // If the client is gone, our figures are reported nevertheless.
        let _ = peer.within(FAREWELL).send(&last).await;
        let error = ended.as_ref().err().map(Failure::to_string);
        let (theirs, result) = match ended {
            Ok(theirs) => (Some(theirs), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let measured = Measured {
            task,
            is_client: false,
            start,
            intervals: running.intervals.take().unwrap_or_default().intervals,
            ours,
            theirs,
            basis,
            round_trips: None,
            error,
        };
        self.reporter.report(&Event::Test(&measured.report()));
        // The client ends the association when it has the results; those that carry data end with the session.
        peer.end(if result.is_ok() { REPORT } else { FAREWELL }).await;
        result
    }

    /// Accepts the test and waits for its associations.
    async fn gather(&self, peer: &Peer<'_>, task: &Task, same_clock: bool) -> Result<Vec<Guarded>, Failure> {
        let test = keys::token()?;
        let (joins, mut joined) = mpsc::unbounded_channel();
        let place = Place {
            test: test.clone(),
            joins,
        };
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        let accept = Control::Accept {
            version: VERSION,
            test,
            same_clock,
        };
        peer.send(&accept).await?;
        let mut associations = BTreeMap::new();
        while associations.len() < usize::from(task.associations) {
            let next = timeout(self.patience, joined.recv()).await;
            let missing = || Failure::work("not all associations of the test were set up");
            let (number, association) = next.ok().flatten().ok_or_else(missing)?;
            if number >= task.associations || associations.insert(number, association).is_some() {
                return Err(Failure::work("the client numbers its associations wrongly"));
            }
        }
        peer.send(&Control::Ready).await?;
        Ok(associations.into_values().collect())
    }
}

/// Interval of the reports. The client chooses it, so printed ones have a limit of their own.
fn interval_of(task: &Task, are_kept: bool) -> Duration {
    match are_kept {
        true => task.interval(),
        false => task.interval().max(LEAST_INTERVAL),
    }
}

/// Everything that the measurement needs.
struct Prepared {
    associations: Vec<Guarded>,
    /// By how much our clock is ahead of the client's, in nanoseconds.
    offset: i64,
    basis: Basis,
}

/// Intervals for the results. The client chooses how many there are, and how long.
#[derive(Debug, Default)]
struct Kept {
    intervals: Vec<IntervalReport>,
    /// Streams and paths in them.
    size: usize,
}

impl Kept {
    /// Keeps an interval while there is room.
    fn push(&mut self, interval: IntervalReport) {
        let streams = [&interval.sent, &interval.received];
        let streams = streams.into_iter().flatten().map(Vec::len);
        self.size = self
            .size
            .saturating_add(streams.sum::<usize>() + interval.paths.len());
        if self.size <= MAX_KEPT {
            self.intervals.push(interval);
        }
    }
}

/// A measurement at the server.
struct Running<'r> {
    peer: &'r Peer<'r>,
    session: Session,
    reporter: &'r dyn Reporter,
    /// `None` if they are not kept.
    intervals: Option<Kept>,
}

impl Running<'_> {
    /// Measures until the client says that it is over; returns what the client has measured.
    async fn measure(&mut self) -> Result<Figures, Failure> {
        let mut heard_at = Instant::now();
        loop {
            let until = heard_at + self.peer.patience;
            tokio::select! {
                () = sleep_until(self.session.interval_end()) => self.end_interval(false),
                sent = self.session.progress() => {
                    let messages = sent?;
                    self.peer.send(&Control::Done { messages }).await?;
                }
                heard = timeout_at(until, self.peer.next()) => {
                    heard_at = Instant::now();
                    match heard.map_err(|_| self.peer.silent())?? {
                        Control::Clock { sent, received: None } => answer_clock(self.peer, sent).await?,
                        Control::Stop { messages, figures } => {
                            self.session.halt();
                            self.session.settle(messages).await;
                            self.end_interval(true);
                            return Ok(figures);
                        }
                        other => return Err(self.peer.unexpected(&other)),
                    }
                }
            }
        }
    }

    fn end_interval(&mut self, is_last: bool) {
        if let Some(interval) = self.session.interval(is_last) {
            self.reporter.report(&Event::TestInterval(&interval));
            if let Some(kept) = &mut self.intervals {
                kept.push(interval);
            }
        }
    }
}

/// Waits for the first message of an association.
async fn greet(association: Guarded, patience: Duration) -> Option<Greeting> {
    let peer = association.peer_addr();
    let peer = peer.map_or_else(String::new, |address| address.to_string());
    let client = Peer {
        control: &association,
        role: Role::Client,
        patience,
    };
    let first = client.hear().await;
    if first.is_err() {
        // It may be a message of another protocol.
        client
            .within(FAREWELL)
            .tell(&Control::rejected(OTHER_PROGRAM))
            .await;
    }
    Some(Greeting {
        association,
        peer,
        first,
    })
}

/// Answers a first message that begins no test.
async fn refuse(association: Guarded, first: Control, patience: Duration) -> Option<Greeting> {
    let (answer, patience) = match first {
        // It measures the path MTU before it ends the association.
        Control::Check { .. } => (
            Control::Checked {
                address: association.peer_addr()?,
            },
            patience,
        ),
        Control::Test { version: VERSION, .. } => (
            Control::rejected("another test is running; try again later"),
            FAREWELL,
        ),
        Control::Test { version, .. } => (
            Control::rejected(format!(
                "the client has version {version} of the protocol of tests, the server {VERSION}; update the older one"
            )),
            FAREWELL,
        ),
        _ => (Control::rejected(OTHER_PROGRAM), FAREWELL),
    };
    let peer = Peer {
        control: &association,
        role: Role::Client,
        patience,
    };
    peer.tell(&answer).await;
    None
}

/// Answers the questions for our clock until the measurement begins.
async fn compare_clocks(peer: &Peer<'_>) -> Result<(i64, Basis), Failure> {
    loop {
        match peer.hear().await? {
            Control::Clock { sent, received: None } => answer_clock(peer, sent).await?,
            Control::Start { offset, error } => {
                let basis = error.map_or(Basis::SameClock, |error| Basis::Estimated { error });
                return Ok((offset, basis));
            }
            other => return Err(peer.unexpected(&other)),
        }
    }
}

async fn answer_clock(peer: &Peer<'_>, sent: u64) -> Result<(), Failure> {
    let received = Some(clock::now());
    peer.send(&Control::Clock { sent, received }).await
}

/// What the client is told of a failure.
fn rejection(failure: &Failure) -> Control {
    match failure {
        Failure::Interrupted => Control::rejected("the server was interrupted"),
        other => Control::rejected(other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::meter::Count;
    use super::super::session::amount;
    use super::super::task::tests::example;
    use super::*;
    use crate::output::StreamAmount;

    #[test]
    fn server_prints_one_interval_per_second_at_most() {
        let task = Task {
            interval_seconds: 0.01,
            ..example()
        };
        assert_eq!(interval_of(&task, false), Duration::from_secs(1));
        assert_eq!(interval_of(&task, true), Duration::from_millis(10));
    }

    #[test]
    fn intervals_are_kept_until_their_streams_and_paths_are_many() {
        let mut kept = Kept::default();
        let stream = StreamAmount {
            socket: 1,
            stream: 1,
            amount: amount((0.0, 1.0), Count::default(), true),
        };
        let interval = IntervalReport {
            sent: Some(vec![stream; MAX_KEPT / 5]),
            received: Some(vec![stream; MAX_KEPT / 5]),
            paths: Vec::new(),
        };
        for _ in 0..4 {
            kept.push(interval.clone());
        }
        assert_eq!(kept.intervals.len(), 2);
    }
}
