//! A program in a scenario: its events arrive beside those of others, until it ends.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command};
use std::sync::mpsc::Sender;
use std::thread;

use serde_json::Value;

use crate::harness::send_signal;

/// Which of the two programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Sender,
    Receiver,
}

/// What a program says; `None` at its end.
pub(crate) type Said = (Role, Option<Value>);

/// A program that runs; killed when dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
}

impl Program {
    /// Starts it; what it writes goes to `said`, line by line.
    pub(crate) fn start(command: &mut Command, role: Role, said: Sender<Said>) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // Nobody listens once the scenario is over.
                let _ = said.send((role, serde_json::from_str(&line).ok()));
            }
            let _ = said.send((role, None));
        });
        Self { child }
    }

    pub(crate) fn freeze(&self) {
        send_signal(self.child.id(), "-STOP");
    }

    pub(crate) fn thaw(&self) {
        send_signal(self.child.id(), "-CONT");
    }

    /// Waits for the end, which must be near: its output has ended. Its exit code and its standard error.
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut errors).unwrap();
        }
        (self.child.wait().unwrap().code(), errors)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
