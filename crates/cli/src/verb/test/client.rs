//! Client of a test. What does it do? Sets up all associations, compares the clocks, measures, and reports what both ends measured.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch::Endpoint;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout, timeout_at};

use super::clock::{self, Basis, Offset};
use super::control::{Control, Peer, Role, VERSION};
use super::figures::Figures;
use super::histogram::Histogram;
use super::report::{Measured, headline, start_of};
use super::session::Session;
use super::task::Task;
use super::{FAREWELL, REPORT, association_config};
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

/// Number of associations that are set up at once. Each takes several round trips.
const AT_ONCE: usize = 16;

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
    for text in opened.warnings.iter().chain(&keys.key_log_warning()) {
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
    let connector = Connector {
        endpoint: endpoint.clone(),
        remotes,
        keys,
        patience: arguments.timeout,
    };
    let client = Client {
        connector,
        task: &task,
        keeps_intervals: arguments.output.is_json(),
        reporter,
    };
    let result = client.test(interrupt).await;
    network::close(&endpoint).await;
    result
}

/// Sets up associations with the server.
#[derive(Clone)]
struct Connector {
    endpoint: Endpoint,
    remotes: Vec<SocketAddr>,
    keys: SenderKeys,
    patience: Duration,
}

struct Client<'c> {
    connector: Connector,
    task: &'c Task,
    /// Whether the intervals are printed with the results.
    keeps_intervals: bool,
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

impl Connector {
    const fn server<'a>(&self, control: &'a Guarded) -> Peer<'a> {
        Peer {
            control: &control.0,
            role: Role::Server,
            patience: self.patience,
        }
    }

    async fn connect(&self) -> Result<Guarded, Failure> {
        let connected =
            network::try_connect(&self.endpoint, &self.remotes, self.patience, &self.keys, PROGRAM);
        connected.await.map_err(|unconnected| unconnected.failure)
    }

    /// Sets up an association that carries data, with its number.
    async fn join(self, test: String, number: u16) -> Result<(u16, Guarded), Failure> {
        let association = self.connect().await?;
        let data = Control::Data { test, number };
        self.server(&association).send(&data).await?;
        Ok((number, association))
    }
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
        let peer = network::named(&self.connector.remotes);
        self.reporter
            .report(&Event::TestBegins(&headline(self.task, &peer)));
        let start = start_of(self.task, !self.connector.keys.is_insecure(), associations.iter());
        let step = self.task.interval();
        let mut running = Running {
            server: self.connector.server(&control),
            task: self.task,
            session: Session::begin(self.task, true, step, associations, offset.saturating_neg()),
            reporter: self.reporter,
            intervals: self.keeps_intervals.then(Vec::new),
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
            intervals: running.intervals.unwrap_or_default(),
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
        let control = self.connector.connect().await?;
        let server = self.connector.server(&control);
        let salt = keys::token()?;
        let ask = Control::Test {
            version: VERSION,
            task: self.task.clone(),
            clock: clock::name(&salt),
            salt,
        };
        server.send(&ask).await?;
        let (test, same_clock) = match server.hear().await? {
            Control::Accept {
                version: VERSION,
                test,
                same_clock,
            } => (test, same_clock),
            Control::Rejected { reason } => {
                return Err(Failure::Work(format!("the server refuses: {reason}")));
            }
            other => return Err(server.unexpected(&other)),
        };
        let associations = self.associations(&test).await?;
        match server.hear().await? {
            Control::Ready => {}
            other => return Err(server.unexpected(&other)),
        }
        let (offset, basis) = compare_clocks(&server, same_clock).await?;
        let error = match basis {
            Basis::SameClock => None,
            Basis::Estimated { error } => Some(error),
        };
        server.send(&Control::Start { offset, error }).await?;
        Ok(Prepared {
            control,
            associations,
            offset,
            basis,
        })
    }

    /// Sets up the associations that carry data.
    async fn associations(&self, test: &str) -> Result<Vec<Guarded>, Failure> {
        let mut numbers = 0..self.task.associations;
        let mut connecting = JoinSet::new();
        let mut associations = BTreeMap::new();
        loop {
            while connecting.len() < AT_ONCE
                && let Some(number) = numbers.next()
            {
                connecting.spawn(self.connector.clone().join(test.to_owned(), number));
            }
            let Some(connected) = connecting.join_next().await else {
                return Ok(associations.into_values().collect());
            };
            let (number, association) = connected.map_err(Failure::work)??;
            associations.insert(number, association);
        }
    }
}

/// A measurement at the client.
struct Running<'r> {
    server: Peer<'r>,
    task: &'r Task,
    session: Session,
    reporter: &'r dyn Reporter,
    /// `None` if they are not kept.
    intervals: Option<Vec<IntervalReport>>,
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
                    if heard_at.elapsed() > self.server.patience {
                        return Err(self.server.silent());
                    }
                    self.server.send(&Control::Clock { sent: clock::now(), received: None }).await?;
                }
                sent = self.session.progress() => own = Some(sent?),
                heard = self.server.next() => {
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
        self.server.send(&stop).await?;
        let until = Instant::now() + REPORT;
        loop {
            let heard = timeout_at(until, self.server.next()).await;
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
            other => return Err(self.server.unexpected(other)),
        }
        Ok(())
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

async fn compare_clocks(server: &Peer<'_>, same_clock: bool) -> Result<(i64, Basis), Failure> {
    let mut offset = Offset::default();
    for _ in 0..COMPARISONS {
        let sent = clock::now();
        let received = None;
        server.send(&Control::Clock { sent, received }).await?;
        match server.hear().await? {
            Control::Clock {
                sent,
                received: Some(received),
            } => offset.add(sent, received, clock::now()),
            other => return Err(server.unexpected(&other)),
        }
    }
    Ok(offset.estimate(same_clock))
}
