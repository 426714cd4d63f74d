//! When shall the program stop? At Ctrl-C, or when the system asks it to.

use std::future::Future;
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// The wish of the user or the system that the program ends. Listens from its creation on.
#[derive(Debug)]
pub(crate) struct Interrupt {
    from_user: Signal,
    from_system: Signal,
}

impl Interrupt {
    /// Listens from now on: the system no longer ends the program by itself.
    pub(crate) fn listen() -> Result<Self, Failure> {
        Ok(Self {
            from_user: signal(SignalKind::interrupt()).map_err(Failure::work)?,
            from_system: signal(SignalKind::terminate()).map_err(Failure::work)?,
        })
    }

    /// Waits for the wish.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.from_user.recv() => {}
            _ = self.from_system.recv() => {}
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
