//! Do the kernel's TCP and ours understand each other? Ten megabytes each way, over links that lose one packet in a
//! hundred. Needs root, for a network namespace of its own.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anabranch_interop::{Kernel, TcpHost};
use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_tcp::{Connection, Event, TcpConfig};
use anabranch_types::{Rate, Seed};
use bytes::Bytes;

const BYTES: usize = 10_000_000;
const PORT: u16 = 8_080;
/// Far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

fn lossy() -> LinkConfig {
    LinkConfig::new(Rate::mbit(100), Duration::from_millis(5)).loss(Loss::Bernoulli(Probability::of(0.01)))
}

fn config() -> TcpConfig {
    let mut policies = PolicyRecipe::tcp();
    policies.set("cc", "cubic").expect("a name of the catalog");
    policies
        .set("rto.min", "200ms")
        .expect("a parameter of the catalog");
    TcpConfig {
        policies,
        ..TcpConfig::default()
    }
}

fn content(seed: u64) -> Bytes {
    let mut content = vec![0; BYTES];
    Seed(seed).rng().fill(&mut content);
    content.into()
}

/// What our application does: sends everything, ends, and reads to the end.
struct App {
    unsent: Bytes,
    read: Vec<u8>,
}

impl App {
    fn new() -> Self {
        Self {
            unsent: content(1),
            read: Vec::new(),
        }
    }

    fn act(&mut self, connection: &mut Connection) -> bool {
        self.unsent = connection.write(core::mem::take(&mut self.unsent));
        if self.unsent.is_empty() {
            connection.close();
        }
        while let Some(bytes) = connection.read(usize::MAX) {
            self.read.extend_from_slice(&bytes);
        }
        connection.peer_finished() && connection.unread() == 0
    }
}

/// What the kernel's application does: sends everything, ends, and reads to the end, both at once.
fn kernel_talks(mut stream: TcpStream) -> io::Result<Vec<u8>> {
    let mut reader = stream.try_clone()?;
    let reading = thread::spawn(move || {
        let mut read = Vec::new();
        reader.read_to_end(&mut read).map(|_| read)
    });
    stream.write_all(&content(2))?;
    stream.shutdown(std::net::Shutdown::Write)?;
    reading.join().expect("the reader does not panic")
}

fn judge(app: &App, theirs: io::Result<Vec<u8>>) -> io::Result<()> {
    assert!(
        app.read == content(2),
        "{} bytes of {BYTES} came, or others",
        app.read.len()
    );
    let theirs = theirs?;
    assert!(
        theirs == content(1),
        "{} bytes of {BYTES} arrived, or others",
        theirs.len()
    );
    Ok(())
}

#[test]
fn the_kernel_connects_and_both_send() -> io::Result<()> {
    let Some(kernel) = Kernel::isolated(1)? else {
        return Ok(());
    };
    let mut host = TcpHost::new(&kernel.lines, &lossy(), Seed(1))?;
    host.endpoint.listen(PORT, config());
    let ours = SocketAddr::from((kernel.lines[0].ours, PORT));
    let (theirs, kernel_side) = in_here(move || TcpStream::connect(ours).and_then(kernel_talks));
    let mut app = App::new();
    let mut done = false;
    let finished = host.talk(PATIENCE, |host| {
        if let Some((id, _)) = host.events.first() {
            done |= host
                .endpoint
                .with(*id, |connection| app.act(connection))
                .unwrap_or(false);
        }
        done && theirs.try_recv().is_ok()
    })?;
    assert!(finished, "{:?}", host.events);
    judge(&app, kernel_side.join().expect("no panic"))
}

#[test]
fn we_connect_to_the_kernel_and_both_send() -> io::Result<()> {
    let Some(kernel) = Kernel::isolated(1)? else {
        return Ok(());
    };
    let mut host = TcpHost::new(&kernel.lines, &lossy(), Seed(2))?;
    let listener = TcpListener::bind((kernel.lines[0].theirs, PORT))?;
    let (theirs, kernel_side) = in_here(move || kernel_talks(listener.accept()?.0));
    let ours = SocketAddr::from((kernel.lines[0].ours, 0));
    let remote = SocketAddr::from((kernel.lines[0].theirs, PORT));
    let id = host.endpoint.connect(ours, remote, config()).unwrap();
    let mut app = App::new();
    let mut done = false;
    let finished = host.talk(PATIENCE, |host| {
        if host.events.contains(&(id, Event::Connected)) {
            done |= host
                .endpoint
                .with(id, |connection| app.act(connection))
                .unwrap_or(false);
        }
        done && theirs.try_recv().is_ok()
    })?;
    assert!(finished, "{:?}", host.events);
    let statistics = host.endpoint.connection(id).map(Connection::statistics);
    println!("{statistics:?}");
    judge(&app, kernel_side.join().expect("no panic"))
}

/// Does something in another thread of this namespace, and tells when it is done.
fn in_here<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> (std::sync::mpsc::Receiver<()>, thread::JoinHandle<T>) {
    let (tell, told) = std::sync::mpsc::channel();
    let handle = thread::spawn(move || {
        let result = act();
        // Nobody listens any more where the other side has given up.
        let _ = tell.send(());
        result
    });
    (told, handle)
}
