//! Kills at random moments. Does everything arrive, and nothing twice, although either side is killed again and again?

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Receiver, Running, anabranch};
use crate::resume::{contents, many};

/// Options of both sides: they notice soon that the other one was killed.
const PATIENCE: [&str; 2] = ["--timeout", "2s"];

/// A generator of numbers; the seed is printed by the test that fails.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Whom to kill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Victim {
    Sender,
    /// The sender goes on by itself, when the receiver is there again.
    Receiver,
    Both,
}

/// Who has written an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Sender,
    Receiver,
}

/// An event of a program; `None` at its end.
type Heard = (Side, u64, Option<Value>);

/// How a sender ended by itself.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    /// Its last error.
    error: String,
}

/// A sender and a receiver whose events are read as they come, so that neither waits for its reader.
struct Stage {
    /// What is sent, and the folder that it is in.
    top: PathBuf,
    _outbox: TempDir,
    receiver: Receiver,
    sender: Running,
    tell: mpsc::Sender<Heard>,
    heard: mpsc::Receiver<Heard>,
    /// Number of programs so far: those that were killed may have left events.
    started: u64,
    /// Numbers of the present sender and receiver.
    present: (u64, u64),
    /// Last error of the present sender.
    error: String,
}

impl Stage {
    fn new(files: u64) -> Self {
        let outbox = tempfile::tempdir().unwrap();
        let top = many(&outbox, files as usize);
        let receiver = Receiver::start("127.0.0.1", &PATIENCE);
        let sender = sender(&receiver, &top);
        let (tell, heard) = mpsc::channel();
        let mut stage = Self {
            top,
            _outbox: outbox,
            receiver,
            sender,
            tell,
            heard,
            started: 0,
            present: (0, 0),
            error: String::new(),
        };
        stage.listen(Side::Receiver);
        stage.listen(Side::Sender);
        stage
    }

    /// Reads what a new program of that side writes.
    fn listen(&mut self, side: Side) {
        self.started += 1;
        let (number, tell) = (self.started, self.tell.clone());
        let lines = match side {
            Side::Sender => {
                self.present.0 = number;
                self.error.clear();
                self.sender.take_lines()
            }
            Side::Receiver => {
                self.present.1 = number;
                self.receiver.running.take_lines()
            }
        };
        thread::spawn(move || {
            // The last line of a program that is killed may be incomplete.
            let whole = lines.map_while(Result::ok);
            let events = whole.map_while(|line| serde_json::from_str(&line).ok());
            for event in events.map(Some).chain([None]) {
                // The test may be over.
                let _ = tell.send((side, number, event));
            }
        });
    }

    /// Waits until `side` has reported `files` more files, however slow it is; the sender's end if that is sooner.
    fn wait(&mut self, side: Side, files: u64) -> Option<Ended> {
        let mut seen = 0;
        while seen < files {
            let (who, number, event) = self.heard.recv().unwrap();
            let present = match who {
                Side::Sender => self.present.0,
                Side::Receiver => self.present.1,
            };
            if number != present {
                continue;
            }
            match (who, event) {
                (Side::Sender, None) => return Some(self.ended()),
                (Side::Receiver, None) => panic!("the receiver ended by itself"),
                (Side::Sender, Some(event)) if event["event"] == "error" => {
                    self.error = event["message"].to_string();
                }
                (_, Some(event)) => seen += u64::from(who == side && event["event"] == "file"),
            }
        }
        None
    }

    fn ended(&mut self) -> Ended {
        let code = self.sender.exit_code();
        let error = std::mem::take(&mut self.error);
        Ended { code, error }
    }

    fn kill(&mut self, victim: Victim) {
        if victim != Victim::Receiver {
            self.sender.kill();
        }
        if victim != Victim::Sender {
            self.receiver.running.kill();
            self.receiver.restart(&PATIENCE);
            self.listen(Side::Receiver);
        }
        if victim != Victim::Receiver {
            self.send_again();
        }
    }

    fn send_again(&mut self) {
        self.sender = sender(&self.receiver, &self.top);
        self.listen(Side::Sender);
    }

    /// The transfer is over: everything is there, and nothing twice.
    fn check(&self, ended: &Ended, words: &str) {
        // A sender that is killed after it knew that everything is stored begins another transfer.
        let is_known = ended.error.contains("exists already");
        assert!(ended.code == Some(0) || is_known, "{words}: {ended:?}");
        let folder = self.receiver.folder.path();
        assert!(
            contents(&folder.join("many")) == contents(&self.top),
            "{words}: not what was sent"
        );
        assert_eq!(self.receiver.stored_names(), ["many"], "{words}");
    }
}

fn sender(receiver: &Receiver, top: &Path) -> Running {
    let mut command = anabranch();
    command
        .args(["send", "--json", "--to", &receiver.to, "--retry", "60s"])
        .args(PATIENCE)
        // Files of some kilobytes: the disk is what takes time.
        .args(["--limit-rate", "100Mbit"]);
    Running::start(command.arg(top))
}

/// Kills either side, or both, with SIGKILL at moments that are drawn: when it has reported a number of files since the last kill. A
/// transfer that ends is checked, and the next one begins with a new receiver, until all kills have hit a transfer.
///
/// `ANABRANCH_KILLS` is the number of kills, `ANABRANCH_KILL_FILES` that of the files and `ANABRANCH_SEED` the seed.
#[test]
fn everything_arrives_once_although_either_side_is_killed() {
    let number = |name: &str, default: u64| {
        let set = std::env::var(name).ok();
        set.map_or(default, |set| set.parse().unwrap())
    };
    let (kills, files) = (number("ANABRANCH_KILLS", 10), number("ANABRANCH_KILL_FILES", 300));
    let seed = number("ANABRANCH_SEED", 1);
    let mut numbers = Numbers(seed);
    let mut stage = Stage::new(files);
    let mut transfers = 0;
    for kill in 0..kills {
        let victim = [Victim::Sender, Victim::Receiver, Victim::Both][numbers.below(3) as usize];
        let side = match victim {
            Victim::Sender => Side::Sender,
            Victim::Receiver | Victim::Both => Side::Receiver,
        };
        // On average, one transfer takes all kills.
        let moment = numbers.below(2 * files / kills + 1);
        let words = format!("seed {seed}, kill {kill} of {victim:?} after {moment} files");
        while let Some(ended) = stage.wait(side, moment) {
            transfers += 1;
            stage.check(&ended, &words);
            stage = Stage::new(files);
        }
        eprintln!("{words}");
        stage.kill(victim);
    }
    let ended = stage.wait(Side::Sender, u64::MAX).unwrap();
    stage.check(&ended, &format!("seed {seed}, at the end"));
    eprintln!("{kills} kills in {} transfers of {files} files", transfers + 1);
}
