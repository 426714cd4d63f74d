//! The live view in a terminal (`--tui`): the samples that the page of `--dashboard` shows, too. docs/dashboard.md describes it.
//!
//! | file | question |
//! |---|---|
//! | `check.rs` | can it be shown here? |
//! | `choice.rs` | what has the user chosen to see? |
//! | `key.rs` | which key does what? |
//! | `draw` | what is drawn where? |
//! | `input.rs` | what is waited for? |
//! | `screen.rs` | how is the terminal given back? |
//! | `show.rs` | when is it drawn? |
//!
//! It opens with the first thing that it can show. Until then, verbs print and ask as ever; what they print later is held until it closes.

mod check;
mod choice;
mod draw;
mod input;
mod key;
mod screen;
mod show;

use std::fmt;
use std::io::{self, Write as _};
use std::mem;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anabranch_dashboard::Dashboard;
use tokio::sync::oneshot;
use tokio::time::timeout;

pub(crate) use check::check;

use crate::output::{Event, Reporter, short_text};

/// Longest wait for a terminal that does not take what is drawn, at the end of the program.
const PATIENCE: Duration = Duration::from_secs(2);

/// The live view in the terminal, for the tasks of the program. A thread of its own draws, so that a terminal that stalls delays nothing.
pub(crate) struct Tui {
    dashboard: Dashboard,
    /// What prints on the terminal at other times.
    told: Arc<dyn Reporter>,
    /// What the user has to know before there is anything to see.
    notices: Mutex<Vec<String>>,
    /// Wakes the thread.
    wake: UnixStream,
    has_ended: AtomicBool,
    state: Mutex<State>,
}

/// Whether it is on the terminal.
enum State {
    /// Not yet; with what wakes the thread.
    Waiting(UnixStream),
    /// As long as the thread runs.
    Open(oneshot::Receiver<()>),
    Closed,
}

impl Tui {
    /// A view of `dashboard`, which is not open yet.
    pub(crate) fn new(dashboard: Dashboard, told: Arc<dyn Reporter>) -> io::Result<Arc<Self>> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Arc::new(Self {
            dashboard,
            told,
            notices: Mutex::default(),
            wake,
            has_ended: AtomicBool::new(false),
            state: Mutex::new(State::Waiting(woken)),
        }))
    }

    /// Something happened that the dashboard knows by now.
    pub(crate) fn on_event(self: &Arc<Self>, event: &Event<'_>) {
        if is_notice(event)
            && let Some(text) = short_text(event)
        {
            let lines = text.lines().map(str::to_owned);
            self.notices().extend(lines);
        }
        if opens(event) {
            self.open();
        }
        self.wake();
    }

    /// Takes the terminal, unless that has happened before.
    pub(crate) fn open(self: &Arc<Self>) {
        let mut state = self.state();
        *state = match mem::replace(&mut *state, State::Closed) {
            State::Waiting(woken) => {
                let (closed, is_closed) = oneshot::channel();
                let tui = Arc::clone(self);
                thread::spawn(move || {
                    show::show(&tui, woken);
                    // Nobody may wait for it.
                    let _ = closed.send(());
                });
                State::Open(is_closed)
            }
            other => other,
        };
    }

    /// Gives the terminal back, and prints what was held.
    pub(crate) async fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.wake();
        let state = mem::replace(&mut *self.state(), State::Closed);
        if let State::Open(is_closed) = state
            && timeout(PATIENCE, is_closed).await.is_err()
        {
            screen::abandon();
        }
    }

    fn wake(&self) {
        // If there is no room, it will wake anyway.
        let _ = (&self.wake).write(&[0]);
    }

    fn notices(&self) -> MutexGuard<'_, Vec<String>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tui {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tui").finish_non_exhaustive()
    }
}

/// Whether the view opens with an event. Warnings and errors before are printed, and `--dry-run` only prints.
const fn opens(event: &Event<'_>) -> bool {
    !matches!(
        event,
        Event::Warning { .. }
            | Event::Error { .. }
            | Event::Dashboard { .. }
            | Event::Planned { .. }
            | Event::Plan { .. }
    )
}

/// Whether an event says what the user has to type or open elsewhere.
const fn is_notice(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Listening { .. }
            | Event::Dashboard { .. }
            | Event::TunnelListening { .. }
            | Event::TunnelEntrance { .. }
            | Event::TunnelDevice { .. }
    )
}
