//! Input of the live view in a terminal: keys, and what wakes it before its next time. What is waited for, and for how long?

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Stdin};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEvent};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

/// Bytes that wake the thread and are read at a time.
const WAKES: usize = 256;

/// Where keys come from.
#[derive(Debug)]
enum Keyboard {
    Stdin(Stdin),
    /// Standard input is something else.
    Opened(File),
    /// It is gone.
    Gone,
}

/// Keys and wakes.
#[derive(Debug)]
pub(super) struct Input {
    keyboard: Keyboard,
    woken: UnixStream,
    /// Whether keys were announced that could not be read; they wait for others.
    is_behind: bool,
}

impl Input {
    /// The terminal of standard input, or else the one that the program was started from.
    pub(super) fn open(woken: UnixStream) -> io::Result<Self> {
        let stdin = io::stdin();
        let keyboard = match stdin.is_terminal() {
            true => Keyboard::Stdin(stdin),
            false => Keyboard::Opened(File::open("/dev/tty")?),
        };
        Ok(Self {
            keyboard,
            woken,
            is_behind: false,
        })
    }

    /// Waits for keys, for what wakes the thread, or for so long; returns the keys.
    pub(super) fn wait(&mut self, limit: Duration) -> Vec<KeyEvent> {
        let keyboard = self.keyboard.descriptor().filter(|_| !self.is_behind);
        let woken = PollFd::new(&self.woken, PollFlags::IN);
        let mut sources = vec![woken];
        sources.extend(keyboard.map(|keyboard| PollFd::from_borrowed_fd(keyboard, PollFlags::IN)));
        let limit = Timespec::try_from(limit).unwrap_or_default();
        // A signal may end it early, and the view is then drawn early.
        let _ = poll(&mut sources, Some(&limit));
        let of_keyboard = sources.get(1).map_or(PollFlags::empty(), PollFd::revents);
        self.take_wakes();
        self.is_behind = false;
        // crossterm must not read from a terminal that is gone, which it would try for ever.
        if of_keyboard.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            self.keyboard = Keyboard::Gone;
        } else if of_keyboard.contains(PollFlags::IN) {
            return self.take_keys();
        }
        Vec::new()
    }

    /// Forgets what has woken the thread.
    fn take_wakes(&mut self) {
        let mut bytes = [0; WAKES];
        while matches!(self.woken.read(&mut bytes), Ok(WAKES)) {}
    }

    fn take_keys(&mut self) -> Vec<KeyEvent> {
        let mut keys = Vec::new();
        let mut is_any = false;
        while let Ok(true) = event::poll(Duration::ZERO) {
            is_any = true;
            match event::read() {
                Ok(Event::Key(key)) => keys.push(key),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.is_behind = !is_any;
        keys
    }
}

impl Keyboard {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Stdin(stdin) => Some(stdin.as_fd()),
            Self::Opened(file) => Some(file.as_fd()),
            Self::Gone => None,
        }
    }
}
