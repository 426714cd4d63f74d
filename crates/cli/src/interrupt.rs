//! When shall the program stop? At Ctrl-C, when the system asks it to, or when its terminal goes.

use std::fs;
use std::future::{self, Future};
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// The wish of the user or the system that the program ends. Listens from its creation on.
#[derive(Debug)]
pub(crate) struct Interrupt {
    from_user: Signal,
    from_system: Signal,
    /// Unless it was started to outlive its terminal, as `nohup` does.
    from_terminal: Option<Signal>,
}

impl Interrupt {
    /// Listens from now on: the system no longer ends the program by itself.
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

    /// Waits for the wish.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.from_user.recv() => {}
            _ = self.from_system.recv() => {}
            () = comes(self.from_terminal.as_mut()) => {}
        }
    }

    /// Works until done or interrupted; then the work is dropped.
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

async fn comes(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => future::pending().await,
    }
}

/// Whether the program was started with SIGHUP, signal 1, ignored. Where the system does not tell, it is taken to be.
fn hangup_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & 1 == 1)
}

/// Work that may block for ever, and that nobody waits for who is interrupted: the end of the program is its end, too.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (tell, told) = oneshot::channel();
    thread::spawn(move || {
        // Who was interrupted does not listen any more.
        let _ = tell.send(work());
    });
    told.await
        .unwrap_or_else(|_| Err(Failure::work("a thread of the program panicked")))
}
