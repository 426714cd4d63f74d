//! Client of a test. What does it do? Sets up all associations, compares the clocks, measures, and reports what both ends measured.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch::{Association, Endpoint};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout, timeout_at};

use super::clock::{self, Basis, Offset};
use super::control::{Control, VERSION};
use super::figures::Figures;
use super::histogram::Histogram;
use super::report::{Measured, headline, start_of};
use super::session::Session;
use super::task::Task;
use super::{FAREWELL, association_config};
use crate::arguments::TestArguments;
use crate::failure::Failure;
use crate::first_use::Meeting;
use crate::interrupt::Interrupt;
use crate::keys::{self, SenderKeys};
use crate::network::{self, Guarded};
use crate::output::{Event, IntervalReport, Reporter};
use crate::parse::PeerAddresses;
use crate::verb::send::{resolve, sender_keys, sockets};

/// Number of exchanges by which the clocks are compared before the measurement.
const COMPARISONS: usize = 10;

/// Interval of the exchanges that measure round-trip times.
const ECHO: Duration = Duration::from_millis(100);

/// How long the server may take to report.
const REPORT: Duration = Duration::from_secs(5);

/// What the user starts at the other end.
const PROGRAM: &str = "anabranch test --server";

/// Carries out a test.
pub(super) async fn run(
    arguments: TestArguments,
    to: PeerAddresses,
    reporter: &dyn Reporter,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let task = Task::of(&arguments);
    task.check().map_err(Failure::Usage)?;
    let mut config = association_config(&arguments.settings)?;
    config.outbound_streams = config.outbound_streams.max(task.streams + 1);
    let keys = sender_keys(arguments.insecure, arguments.key.as_deref(), &to)?;
    let remotes = interrupt.or(resolve(&to)).await?;
    let opened = sockets(arguments.from.as_ref(), &remotes)?;
    let warn = |message: &str| {
        reporter.report(&Event::Warning {
            transfer: None,
            path: None,
            message,
        });
    };
    for text in opened.warnings.iter().chain(&keys::key_log_warning()) {
        warn(text);
    }
    let keys = match keys {
        SenderKeys::Unknown { .. } => {
            let meeting = Meeting {
                hosts: &to.hosts,
                remotes: &remotes,
                settings: &arguments.settings,
                patience: arguments.timeout,
                accepts: arguments.accept_new,
                is_free: !arguments.output.is_json(),
                program: PROGRAM,
            };
            let work = meeting.trust(opened.sockets.clone(), warn);
            keys.trusting(interrupt.or(work).await?)
        }
        known => known,
    };
    let builder = keys::send_by(network::endpoint_on(opened.sockets, config), &keys);
    let endpoint = builder
        .connect_timeout(arguments.timeout)
        .bind()
        .await
        .map_err(Failure::work)?;
    let client = Client {
        endpoint: &endpoint,
        remotes: &remotes,
        keys: &keys,
        task: &task,
        patience: arguments.timeout,
        reporter,
    };
    let result = client.test(interrupt).await;
    network::close(&endpoint).await;
    result
}

struct Client<'c> {
    endpoint: &'c Endpoint,
    remotes: &'c [SocketAddr],
    keys: &'c SenderKeys,
    task: &'c Task,
    patience: Duration,
    reporter: &'c dyn Reporter,
}

/// Everything that the measurement needs.
struct Prepared {
    control: Guarded,
    associations: Vec<Guarded>,
    /// By how much the server's clock is ahead, in nanoseconds.
    offset: i64,
    basis: Basis,
}

impl Client<'_> {
    async fn test(&self, interrupt: &mut Interrupt) -> Result<(), Failure> {
        let prepared = interrupt.or(self.prepare()).await?;
        let Prepared {
            control,
            associations,
            offset,
            basis,
        } = prepared;
        let peer = network::named(self.remotes);
        self.reporter
            .report(&Event::TestBegins(&headline(self.task, &peer)));
        let start = start_of(self.task, !self.keys.is_insecure(), associations.iter());
        let mut running = Running {
            control: &control,
            task: self.task,
            session: Session::begin(
                self.task,
                true,
                self.task.interval(),
                associations,
                offset.saturating_neg(),
            ),
            reporter: self.reporter,
            patience: self.patience,
            intervals: Vec::new(),
            round_trips: Histogram::default(),
        };
        let ended = running.measure(interrupt).await;
        let ours = running.session.figures();
        let (theirs, failure) = match ended {
            Ok((theirs, false)) => (Some(theirs), None),
            Ok((theirs, true)) => (Some(theirs), Some(Failure::Interrupted)),
            Err(failure) => (None, Some(failure)),
        };
        let measured = Measured {
            task: self.task,
            is_client: true,
            start,
            intervals: running.intervals,
            ours,
            theirs,
            basis,
            round_trips: running.round_trips.summary(),
            error: failure.as_ref().map(Failure::to_string),
        };
        self.reporter.report(&Event::Test(&measured.report()));
        for association in running.session.associations() {
            association.abort("the test is over");
        }
        let _ = timeout(FAREWELL, control.shutdown()).await;
        failure.map_or(Ok(()), Err)
    }

    /// Agrees on the test, sets up its associations and compares the clocks.
    async fn prepare(&self) -> Result<Prepared, Failure> {
        let control = self.connect().await?;
        let salt = keys::token()?;
        let ask = Control::Test {
            version: VERSION,
            task: self.task.clone(),
            clock: clock::name(&salt),
            salt,
        };
        ask.send(&control).await?;
        let Control::Accept {
            version: VERSION,
            test,
            same_clock,
        } = hear(&control, self.patience).await?
        else {
            return Err(out_of_turn());
        };
        let mut associations = Vec::new();
        for number in 0..self.task.associations {
            let association = self.connect().await?;
            let test = test.clone();
            Control::Data { test, number }.send(&association).await?;
            associations.push(association);
        }
        if hear(&control, self.patience).await? != Control::Ready {
            return Err(out_of_turn());
        }
        let (offset, basis) = self.compare_clocks(&control, same_clock).await?;
        let error = match basis {
            Basis::SameClock => None,
            Basis::Estimated { error } => Some(error),
        };
        Control::Start { offset, error }.send(&control).await?;
        Ok(Prepared {
            control,
            associations,
            offset,
            basis,
        })
    }

    async fn connect(&self) -> Result<Guarded, Failure> {
        let connected =
            network::try_connect(self.endpoint, self.remotes, self.patience, self.keys, PROGRAM).await;
        connected.map_err(|unconnected| unconnected.failure)
    }

    async fn compare_clocks(&self, control: &Association, same_clock: bool) -> Result<(i64, Basis), Failure> {
        let mut offset = Offset::default();
        for _ in 0..COMPARISONS {
            let sent = clock::now();
            let received = None;
            Control::Clock { sent, received }.send(control).await?;
            match hear(control, self.patience).await? {
                Control::Clock {
                    sent,
                    received: Some(received),
                } => offset.add(sent, received, clock::now()),
                _ => return Err(out_of_turn()),
            }
        }
        Ok(offset.estimate(same_clock))
    }
}

/// A measurement at the client.
struct Running<'r> {
    control: &'r Association,
    task: &'r Task,
    session: Session,
    reporter: &'r dyn Reporter,
    patience: Duration,
    intervals: Vec<IntervalReport>,
    round_trips: Histogram,
}

impl Running<'_> {
    /// Measures until both ends have sent everything or the user interrupts; returns what the server has measured, and whether the
    /// user has interrupted.
    async fn measure(&mut self, interrupt: &mut Interrupt) -> Result<(Figures, bool), Failure> {
        let (mut own, mut of_server) = (None, (!self.task.sends(false)).then_some(0));
        let mut echoes = interval(ECHO);
        echoes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard_at = Instant::now();
        let is_interrupted = loop {
            if let (Some(_), Some(expected)) = (own, of_server) {
                self.session.settle(expected).await;
                break false;
            }
            tokio::select! {
                () = interrupt.wait() => break true,
                () = sleep_until(self.session.interval_end()) => self.end_interval(false),
                _ = echoes.tick() => {
                    if heard_at.elapsed() > self.patience {
                        let text = format!("nothing was heard from the server for {} s", self.patience.as_secs_f64());
                        return Err(Failure::Work(text));
                    }
                    Control::Clock { sent: clock::now(), received: None }.send(self.control).await?;
                }
                sent = self.session.progress() => own = Some(sent?),
                heard = Control::next(self.control) => {
                    heard_at = Instant::now();
                    match heard? {
                        Control::Done { messages } => of_server = Some(messages),
                        other => self.on_echo(&other)?,
                    }
                }
            }
        };
        if is_interrupted {
            self.session.halt();
        }
        self.end_interval(true);
        let stop = Control::Stop {
            messages: own.unwrap_or(0),
            figures: self.session.figures(),
        };
        stop.send(self.control).await?;
        let until = Instant::now() + REPORT;
        loop {
            let heard = timeout_at(until, Control::next(self.control)).await;
            match heard.map_err(|_| Failure::work("the server did not report what it has measured"))?? {
                Control::Result { figures } => return Ok((figures, is_interrupted)),
                Control::Done { .. } => {}
                other => self.on_echo(&other)?,
            }
        }
    }

    fn on_echo(&mut self, heard: &Control) -> Result<(), Failure> {
        match heard {
            Control::Clock {
                sent,
                received: Some(_),
            } => self.round_trips.add(clock::now().saturating_sub(*sent)),
            Control::Rejected { reason } => return Err(rejected(reason)),
            _ => return Err(out_of_turn()),
        }
        Ok(())
    }

    fn end_interval(&mut self, is_last: bool) {
        if let Some(interval) = self.session.interval(is_last) {
            self.reporter.report(&Event::TestInterval(&interval));
            self.intervals.push(interval);
        }
    }
}

/// The next control message; a rejection is an error.
async fn hear(control: &Association, patience: Duration) -> Result<Control, Failure> {
    let heard = timeout(patience, Control::next(control)).await;
    let silent = || {
        Failure::Work(format!(
            "nothing was heard from the server for {} s",
            patience.as_secs_f64()
        ))
    };
    match heard.map_err(|_| silent())?? {
        Control::Rejected { reason } => Err(rejected(&reason)),
        other => Ok(other),
    }
}

fn rejected(reason: &str) -> Failure {
    Failure::Work(format!("the server refuses: {reason}"))
}

fn out_of_turn() -> Failure {
    Failure::work("the server does not follow the protocol of tests; is it anabranch of the same version?")
}

/// The peer of an association.
pub(super) fn peer_of(association: &Association) -> String {
    let paths = association.statistics().paths;
    paths
        .first()
        .map_or_else(String::new, |path| path.addr.remote.to_string())
}
