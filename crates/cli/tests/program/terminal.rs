//! Pseudo terminal for tests. What does a user of the program see, and what do keys do? Its screen is awaited: nothing sleeps.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::harness::{CONFIGURATION, DEADLINE, PROGRAM, killed_after, send_signal};

/// After a time without output, it is looked at whether the program has ended.
const LOOK: Duration = Duration::from_secs(1);

/// Lines that are kept above the screen.
const SCROLLBACK: usize = 1_000;

/// The program in a terminal of its own; killed when dropped, or at the deadline.
pub(crate) struct Terminal {
    child: Child,
    /// The end of the user.
    user: File,
    /// The end of the program, as long as it may run.
    program: File,
    /// What it writes.
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Ends the wait for the deadline when dropped.
    _watched: Sender<()>,
}

/// How a program has ended, and its terminal then.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// Whether the terminal shows what is typed and makes signals of keys, the cursor is seen, and the alternate screen is not.
    pub(crate) is_terminal_restored: bool,
    /// Everything on the normal screen and above it.
    pub(crate) text: String,
}

impl Terminal {
    /// Starts the program in a terminal of so many columns and rows.
    pub(crate) fn start(columns: u16, rows: u16, arguments: &[&str]) -> Self {
        Self::start_words(columns, rows, &[&[PROGRAM], arguments].concat())
    }

    /// Starts a shell in a terminal of 80 columns and 24 rows, which runs `script` with job control.
    pub(crate) fn start_shell(script: &str) -> Self {
        Self::start_words(80, 24, &["bash", "-mc", script])
    }

    fn start_words(columns: u16, rows: u16, words: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let user = openpt(flags).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        set_size(&user, columns, rows);
        let program = File::from(ioctl_tiocgptpeer(&user, flags).unwrap());
        let end = || Stdio::from(program.try_clone().unwrap());
        let child = Command::new("setsid")
            .args(["--ctty", "env", "--default-signal=HUP"])
            .args(words)
            .env("XDG_CONFIG_HOME", CONFIGURATION)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let user = File::from(user);
        Self {
            _watched: killed_after(DEADLINE, child.id()),
            child,
            output: output_of(user.try_clone().unwrap()),
            user,
            program,
            parser: vt100::Parser::new(non_zero(rows), non_zero(columns), SCROLLBACK),
        }
    }

    /// Waits for a text on the alternate screen.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(&format!("{text:?} to be shown"), |shown| shown.contains(text));
    }

    /// Waits for a text on the normal screen.
    pub(crate) fn wait_for_shell(&mut self, text: &str) {
        self.wait(&format!("{text:?} to be printed"), |screen| {
            !screen.alternate_screen() && screen.contents().contains(text)
        });
    }

    /// Waits until what is on the alternate screen is as `is_so` says.
    pub(crate) fn wait_until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        self.wait(what, |screen| {
            screen.alternate_screen() && is_so(&screen.contents())
        });
    }

    fn wait(&mut self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let is_shown = |parser: &vt100::Parser| is_so(parser.screen());
        while !is_shown(&self.parser) {
            match self.output.recv_timeout(LOOK) {
                Ok(bytes) => self.parser.process(&bytes),
                // It is killed at the deadline.
                Err(_) => {
                    let shown = || self.parser.screen().contents();
                    assert!(
                        self.child.try_wait().unwrap().is_none(),
                        "expected {what}:\n{}",
                        shown()
                    );
                }
            }
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.user.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser
            .screen_mut()
            .set_size(non_zero(rows), non_zero(columns));
        set_size(&self.user, columns, rows);
    }

    /// Sends the program a signal, as `kill` names it.
    pub(crate) fn signal(&self, name: &str) {
        assert!(send_signal(self.child.id(), name));
    }

    /// Waits for the end of the program.
    pub(crate) fn end(mut self) -> Ended {
        let code = self.child.wait().unwrap().code();
        let modes = tcgetattr(&self.program).unwrap().local_modes;
        // Then the output ends.
        self.program = File::open("/dev/null").unwrap();
        while let Ok(bytes) = self.output.recv_timeout(DEADLINE) {
            self.parser.process(&bytes);
        }
        let screen = self.parser.screen();
        let is_shown = !screen.alternate_screen() && !screen.hide_cursor();
        Ended {
            code,
            is_terminal_restored: is_shown
                && modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG),
            text: self.whole_text(),
        }
    }

    /// What is on the screen and above it.
    fn whole_text(&mut self) -> String {
        // Rows that were scrolled away can only be seen by scrolling back.
        let screen = self.parser.screen_mut();
        let (rows, columns) = screen.size();
        screen.set_scrollback(SCROLLBACK);
        let mut lines = Vec::new();
        for back in (0..=screen.scrollback()).rev() {
            screen.set_scrollback(back);
            lines.extend(screen.rows(0, columns.get()).next());
        }
        lines.extend(screen.rows(0, columns.get()).take(rows.get().into()).skip(1));
        lines.join("\n")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What comes out of a terminal, until the program has ended.
fn output_of(mut user: File) -> Receiver<Vec<u8>> {
    let (output, read) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        // A terminal without a program is an error.
        while let Ok(length @ 1..) = user.read(&mut bytes) {
            if output.send(bytes[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    read
}

fn set_size(terminal: impl AsFd, columns: u16, rows: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).unwrap();
}

fn non_zero(number: u16) -> NonZeroU16 {
    number.try_into().unwrap()
}
