//! Benchmark `testbed`: timing error of a test bed at more than 200 Mbit/s in total, with timestamps in packets.
//!
//! Arrival times are compared with those of a simulated link that is offered the same packets at the same times, so the error
//! includes system calls and the kernel. Packets are left out if the sending program was interrupted while it sent them, because
//! their send time is not known. The forwarder's own lateness is reported beside it. Needs root.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::{Duration, Instant as Wall, SystemTime, UNIX_EPOCH};

use anabranch_bench::{Arguments, Column, Table};
use anabranch_emu::bed::{Bed, Side, Timing};
use anabranch_netsim::link::QueueConfig;
use anabranch_netsim::{Histogram, Link, LinkConfig, topology};
use anabranch_types::{Instant, Rate, Seed};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns};
use nix::sys::time::TimeSpec;

/// Rate of each of the two paths.
const RATE: Rate = Rate::mbit(105);
const DELAY: Duration = Duration::from_millis(5);
/// Packets in a second for 101 Mbit/s on each path: the links are never idle for long, and never overloaded.
const PACKETS: u64 = 8_417;
/// Payload of a packet; 1,500 bytes with IP and UDP headers.
const PAYLOAD: usize = 1_472;
/// Silence after which a receiver assumes that the last packet has arrived.
const SILENCE: Duration = Duration::from_millis(300);

/// Nanoseconds: a packet whose sending took longer has a wrong timestamp.
const INTERRUPTED: u64 = 100_000;

/// A packet that arrived, in nanoseconds of the system's clock.
struct Arrival {
    sent: u64,
    received: u64,
}

fn main() -> io::Result<()> {
    let arguments = Arguments {
        json: false,
        runs: 1,
        seconds: 5.0,
    };
    let arguments =
        arguments.or("testbed: how late packets are on a test bed with two paths of 105 Mbit/s; needs root");
    let names = ["packets", "p50_us", "p99_us", "p99_9_us", "max_us"];
    let columns = names.map(|name| Column { name, decimals: 0 });
    let title = format!("two paths of 101 Mbit/s each, machine's load {:.1}", load());
    let mut table = Table::new(title, &columns);
    for _ in 0..arguments.runs {
        let (errors, timing, share) = measure(arguments.seconds)?;
        table.row("end to end", &figures(&errors));
        table.row(
            format!("forwarder, {:?}, {share:.0} % of a core", timing.scheduling),
            &figures(&timing.late),
        );
    }
    table.print(arguments.json);
    Ok(())
}

fn figures(errors: &Histogram) -> [f64; 5] {
    let at = |share| errors.quantile(share).map_or(f64::NAN, |micros| micros as f64);
    [errors.count() as f64, at(0.5), at(0.99), at(0.999), at(1.0)]
}

/// Load average of the last minute.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace()
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(f64::NAN)
}

/// Errors of all packets, the forwarder's own figures, and its CPU time in percent of a core.
fn measure(seconds: f64) -> io::Result<(Histogram, Timing, f64)> {
    let link = LinkConfig::new(RATE, DELAY).queue(QueueConfig::Packets(10_000));
    let bed = Bed::up(
        "bench",
        &[(link.clone(), link.clone()), (link.clone(), link.clone())],
        Seed(1),
    )?;
    let (mut errors, work, began) = (Histogram::default(), forwarder_work(), Wall::now());
    thread::scope(|scope| {
        let paths: Vec<_> = (0..2_u8)
            .map(|path| {
                let receiver_socket = bed
                    .hosts()
                    .within(Side::Far, || UdpSocket::bind((topology::far_addr(path), 9)))??;
                let receiver = scope.spawn(move || receive(&receiver_socket));
                let sender_socket = bed
                    .hosts()
                    .within(Side::Near, || UdpSocket::bind((topology::near_addr(path), 9)))??;
                sender_socket.connect((topology::far_addr(path), 9))?;
                Ok((scope.spawn(move || send(&sender_socket, seconds)), receiver))
            })
            .collect::<io::Result<_>>()?;
        for (sender, receiver) in paths {
            let interrupted = sender.join().map_err(|_| io::ErrorKind::Other)?;
            let arrivals = receiver.join().map_err(|_| io::ErrorKind::Other)??;
            compare(&link, &arrivals, &interrupted, &mut errors);
        }
        io::Result::Ok(())
    })?;
    let work = forwarder_work().saturating_sub(work).as_secs_f64();
    Ok((errors, bed.timing(), 100.0 * work / began.elapsed().as_secs_f64()))
}

/// Sends at a constant rate; packets that became due during a sleep are sent at once, as a protocol stack does. Returns the
/// timestamps of packets during whose sending the program was interrupted, each with the time by which the packet was sent.
fn send(socket: &UdpSocket, seconds: f64) -> BTreeMap<u64, u64> {
    let (mut packet, began, mut interrupted) = ([0; PAYLOAD], Wall::now(), BTreeMap::new());
    let all = (PACKETS as f64 * seconds) as u64;
    let mut sent = 0;
    while sent < all {
        let due = (began.elapsed().as_secs_f64() * PACKETS as f64) as u64;
        while sent < due.min(all) {
            let stamp = now();
            packet[..8].copy_from_slice(&stamp.to_be_bytes());
            // A full socket buffer drops the packet; the receiver's count shows that it is missing.
            let _ = socket.send(&packet);
            let after = now();
            if after.saturating_sub(stamp) > INTERRUPTED {
                interrupted.insert(stamp, after);
            }
            sent += 1;
        }
        thread::sleep(Duration::from_micros(500));
    }
    interrupted
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64
}

fn receive(socket: &UdpSocket) -> io::Result<Vec<Arrival>> {
    setsockopt(socket, ReceiveTimestampns, &true)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    let (mut arrivals, mut packet, mut control) = (Vec::new(), [0; PAYLOAD], nix::cmsg_space!(TimeSpec));
    loop {
        let mut parts = [IoSliceMut::new(&mut packet)];
        let Ok(message) = recvmsg::<()>(
            socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::empty(),
        ) else {
            return Ok(arrivals);
        };
        let received = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time).as_nanos() as u64),
            _ => None,
        });
        let sent = packet.first_chunk().map(|stamp| u64::from_be_bytes(*stamp));
        if let (Some(sent), Some(received)) = (sent, received) {
            arrivals.push(Arrival { sent, received });
        }
        socket.set_read_timeout(Some(SILENCE))?;
    }
}

/// Offers the packets to a simulated link, and records by how many microseconds the test bed was later.
fn compare(
    config: &LinkConfig,
    arrivals: &[Arrival],
    interrupted: &BTreeMap<u64, u64>,
    errors: &mut Histogram,
) {
    let mut link = Link::new(config.clone(), Seed(1));
    for arrival in arrivals {
        let sent = interrupted.get(&arrival.sent).unwrap_or(&arrival.sent);
        link.offer(Instant::from_nanos(*sent), Vec::new(), PAYLOAD as u32 + 28);
    }
    for arrival in arrivals {
        let Some(due) = link.deadline() else {
            return;
        };
        link.take_due(due);
        if interrupted.contains_key(&arrival.sent) {
            continue;
        }
        errors.note(arrival.received.saturating_sub(due.as_nanos()) / 1_000);
    }
}

/// CPU time of the forwarder's thread.
fn forwarder_work() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let schedule = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let nanos = schedule.split_whitespace().next()?.parse::<u64>().ok()?;
        (name.trim() == "anabranch-bed").then_some(nanos)
    });
    Duration::from_nanos(nanos.sum())
}
