//! UDP on loopback without any protocol: the limit of the machine, and round trips of an echo on the same runtime.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anabranch::PathAddr;
use anabranch::io::{Incoming, LARGEST_BATCH, Outgoing};
use anabranch_types::Ecn;
use tokio::net::UdpSocket;

use crate::process::{Failure, Meter, Server, Work, on_this_thread};

/// Roles of the second process.
pub(crate) const RECEIVE: &str = "udp";
pub(crate) const ECHO: &str = "udp-echo";

const LOCAL: &str = "127.0.0.1:0";

/// Bytes of a datagram in a batch: the UDP payload of an Ethernet packet.
const SEGMENT: usize = 1_472;

/// How long nothing arrives after the last datagram.
const END: Duration = Duration::from_millis(100);

/// Sends datagrams of `SEGMENT` bytes as fast as the socket takes them, in batches as large as one call can send. What is not
/// received in time is lost; the figures are those of what arrives.
pub(crate) fn send(_size: usize, seconds: f64) -> Result<Work, Failure> {
    let mut server = Server::start(RECEIVE, "")?;
    let remote: SocketAddr = server.line()?.parse()?;
    let sent = on_this_thread(async {
        let socket = anabranch::udp_socket(LOCAL.parse()?)?;
        let segments = socket.max_segments().clamp(1, LARGEST_BATCH / SEGMENT);
        let (batch, mut bytes, meter) = (vec![7; segments * SEGMENT], 0, Meter::start());
        let path = PathAddr {
            local: socket.local_addr(),
            remote,
        };
        let outgoing = Outgoing {
            path,
            ecn: Ecn::NotCapable,
            bytes: &batch,
            segment_size: (segments > 1).then_some(SEGMENT),
            may_fragment: false,
        };
        while !meter.has_run(seconds) {
            match socket.try_send(&outgoing) {
                Ok(()) => bytes += batch.len(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll_fn(|cx| socket.poll_writable(cx)).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(meter.stop(bytes))
    })?;
    server.received_of(sent)
}

pub(crate) fn receive() -> Result<(), Failure> {
    on_this_thread(async {
        let socket = anabranch::udp_socket(LOCAL.parse()?)?;
        println!("{}", socket.local_addr());
        let mut incoming = vec![Incoming::new(); 2];
        poll_fn(|cx| socket.poll_receive(cx, &mut incoming)).await?;
        let (mut bytes, meter) = (0, Meter::start());
        let mut work = meter.stop(0);
        loop {
            let next = poll_fn(|cx| socket.poll_receive(cx, &mut incoming));
            let Ok(count) = tokio::time::timeout(END, next).await else {
                break;
            };
            bytes += incoming[..count?]
                .iter()
                .map(|batch| batch.bytes().len())
                .sum::<usize>();
            work = meter.stop(bytes);
        }
        work.print();
        Ok(())
    })
}

/// Round-trip time of a datagram in microseconds: median and 99th percentile.
pub(crate) fn round_trips(size: usize, seconds: f64) -> Result<[f64; 2], Failure> {
    let mut server = Server::start(ECHO, "")?;
    on_this_thread(async {
        let socket = UdpSocket::bind(LOCAL).await?;
        socket.connect(server.line()?).await?;
        let (mut micros, meter) = (Vec::new(), Meter::start());
        let mut buffer = vec![7; size];
        while !meter.has_run(seconds) || micros.is_empty() {
            let start = Instant::now();
            socket.send(&buffer).await?;
            socket.recv(&mut buffer).await?;
            micros.push(start.elapsed().as_secs_f64() * 1e6);
        }
        micros.sort_by(f64::total_cmp);
        Ok([50, 99].map(|of_100| micros[micros.len() * of_100 / 100]))
    })
}

pub(crate) fn echo() -> Result<(), Failure> {
    on_this_thread(async {
        let socket = UdpSocket::bind(LOCAL).await?;
        println!("{}", socket.local_addr()?);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            socket.send_to(&buffer[..length], from).await?;
        }
    })
}
