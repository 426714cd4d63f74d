//! State of this process: the sockets, and the thread that drives them. What happens at fork and at exit?
//!
//! The thread starts with the first socket that needs it. After a fork, the child begins with empty state, because threads of the
//! parent may hold its locks; `fork` says what it can do with its parent's sockets. At exit, associations that are closed but not yet
//! shut down have some time to deliver their data.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, Weak};
use std::time::Duration;

use anabranch::Association;
use tokio::runtime::{Builder, Handle};

use crate::errno::Errno;
use crate::fork::Inherited;
use crate::hub::Hub;
use crate::socket::Socket;
use crate::{ffi, fork, lock, statistics, table};

/// How often a process may fork and its child fork and so on; deeper ones share their state.
const GENERATIONS: usize = 256;

/// How long the exit of the process waits for associations to be shut down.
const EXIT_LIMIT: Duration = Duration::from_secs(10);

/// Identifiers of associations below this one have a meaning of their own.
const FIRST_ASSOC: i32 = 3;

static PROCESSES: [OnceLock<Process>; GENERATIONS] = [const { OnceLock::new() }; GENERATIONS];
static GENERATION: AtomicUsize = AtomicUsize::new(0);

type Sockets = RwLock<BTreeMap<RawFd, Arc<Socket>>>;

/// State of a process.
#[derive(Debug, Default)]
pub(crate) struct Process {
    sockets: [Sockets; 16],
    runtime: OnceLock<Handle>,
    pub(crate) hubs: Mutex<Vec<Weak<Hub>>>,
    /// Number of associations that are being shut down.
    closing: Mutex<usize>,
    closed: Condvar,
    /// Sockets of the processes that forked this one.
    inherited: OnceLock<Inherited>,
    /// Number of identifiers of associations that were given.
    identified: AtomicI32,
}

impl Process {
    pub(crate) fn current() -> &'static Self {
        let generation = GENERATION.load(Ordering::Acquire).min(GENERATIONS - 1);
        PROCESSES[generation].get_or_init(|| {
            ffi::hooks::register();
            Self::default()
        })
    }

    /// The part of the table in which a descriptor is.
    pub(crate) const fn sockets(&self, fd: RawFd) -> &Sockets {
        &self.sockets[(fd & 15) as usize]
    }

    pub(crate) fn inherited(&self) -> Option<&Inherited> {
        self.inherited.get()
    }

    pub(crate) fn inherit(&self, inherited: Inherited) {
        let _ = self.inherited.set(inherited);
    }

    /// The runtime, whose thread is started if there is none.
    ///
    /// # Errors
    ///
    /// The system denies a thread or a descriptor.
    pub(crate) fn runtime(&self) -> Result<&Handle, Errno> {
        if let Some(handle) = self.runtime.get() {
            return Ok(handle);
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        if self.runtime.set(handle).is_ok() {
            // Signals are for the threads of the program.
            ffi::hooks::without_signals(|| {
                let thread = std::thread::Builder::new().name("anabranch".into());
                thread.spawn(move || runtime.block_on(std::future::pending::<()>()))?;
                // Sockets work without.
                if let Err(Errno(number)) = statistics::watch_signal() {
                    let error = std::io::Error::from_raw_os_error(number);
                    eprintln!("anabranch: no statistics on a signal: {error}");
                }
                Ok::<(), Errno>(())
            })?;
        }
        self.runtime.get().ok_or(Errno(libc::EAGAIN))
    }

    /// An identifier for an association (`sctp_assoc_t`), which no other one had for long.
    pub(crate) fn identify(&self) -> i32 {
        let given = self.identified.fetch_add(1, Ordering::Relaxed);
        FIRST_ASSOC + given.rem_euclid(i32::MAX - FIRST_ASSOC)
    }

    /// Shuts an association down in the background. Its data is still delivered; what arrives is discarded.
    pub(crate) fn shut_down(&'static self, association: Association, hub: Arc<Hub>) {
        let Ok(runtime) = self.runtime() else { return };
        *lock(&self.closing) += 1;
        runtime.spawn(async move {
            // What was sent during the handshake is delivered too.
            let _ = association.established().await;
            let discard = async { while let Ok(Some(_)) = association.recv_part().await {} };
            let _ = tokio::join!(association.shutdown(), discard);
            statistics::record(&association);
            drop((association, hub));
            *lock(&self.closing) -= 1;
            self.closed.notify_all();
        });
    }

    /// Waits until the driver has had a turn.
    ///
    /// # Errors
    ///
    /// The system denies a thread.
    pub(crate) fn await_turn(&self) -> Result<(), Errno> {
        let runtime = self.runtime()?;
        let turn = runtime.spawn(tokio::task::yield_now());
        let _ = runtime.block_on(turn);
        Ok(())
    }

    /// Waits until the associations have ended, for `limit` at the longest (`SO_LINGER`).
    pub(crate) fn linger<'a>(&self, associations: impl Iterator<Item = &'a Association>, limit: Duration) {
        let Ok(runtime) = self.runtime() else { return };
        let all = async {
            for association in associations {
                association.closed().await;
            }
        };
        let _ = runtime.block_on(async { tokio::time::timeout(limit, all).await });
    }

    /// The process ends: closes all sockets and waits until their data is delivered.
    pub(crate) fn exit(&self) {
        if self.runtime.get().is_none() {
            return;
        }
        table::ours().for_each(table::remove);
        let closing = lock(&self.closing);
        let _ = self
            .closed
            .wait_timeout_while(closing, EXIT_LIMIT, |closing| *closing > 0);
    }
}

/// This is the child of a fork.
pub(crate) fn forked() {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    fork::after_in_child();
}

/// The process calls `exit`.
pub(crate) fn exits() {
    Process::current().exit();
}
