//! Screen of the live view in a terminal. How is the terminal taken, and given back whatever happens?

use std::io::{self, BufWriter, Stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{Signal, raise};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::draw::{Scene, draw};

/// Bytes of a large screen.
const FRAME: usize = 1 << 16;

/// Whether the terminal is taken. There is one terminal, and a panic of any thread gives it back.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, until dropped.
#[derive(Debug)]
pub(super) struct Screen(Terminal<CrosstermBackend<BufWriter<Stdout>>>);

impl Screen {
    /// Takes the terminal: its alternate screen, and keys without echo.
    pub(super) fn open() -> io::Result<Self> {
        give_back_at_panic();
        IS_TAKEN.store(true, Ordering::SeqCst);
        let opened = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen))
            .and_then(|()| {
                let out = BufWriter::with_capacity(FRAME, io::stdout());
                Terminal::new(CrosstermBackend::new(out))
            });
        if opened.is_err() {
            give_back();
        }
        opened.map(Self)
    }

    /// Gives the terminal back, stops the program, and takes the terminal again when its user continues it.
    pub(super) fn suspend(self) -> io::Result<Self> {
        drop(self);
        // This thread does not go on before the program is continued; where no shell could do that, it does not stop.
        raise(Signal::SIGTSTP)?;
        Self::open()
    }

    /// Draws; whether the terminal is still there and taken.
    pub(super) fn draw(&mut self, scene: &Scene) -> bool {
        IS_TAKEN.load(Ordering::SeqCst) && self.0.draw(|frame| draw(frame, scene)).is_ok()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, if it is taken.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // The terminal may be gone, and then there is nothing to give back.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Gives back the keys of a terminal that takes no output.
pub(super) fn abandon() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
    }
}

/// Has a panic of any thread give the terminal back, so that its message can be read.
fn give_back_at_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}
