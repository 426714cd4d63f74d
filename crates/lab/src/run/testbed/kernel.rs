//! Kernel stack of the test bed. TCP or MPTCP sockets, one connection for each stream of the plan.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anabranch_emu::bed::{Hosts, Side};
use anabranch_netsim::topology;
use anabranch_sim::DataCounters;
use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};

use super::stack::{Stack, StackCounters};
use crate::plan::{Setting, TransportPlan};

const PORT: u16 = 9_899;
/// Each byte of a connection is its offset modulo this prime, so that a block of a common size never matches at another
/// offset.
const PATTERN: usize = 251;
/// Size of a read, in bytes.
const BLOCK: usize = 1 << 16;
/// Polling interval for connection setup and for the end of the run.
const LOOK: Duration = Duration::from_millis(5);

/// Both ends.
pub(super) struct Kernel {
    hosts: Hosts,
    shared: Arc<Shared>,
    streams: u64,
    message: u64,
    /// All sockets; shutting them down wakes the threads that block on them.
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    connected: AtomicU64,
    bytes: AtomicU64,
    damaged: AtomicU64,
}

impl Kernel {
    pub(super) fn start(setting: &Setting, hosts: &Hosts) -> io::Result<Self> {
        prepare(setting, hosts)?;
        let app = setting.apps.iter().next().map(|(_, app)| app);
        let streams = app
            .and_then(|app| app.streams)
            .map_or(1, |streams| u64::from(streams.0));
        let message = app.map_or(BLOCK as u64, |app| app.message.0);
        let limit = app.and_then(|app| app.messages);
        let limit = limit.map_or(u64::MAX, |messages| u64::from(messages.0) * message / streams);
        let mut kernel = Self {
            hosts: hosts.clone(),
            shared: Arc::default(),
            streams,
            message,
            sockets: Vec::new(),
            threads: Vec::new(),
        };
        kernel.listen(setting)?;
        for _ in 0..streams {
            kernel.speak(setting, limit)?;
        }
        Ok(kernel)
    }

    fn listen(&mut self, setting: &Setting) -> io::Result<()> {
        let listener = self.hosts.within(Side::Far, || {
            let socket = socket(setting)?;
            // Additional MPTCP subflows arrive at other addresses.
            rustix::net::bind(&socket, &SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)))?;
            rustix::net::listen(&socket, 64)?;
            io::Result::Ok(TcpListener::from(socket))
        })??;
        listener.set_nonblocking(true)?;
        let shared = Arc::clone(&self.shared);
        self.threads
            .push(thread::spawn(move || accept(&listener, &shared)));
        Ok(())
    }

    fn speak(&mut self, setting: &Setting, limit: u64) -> io::Result<()> {
        let socket = self.hosts.within(Side::Near, || socket(setting))??;
        let stream = TcpStream::from(socket);
        self.sockets.push(stream.try_clone()?);
        let message = usize::try_from(self.message).unwrap_or(BLOCK);
        // Errors are detected at the other end, which then receives nothing.
        let speak = move || speak(stream, message, limit);
        self.threads.push(thread::spawn(move || drop(speak())));
        Ok(())
    }
}

/// Sets the maximum buffer sizes of both hosts as in the plan, and announces all paths to MPTCP.
fn prepare(setting: &Setting, hosts: &Hosts) -> io::Result<()> {
    let association = &setting.association;
    for side in Side::BOTH {
        hosts.within(side, || {
            // The kernel includes its own overhead and uses half of a buffer for payload.
            let sizes = |first: u64, bytes: u64| {
                let most = 2 * bytes;
                format!("{} {} {most}", most.min(4_096), most.min(first))
            };
            fs::write(
                "/proc/sys/net/ipv4/tcp_wmem",
                sizes(16_384, association.send_buffer.bytes()),
            )?;
            fs::write(
                "/proc/sys/net/ipv4/tcp_rmem",
                sizes(131_072, association.receive_buffer.bytes()),
            )
        })??;
    }
    if setting.transport == TransportPlan::Mptcp {
        // The near end opens a subflow to each address that the far end announces; the route determines the local
        // address.
        hosts.configure(Side::Near, "mptcp limits set subflows 8 add_addr_accepted 8\n")?;
        let numbers = 1..u8::try_from(setting.paths.len()).unwrap_or(u8::MAX);
        let tell = |path| {
            format!(
                "mptcp endpoint add {} dev path{path} signal\n",
                topology::far_addr(path)
            )
        };
        let commands: String = numbers.map(tell).collect();
        hosts.configure(Side::Far, &format!("mptcp limits set subflows 8\n{commands}"))?;
    }
    Ok(())
}

fn socket(setting: &Setting) -> io::Result<OwnedFd> {
    let protocol = match setting.transport {
        TransportPlan::Mptcp => Some(ipproto::MPTCP),
        TransportPlan::Tcp | TransportPlan::Sctp => None,
    };
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, protocol)?;
    if let Some(congestion) = &setting.kernel.congestion {
        sockopt::set_tcp_congestion(&socket, congestion).map_err(|error| {
            io::Error::other(format!(
                "the kernel has no congestion control `{congestion}`: {error}"
            ))
        })?;
    }
    Ok(socket)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut readers = Vec::new();
    while !shared.is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                shared.connected.fetch_add(1, Ordering::Relaxed);
                let shared = Arc::clone(shared);
                readers.push(thread::spawn(move || drop(read(stream, &shared))));
            }
            Err(_) => thread::sleep(LOOK),
        }
    }
    for reader in readers {
        // A panic has already been printed.
        let _ = reader.join();
    }
}

fn pattern() -> Vec<u8> {
    (0..BLOCK + PATTERN)
        .map(|place| (place % PATTERN) as u8)
        .collect()
}

fn read(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let (pattern, mut block, mut place) = (pattern(), vec![0; BLOCK], 0);
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LOOK * 20))?;
    while !shared.is_over.load(Ordering::Relaxed) {
        let length = match stream.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_good = block[..length] == pattern[place..place + length];
        shared.damaged.fetch_add(u64::from(!is_good), Ordering::Relaxed);
        shared.bytes.fetch_add(length as u64, Ordering::Relaxed);
        place = (place + length) % PATTERN;
    }
    Ok(())
}

fn speak(stream: TcpStream, message: usize, limit: u64) -> io::Result<()> {
    rustix::net::connect(&stream, &SocketAddr::new(topology::far_addr(0), PORT))?;
    let (pattern, mut stream, mut sent) = (pattern(), stream, 0_u64);
    let message = message.min(BLOCK);
    while sent < limit {
        let place = (sent % PATTERN as u64) as usize;
        stream.write_all(&pattern[place..place + message])?;
        sent += message as u64;
    }
    Ok(())
}

impl Stack for Kernel {
    fn is_connected(&mut self) -> io::Result<bool> {
        Ok(self.shared.connected.load(Ordering::Relaxed) >= self.streams)
    }

    fn bytes_read(&mut self) -> io::Result<u64> {
        Ok(self.shared.bytes.load(Ordering::Relaxed))
    }

    fn counters(&mut self) -> io::Result<StackCounters> {
        let bytes = self.bytes_read()?;
        let data = self.hosts.within(Side::Near, data)??;
        let damaged = self.shared.damaged.load(Ordering::Relaxed);
        Ok(StackCounters::new(data, Vec::new()).read(bytes / self.message, bytes, damaged))
    }
}

/// Counters of all TCP connections in the current thread's network namespace, in segments.
fn data() -> io::Result<DataCounters> {
    let snmp = fs::read_to_string("/proc/thread-self/net/snmp")?;
    let netstat = fs::read_to_string("/proc/thread-self/net/netstat")?;
    let again = counter(&snmp, "Tcp:", "RetransSegs");
    let timeouts = counter(&netstat, "TcpExt:", "TCPTimeouts");
    Ok(DataCounters {
        timeouts,
        fast_retransmits: again
            .zip(timeouts)
            .map(|(again, timeouts)| again.saturating_sub(timeouts)),
        sent: counter(&snmp, "Tcp:", "OutSegs")
            .zip(again)
            .map(|(sent, again)| sent + again),
        retransmitted: again,
        ..DataCounters::default()
    })
}

/// The kernel's tables have a line of names and a line of numbers for each protocol.
fn counter(table: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter(|line| line.starts_with(protocol));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|known| known == name)?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for socket in &self.sockets {
            // The socket may not be connected.
            let _ = socket.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            // A panic has already been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::counter;

    #[test]
    fn kernel_counter_is_found_by_name() {
        let table = "Ip: Forwarding\nIp: 1\nTcp: OutSegs RetransSegs\nTcp: 100 7\n";
        assert_eq!(counter(table, "Tcp:", "RetransSegs"), Some(7));
        assert_eq!(counter(table, "Tcp:", "Nothing"), None);
    }
}
