//! Applications of both ends: each sends ten megabytes, closes, and reads to the end, at the same time.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_tcp::Connection;
use anabranch_types::Seed;
use bytes::Bytes;

const BYTES: usize = 10_000_000;
pub(crate) const PORT: u16 = 8_080;
/// Timeout, ample for a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(180);

/// The kernel's defaults.
pub(crate) fn policies() -> PolicyRecipe {
    let mut policies = PolicyRecipe::tcp();
    policies.set("cc", "cubic").expect("a name of the catalog");
    policies
        .set("rto.min", "200ms")
        .expect("a parameter of the catalog");
    policies
}

fn content(seed: u64) -> Bytes {
    let mut content = vec![0; BYTES];
    Seed(seed).rng().fill(&mut content);
    content.into()
}

/// Our application.
pub(crate) struct App {
    unsent: Bytes,
    read: Vec<u8>,
    pub(crate) done: bool,
}

impl App {
    pub(crate) fn new() -> Self {
        Self {
            unsent: content(1),
            read: Vec::new(),
            done: false,
        }
    }

    pub(crate) fn act(&mut self, connection: &mut Connection) {
        self.unsent = connection.write(core::mem::take(&mut self.unsent));
        if self.unsent.is_empty() {
            connection.close();
        }
        while let Some(bytes) = connection.read(usize::MAX) {
            self.read.extend_from_slice(&bytes);
        }
        self.done |= connection.peer_finished() && connection.unread() == 0;
    }
}

/// The kernel's application.
pub(crate) fn kernel_talks(mut stream: TcpStream) -> io::Result<Vec<u8>> {
    let mut reader = stream.try_clone()?;
    let reading = thread::spawn(move || {
        let mut read = Vec::new();
        reader.read_to_end(&mut read).map(|_| read)
    });
    stream.write_all(&content(2))?;
    stream.shutdown(std::net::Shutdown::Write)?;
    reading.join().expect("the reader does not panic")
}

/// Runs `act` in another thread of this namespace; the channel signals its end.
pub(crate) fn in_here<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> (Receiver<()>, thread::JoinHandle<T>) {
    let (tell, told) = channel();
    let handle = thread::spawn(move || {
        let result = act();
        // The receiver is gone if the other side has failed.
        let _ = tell.send(());
        result
    });
    (told, handle)
}

/// Asserts that each side received what the other sent.
pub(crate) fn judge(app: &App, theirs: &[u8]) {
    let ours = &app.read;
    assert!(
        ours == &content(2)[..],
        "{} bytes of {BYTES} came, or others",
        ours.len()
    );
    assert!(
        theirs == &content(1)[..],
        "{} bytes of {BYTES} arrived, or others",
        theirs.len()
    );
}
