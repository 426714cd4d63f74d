//! Interruption of the program by SIGINT, SIGTERM or SIGHUP.

use std::fs;
use std::future::{self, Future};
use std::io::{self, IsTerminal as _};
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// Signals that end the program. Listens from its creation on.
#[derive(Debug)]
pub(crate) struct Interrupt {
    from_user: Signal,
    from_system: Signal,
    /// `None` if the program was started to outlive its terminal, as with `nohup`.
    from_terminal: Option<Signal>,
}

impl Interrupt {
    /// Installs the signal handlers: the signals no longer end the program by default.
    pub(crate) fn listen() -> Result<Self, Failure> {
        Ok(Self {
            from_user: signal(SignalKind::interrupt()).map_err(Failure::work)?,
            from_system: signal(SignalKind::terminate()).map_err(Failure::work)?,
            from_terminal: (!hangup_is_ignored())
                .then(|| signal(SignalKind::hangup()))
                .transpose()
                .map_err(Failure::work)?,
        })
    }

    /// The same for a program that SIGHUP does not end.
    pub(crate) fn without_hangup() -> Result<Self, Failure> {
        Ok(Self {
            from_user: signal(SignalKind::interrupt()).map_err(Failure::work)?,
            from_system: signal(SignalKind::terminate()).map_err(Failure::work)?,
            from_terminal: None,
        })
    }

    /// Waits for a signal.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.from_user.recv() => {}
            _ = self.from_system.recv() => {}
            () = received(self.from_terminal.as_mut()) => {}
        }
    }

    /// Runs `work` until it is done or interrupted; then it is dropped.
    pub(crate) async fn or<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            result = work => result,
            () = self.wait() => Err(Failure::Interrupted),
        }
    }
}

/// SIGHUP, by which the user of a program in the background has it read its configuration again. The system sends it, too, when the
/// terminal of a program is closed.
#[derive(Debug)]
pub(crate) struct Hangup {
    signal: Signal,
    /// It ends with its terminal. One that was started by `nohup` does not.
    had_terminal: bool,
}

impl Hangup {
    /// Installs the signal handler.
    pub(crate) fn listen() -> Result<Self, Failure> {
        // A handler makes the system forget that the signal was ignored.
        let had_terminal = has_terminal() && !hangup_is_ignored();
        Ok(Self {
            signal: signal(SignalKind::hangup()).map_err(Failure::work)?,
            had_terminal,
        })
    }

    /// Waits for a signal.
    ///
    /// # Errors
    ///
    /// The terminal was closed.
    pub(crate) async fn recv(&mut self) -> Result<(), Failure> {
        // Without a handler there is no signal.
        if self.signal.recv().await.is_none() {
            future::pending::<()>().await;
        }
        match self.had_terminal && !has_terminal() {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }
}

/// Whether one of the standard streams is a terminal. One that was closed is none.
fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => future::pending().await,
    }
}

/// Whether SIGHUP (signal 1) was ignored at the start; assumed if unknown.
fn hangup_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & 1 == 1)
}

/// Runs blocking work on a thread of its own, which does not keep the program from exiting.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || {
        // The receiver is gone after an interruption.
        let _ = sender.send(work());
    });
    receiver
        .await
        .unwrap_or_else(|_| Err(Failure::work("a thread of the program panicked")))
}
