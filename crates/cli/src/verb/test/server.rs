//! Server of tests. What does it do? Serves one client at a time, and tells others that it is busy.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anabranch::{Association, Endpoint};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::client::peer_of;
use super::clock::{self, Basis};
use super::control::{Control, VERSION};
use super::figures::Figures;
use super::report::{Measured, headline, start_of};
use super::session::Session;
use super::task::Task;
use super::{FAREWELL, PORT, association_config};
use crate::arguments::TestArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::keys;
use crate::listening::{listen, listening_sockets, receiver_keys};
use crate::network::{self, Guarded};
use crate::output::{Event, IntervalReport, Reporter};

/// Maximum number of associations whose first message has not arrived.
const MAX_GREETINGS: usize = 1_024;

/// Maximum number of intervals that are kept for the results.
const MAX_INTERVALS: usize = 100_000;

/// What others are told.
const OTHER_PROGRAM: &str =
    "this is a server of tests (`anabranch test --server`); `anabranch recv` receives files";

/// Serves tests until interrupted.
pub(super) async fn run(
    arguments: TestArguments,
    reporter: &dyn Reporter,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let config = association_config(&arguments.settings)?;
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
    first: Result<Control, Failure>,
}

impl Server<'_> {
    async fn serve(&self, endpoint: &Endpoint, interrupt: &mut Interrupt) -> Result<(), Failure> {
        let mut greetings = JoinSet::new();
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
                association = endpoint.accept(), if greetings.len() < MAX_GREETINGS => {
                    let association = association.ok_or_else(|| Failure::work("the sockets of the endpoint failed"))?;
                    greetings.spawn(greet(Guarded(association), self.patience));
                }
                Some(greeting) = greetings.join_next() => {
                    let Greeting { association, first } = greeting.map_err(Failure::work)?;
                    match first {
                        Ok(Control::Test { version: VERSION, task, salt, clock }) if test.is_none() => {
                            let same_clock = !clock.is_empty() && clock::name(&salt) == clock;
                            test = Some(Box::pin(self.test(association, task, same_clock)));
                        }
                        Ok(Control::Data { test, number }) => self.join(association, &test, number),
                        Ok(other) => self.refuse(association, &other),
                        Err(failure) => self.warn(&format!("{}: {failure}", peer_of(&association))),
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
            // Without a receiver, all associations are there.
            Some(place) if place.test == test => drop(place.joins.send((number, association))),
            _ => association.abort("there is no such test"),
        }
    }

    /// Answers what begins no test.
    fn refuse(&self, association: Guarded, first: &Control) {
        let answer = match first {
            Control::Check { .. } => {
                let paths = association.statistics().paths;
                paths.first().map(|path| Control::Checked {
                    address: path.addr.remote,
                })
            }
            Control::Test { version: VERSION, .. } => {
                Some(Control::rejected("another test is running; try again later"))
            }
            Control::Test { version, .. } => Some(Control::rejected(format!(
                "the client has version {version} of the protocol of tests, the server {VERSION}; update the older one"
            ))),
            _ => Some(Control::rejected(OTHER_PROGRAM)),
        };
        let patience = self.patience;
        tokio::spawn(async move {
            if let Some(answer) = answer {
                tell(&association, &answer, patience).await;
            }
        });
    }

    /// Carries out a test. A failure names the client.
    async fn test(&self, control: Guarded, task: Task, same_clock: bool) -> Result<(), Failure> {
        let peer = peer_of(&control);
        let result = self.carry_out(&control, &task, same_clock).await;
        end_of(&control, FAREWELL).await;
        result.map_err(|failure| Failure::Work(format!("test of {peer}: {failure}")))
    }

    async fn carry_out(&self, control: &Association, task: &Task, same_clock: bool) -> Result<(), Failure> {
        if let Err(reason) = task.check() {
            Control::rejected(&reason).send(control).await?;
            return Err(Failure::Work(reason));
        }
        let associations = self.gather(control, task, same_clock).await?;
        let (offset, basis) = self.compare_clocks(control).await?;
        self.reporter
            .report(&Event::TestBegins(&headline(task, &peer_of(control))));
        let start = start_of(task, self.encrypted, associations.iter());
        let mut running = Running {
            control,
            session: Session::begin(task, false, task.interval(), associations, offset),
            reporter: self.reporter,
            patience: self.patience,
            stop: &self.stop,
            intervals: self.keeps_intervals.then(Vec::new),
        };
        let ended = running.measure().await;
        let ours = running.session.figures();
        let last = match &ended {
            Ok(_) => Control::Result {
                figures: ours.clone(),
            },
            Err(Failure::Interrupted) => Control::rejected("the server was interrupted"),
            Err(failure) => Control::rejected(failure),
        };
        // If the client is gone, our figures are reported nevertheless.
        let _ = last.send(control).await;
        let error = ended.as_ref().err().map(Failure::to_string);
        let (theirs, result) = match ended {
            Ok(theirs) => (Some(theirs), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let measured = Measured {
            task,
            is_client: false,
            start,
            intervals: running.intervals.unwrap_or_default(),
            ours,
            theirs,
            basis,
            round_trips: None,
            error,
        };
        self.reporter.report(&Event::Test(&measured.report()));
        // The client ends the association when it has the results; those that carry data end with the session.
        end_of(control, FAREWELL).await;
        result
    }

    /// Accepts the test and waits for its associations.
    async fn gather(
        &self,
        control: &Association,
        task: &Task,
        same_clock: bool,
    ) -> Result<Vec<Guarded>, Failure> {
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
        accept.send(control).await?;
        let until = Instant::now() + self.patience;
        let mut associations = BTreeMap::new();
        while associations.len() < usize::from(task.associations) {
            let next = timeout_at(until, joined.recv()).await;
            let missing = || Failure::work("not all associations of the test were set up");
            let (number, association) = next.ok().flatten().ok_or_else(missing)?;
            if number >= task.associations || associations.insert(number, association).is_some() {
                return Err(out_of_turn());
            }
        }
        Control::Ready.send(control).await?;
        Ok(associations.into_values().collect())
    }

    /// Answers the questions for our clock until the measurement begins.
    async fn compare_clocks(&self, control: &Association) -> Result<(i64, Basis), Failure> {
        loop {
            match hear(control, self.patience).await? {
                Control::Clock { sent, received: None } => answer_clock(control, sent).await?,
                Control::Start { offset, error } => {
                    let basis = error.map_or(Basis::SameClock, |error| Basis::Estimated { error });
                    return Ok((offset, basis));
                }
                _ => return Err(out_of_turn()),
            }
        }
    }
}

/// A measurement at the server.
struct Running<'r> {
    control: &'r Association,
    session: Session,
    reporter: &'r dyn Reporter,
    patience: Duration,
    stop: &'r Notify,
    /// `None` if they are not kept.
    intervals: Option<Vec<IntervalReport>>,
}

impl Running<'_> {
    /// Measures until the client says that it is over; returns what the client has measured.
    async fn measure(&mut self) -> Result<Figures, Failure> {
        let mut heard_at = Instant::now();
        loop {
            let until = heard_at + self.patience;
            tokio::select! {
                () = self.stop.notified() => return Err(Failure::Interrupted),
                () = sleep_until(self.session.interval_end()) => self.end_interval(false),
                sent = self.session.progress() => {
                    let messages = sent?;
                    Control::Done { messages }.send(self.control).await?;
                }
                heard = timeout_at(until, Control::next(self.control)) => {
                    heard_at = Instant::now();
                    match heard.map_err(|_| silent(self.patience))?? {
                        Control::Clock { sent, received: None } => answer_clock(self.control, sent).await?,
                        Control::Stop { messages, figures } => {
                            self.session.halt();
                            self.session.settle(messages).await;
                            self.end_interval(true);
                            return Ok(figures);
                        }
                        _ => return Err(out_of_turn()),
                    }
                }
            }
        }
    }

    fn end_interval(&mut self, is_last: bool) {
        if let Some(interval) = self.session.interval(is_last) {
            self.reporter.report(&Event::TestInterval(&interval));
            // The client chooses how many there are.
            if let Some(kept) = self.intervals.as_mut().filter(|kept| kept.len() < MAX_INTERVALS) {
                kept.push(interval);
            }
        }
    }
}

/// Waits for the first message of an association.
async fn greet(association: Guarded, patience: Duration) -> Greeting {
    let first = hear(&association, patience).await;
    if first.is_err() {
        // It may be a message of another protocol.
        tell(&association, &Control::rejected(OTHER_PROGRAM), FAREWELL).await;
    }
    Greeting { association, first }
}

async fn hear(control: &Association, patience: Duration) -> Result<Control, Failure> {
    let heard = timeout(patience, Control::next(control)).await;
    heard.map_err(|_| silent(patience))?
}

async fn answer_clock(control: &Association, sent: u64) -> Result<(), Failure> {
    let received = Some(clock::now());
    Control::Clock { sent, received }.send(control).await
}

/// Sends a message, and waits for the peer to end the association.
async fn tell(association: &Association, message: &Control, patience: Duration) {
    if message.send(association).await.is_ok() {
        end_of(association, patience).await;
    }
}

/// Waits for the end of the association.
async fn end_of(association: &Association, patience: Duration) {
    let ended = async {
        while let Ok(Some(_)) = association.recv().await {}
        association.closed().await
    };
    let _ = timeout(patience, ended).await;
}

fn silent(patience: Duration) -> Failure {
    Failure::Work(format!(
        "nothing was heard from the client for {} s",
        patience.as_secs_f64()
    ))
}

fn out_of_turn() -> Failure {
    Failure::work("the client does not follow the protocol of tests; is it anabranch of the same version?")
}
