//! One scenario from its beginning to its end: what became of the file?

use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::draw::{Happening, RandomScenario, What};
use super::outage::Expected;
use super::program::{Program, Role, Said};
use super::site::Site;
use crate::harness::file;
use crate::network::Turn;
use crate::transfer::{anabranch_on, key_of};

/// How long a program may take to begin.
const TO_BEGIN: Duration = Duration::from_secs(60);

/// How long both programs may take to end after the file could have been sent, in milliseconds.
const TO_END: u64 = 40_000;

/// How a scenario ended as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The file arrived whole.
    Stored,
    /// Both programs said why not, and nothing got through for longer than they wait.
    Error(String),
}

/// Runs a scenario; `None` without the right to make namespaces. What happens is added to `transcript`.
///
/// # Errors
///
/// What should not have been.
pub(crate) fn run(
    scenario: &RandomScenario,
    turn: &Turn,
    transcript: &mut String,
) -> Option<Result<Outcome, String>> {
    let site = Site::make(scenario, turn)?;
    let mut course = Course::begin(scenario, &site, transcript);
    let finished = course.play(scenario, &site);
    Some(finished.and_then(|()| course.judge(scenario)))
}

/// A change of the network or of the programs.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: u64,
    what: What,
    begins: bool,
}

/// A scenario that runs.
#[derive(Debug)]
struct Course<'a> {
    sender: End,
    receiver: End,
    said: Receiver<Said>,
    sent: std::path::PathBuf,
    inbox: TempDir,
    _outbox: TempDir,
    began: Instant,
    /// When one of the programs ended last.
    ended: Instant,
    transcript: &'a mut String,
}

/// One of the two programs, and what it said.
#[derive(Debug)]
struct End {
    program: Program,
    events: Vec<Value>,
    has_ended: bool,
}

impl End {
    const fn new(program: Program) -> Self {
        Self {
            program,
            events: Vec::new(),
            has_ended: false,
        }
    }

    fn event(&self, name: &str) -> Option<&Value> {
        self.events.iter().rev().find(|event| event["event"] == name)
    }
}

impl<'a> Course<'a> {
    fn begin(scenario: &RandomScenario, site: &Site, transcript: &'a mut String) -> Self {
        let outbox = tempfile::tempdir().unwrap();
        let sent = file(&outbox, "big.bin", scenario.bytes);
        let inbox = tempfile::tempdir().unwrap();
        let (said, hears) = mpsc::channel();
        let mut receive = anabranch_on(&site.server);
        receive.args(["recv", "--json", "--once"]).arg(inbox.path());
        let receiver = Program::start(&mut receive, Role::Receiver, said.clone());
        let key = loop {
            match hears.recv_timeout(TO_BEGIN).unwrap() {
                (_, Some(event)) if event["event"] == "listening" => break key_of(&event),
                (_, Some(_)) => {}
                (_, None) => panic!("the receiver does not begin"),
            }
        };
        let mut send = anabranch_on(&site.client);
        let to = format!("{key}@{}", site.server_addresses());
        send.args(["send", "--json", "--to", &to]);
        if scenario.names_devices {
            send.args(["--from", &site.devices()]);
        }
        let sender = Program::start(send.arg(&sent), Role::Sender, said);
        Self {
            sender: End::new(sender),
            receiver: End::new(receiver),
            said: hears,
            sent,
            inbox,
            _outbox: outbox,
            began: Instant::now(),
            ended: Instant::now(),
            transcript,
        }
    }

    fn end_of(&mut self, role: Role) -> &mut End {
        match role {
            Role::Sender => &mut self.sender,
            Role::Receiver => &mut self.receiver,
        }
    }

    /// Lets happen what is to happen, until both programs have ended.
    fn play(&mut self, scenario: &RandomScenario, site: &Site) -> Result<(), String> {
        self.hear_until(Instant::now() + TO_BEGIN, |course| {
            course.sender.event("connected").is_some()
        });
        if self.sender.event("connected").is_none() {
            return Err("the sender does not connect".to_owned());
        }
        self.began = Instant::now();
        let changes = changes_of(&scenario.happenings);
        for change in changes {
            self.hear_until(self.began + Duration::from_millis(change.at), |_| false);
            if self.have_ended() {
                return Ok(());
            }
            let verb = if change.begins { "begins" } else { "ends" };
            self.note(&format!("{verb}: {:?}", change.what));
            self.apply(change, site);
        }
        let deadline = self.began + deadline(scenario);
        self.hear_until(deadline, |_| false);
        if self.have_ended() {
            return Ok(());
        }
        let hanging = |end: &End, name| if end.has_ended { "" } else { name };
        let (sender, receiver) = (
            hanging(&self.sender, " sender"),
            hanging(&self.receiver, " receiver"),
        );
        Err(format!("hangs:{sender}{receiver}"))
    }

    fn apply(&self, change: Change, site: &Site) {
        match (change.what, change.begins) {
            (What::SuspendedSender, true) => self.sender.program.freeze(),
            (What::SuspendedSender, false) => self.sender.program.thaw(),
            (What::SuspendedReceiver, true) => self.receiver.program.freeze(),
            (What::SuspendedReceiver, false) => self.receiver.program.thaw(),
            (what, true) => site.begin(what),
            (what, false) => site.end(what),
        }
    }

    fn have_ended(&self) -> bool {
        self.sender.has_ended && self.receiver.has_ended
    }

    /// Listens to both programs until then, or until both have ended or `is_enough`.
    fn hear_until(&mut self, then: Instant, is_enough: impl Fn(&Self) -> bool) {
        while !self.have_ended() && !is_enough(self) {
            match self
                .said
                .recv_timeout(then.saturating_duration_since(Instant::now()))
            {
                Ok((role, Some(event))) => {
                    self.note(&format!("{role:?}: {event}"));
                    self.end_of(role).events.push(event);
                }
                Ok((role, None)) => {
                    self.note(&format!("{role:?} has ended"));
                    self.end_of(role).has_ended = true;
                    self.ended = Instant::now();
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn note(&mut self, what: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        writeln!(self.transcript, "{seconds:7.3} {what}").unwrap();
    }

    /// Whether what became of the file is right.
    fn judge(mut self, scenario: &RandomScenario) -> Result<Outcome, String> {
        let (sent, sender_said) = self.sender.program.end();
        let (stored, receiver_said) = self.receiver.program.end();
        self.note(&format!("sender: exit code {sent:?} {sender_said}"));
        self.note(&format!("receiver: exit code {stored:?} {receiver_said}"));
        let expected = scenario.expected();
        let is_whole = is_same(&self.sent, &self.inbox.path().join("big.bin"));
        match (sent, stored) {
            (Some(0), Some(0)) if is_whole => self.in_time(scenario),
            (_, Some(0)) if !is_whole => Err("the files differ".to_owned()),
            (Some(0), _) => Err(format!("sent, but the receiver says: {receiver_said}")),
            // The last packets may get lost after the file is stored.
            (Some(1), Some(0)) if expected != Expected::Stored => self.clear_error(),
            (Some(1), Some(1)) if expected != Expected::Stored => {
                // What can be resumed stays in a hidden folder.
                if self.inbox.path().join("big.bin").exists() {
                    return Err("there is a file, but the transfer failed".to_owned());
                }
                self.clear_error()
            }
            _ => Err(format!(
                "a path was there, but exit codes {sent:?} {stored:?}; sender: {}; receiver: {}",
                error_of(&self.sender),
                error_of(&self.receiver)
            )),
        }
    }

    /// Whether the uplinks that worked carried their parts.
    fn in_time(&self, scenario: &RandomScenario) -> Result<Outcome, String> {
        let took = self.ended.duration_since(self.began).as_millis();
        let ample = scenario.ample_time();
        if scenario.expected() == Expected::Stored && took > u128::from(ample) {
            return Err(format!("stored after {took} ms, where {ample} ms are ample"));
        }
        Ok(Outcome::Stored)
    }

    /// The sender's error, which tells what is wrong.
    fn clear_error(&self) -> Result<Outcome, String> {
        let error = error_of(&self.sender);
        if error.contains("nothing was heard from the peer") || error.contains("the peer gave up") {
            Ok(Outcome::Error(error))
        } else {
            Err(format!("unclear error: {error}"))
        }
    }
}

fn error_of(end: &End) -> String {
    let error = end.event("error");
    error.map_or_else(String::new, |event| event["message"].to_string())
}

fn is_same(one: &Path, other: &Path) -> bool {
    std::fs::read(one).ok() == std::fs::read(other).ok()
}

fn changes_of(happenings: &[Happening]) -> Vec<Change> {
    let begins = happenings.iter().map(|happening| Change {
        at: happening.at,
        what: happening.what,
        begins: true,
    });
    let ends = happenings.iter().filter_map(|happening| {
        Some(Change {
            at: happening.at + happening.lasts?,
            what: happening.what,
            begins: false,
        })
    });
    let mut changes: Vec<Change> = begins.chain(ends).collect();
    changes.sort_by_key(|change| change.at);
    changes
}

/// When both programs must have ended: they could have sent the file twice by the slowest uplink after everything has happened.
fn deadline(scenario: &RandomScenario) -> Duration {
    let ends = scenario
        .happenings
        .iter()
        .map(|happening| happening.at + happening.lasts.unwrap_or(0));
    let slowest = scenario
        .uplinks
        .iter()
        .map(|uplink| uplink.mbit)
        .min()
        .unwrap_or(1);
    let to_send = scenario.bytes as u64 * 8 / u64::from(slowest) / 1_000;
    Duration::from_millis(ends.max().unwrap_or(0) + 2 * to_send + TO_END)
}
