//! Benchmark `init_flood`: set-ups over loopback while another core sends forged INITs as fast as it can.
//!
//! The flood comes from 16 addresses of this host. Each INIT is sent in a datagram and a system call of its own, and replies are not read.
//! Meanwhile, 100 clients connect one after the other, each within 5 s. Server, clients and flood have a thread each, so the figures
//! are valid for a machine with at least three free cores.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anabranch::Endpoint;
use anabranch_bench::{Arguments, Column, Table, median};
use anabranch_types::{Tsn, VerificationTag};
use anabranch_wire::{CommonHeader, OutboundInit, PacketBuilder};

/// Number of sockets of the flood.
const SOURCES: u8 = 16;

/// Number of different INITs of each socket.
const INITS: u32 = 1_024;

/// Number of attempts to connect.
const SET_UPS: u32 = 100;

/// Maximum time of one attempt.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

fn main() {
    let arguments = Arguments {
        json: false,
        runs: 1,
        seconds: 0.0,
    };
    let arguments = arguments.or("init_flood: set-ups over loopback while another core sends forged INITs");
    let columns = [
        ("inits_per_s", 0),
        ("set_up_of_100", 0),
        ("median_ms", 1),
        ("slowest_ms", 1),
    ];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("set-ups beside forged INITs", &columns);
    for (name, floods) in [("no flood", false), ("flood", true)] {
        let runs: Vec<[f64; 4]> = (0..arguments.runs).map(|_| measure(floods)).collect();
        let figures: [f64; 4] = std::array::from_fn(|at| {
            let of_column: Vec<f64> = runs.iter().map(|run| run[at]).collect();
            median(&of_column)
        });
        table.row(name, &figures);
    }
    table.print(arguments.json);
}

/// INITs per second of the flood, number of set-ups that succeed, and their median and longest time in ms.
fn measure(floods: bool) -> [f64; 4] {
    let (ends, server) = serve();
    let (is_over, sent) = (Arc::new(AtomicBool::new(!floods)), Arc::new(AtomicU64::new(0)));
    let flood = {
        let (is_over, sent) = (Arc::clone(&is_over), Arc::clone(&sent));
        thread::spawn(move || flood(server, &is_over, &sent))
    };
    let began = Instant::now();
    let mut times = set_up_all(server);
    let seconds = began.elapsed().as_secs_f64();
    is_over.store(true, Ordering::Relaxed);
    flood.join().expect("the flood ends");
    drop(ends);
    times.sort_by(f64::total_cmp);
    let rate = sent.load(Ordering::Relaxed) as f64 / seconds;
    let slowest = times.last().copied().unwrap_or(f64::NAN);
    let middle = if times.is_empty() {
        f64::NAN
    } else {
        median(&times)
    };
    [rate, times.len() as f64, middle, slowest]
}

/// Runs a server in a thread of its own, until the sender is dropped.
fn serve() -> (std::sync::mpsc::Sender<()>, SocketAddr) {
    let (tell, address) = std::sync::mpsc::channel();
    let (keep, ends) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        on_this_thread(async {
            let server = Endpoint::builder()
                .insecure()
                .local("127.0.0.1:0")
                .listen()
                .bind()
                .await;
            let server = server.expect("a socket on loopback");
            tell.send(server.local_addrs()[0])
                .expect("the benchmark waits for it");
            while ends.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
                // The dropped association is shut down.
                let _ = tokio::time::timeout(PAUSE, server.accept()).await;
            }
        });
    });
    (keep, address.recv().expect("the server binds"))
}

fn on_this_thread<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    runtime.block_on(work)
}

/// Connects clients one after the other. Returns the times in ms of those that succeed.
fn set_up_all(server: SocketAddr) -> Vec<f64> {
    on_this_thread(async {
        let mut times = Vec::new();
        for _ in 0..SET_UPS {
            let client = Endpoint::builder()
                .insecure()
                .local("127.0.0.1:0")
                .connect_timeout(PATIENCE);
            let client = client.bind().await.expect("a socket on loopback");
            let began = Instant::now();
            if let Ok(association) = client.connect(server).await {
                times.push(began.elapsed().as_secs_f64() * 1e3);
                drop(association);
            }
            tokio::time::sleep(PAUSE).await;
        }
        times
    })
}

fn flood(server: SocketAddr, is_over: &AtomicBool, sent: &AtomicU64) {
    let sources: Vec<(UdpSocket, Vec<Vec<u8>>)> = (0..SOURCES)
        .map(|number| {
            let socket =
                UdpSocket::bind(SocketAddr::from(([127, 0, 1, number], 0))).expect("all of 127/8 is ours");
            socket.connect(server).expect("a route");
            let tags = (1..=INITS).map(|tag| tag + u32::from(number) * INITS);
            (socket, tags.map(forged_init).collect())
        })
        .collect();
    for round in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        for (socket, inits) in &sources {
            // Replies are not read: they fill the socket buffer, and further ones are dropped.
            let is_sent = socket.send(&inits[round % inits.len()]).is_ok();
            sent.fetch_add(u64::from(is_sent), Ordering::Relaxed);
        }
    }
}

fn forged_init(tag: u32) -> Vec<u8> {
    let header = CommonHeader {
        source_port: 40_000 + (tag % 20_000) as u16,
        destination_port: anabranch_proto::DEFAULT_PORT,
        tag: VerificationTag::ZERO,
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 1_400);
    let init = OutboundInit {
        acknowledges: false,
        initiate_tag: VerificationTag(tag),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(tag),
        parameters: vec![0x80, 0x05, 0, 100].into_iter().chain([0; 96]).collect(),
    };
    packet.push(&init).expect("a small chunk");
    packet.finish();
    bytes
}
