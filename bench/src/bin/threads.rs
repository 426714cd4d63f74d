//! Benchmark `threads`: do two endpoints carry more on two threads than on one? Their sockets are queues in memory, so that the kernel
//! does not count.
//!
//! On a machine with other load, or with fewer than two idle cores, the ratio says nothing.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use anabranch::io::{Incoming, Outgoing, Socket};
use anabranch::{Association, Bytes, Endpoint, EndpointBuilder, Message, PathAddr, PrivateKey, StreamId};
use anabranch_bench::{Arguments, Column, Table, median};
use anabranch_types::Ecn;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of a message: one that fills an Ethernet packet.
const SIZE: usize = 1_400;

/// Batches that a queue holds, of up to 64 KiB each.
const DEPTH: usize = 16;

/// One direction between two sockets.
#[derive(Debug, Default)]
struct Queue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Bytes of a batch, and the length of its datagrams.
    batches: VecDeque<(Vec<u8>, usize)>,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// A socket that is connected to one other.
#[derive(Debug)]
struct MemorySocket {
    path: PathAddr,
    inward: Arc<Queue>,
    outward: Arc<Queue>,
}

impl MemorySocket {
    fn pair() -> [Arc<dyn Socket>; 2] {
        let queues: [Arc<Queue>; 2] = [Arc::default(), Arc::default()];
        let addresses = [1, 2].map(|last| SocketAddr::from(([127, 0, 0, last], 9_899)));
        [0, 1].map(|side: usize| {
            let other = 1 - side;
            Arc::new(Self {
                path: PathAddr {
                    local: addresses[side],
                    remote: addresses[other],
                },
                inward: Arc::clone(&queues[side]),
                outward: Arc::clone(&queues[other]),
            }) as Arc<dyn Socket>
        })
    }
}

impl Queue {
    fn act<T>(&self, act: impl FnOnce(&mut Waiting) -> (T, Option<Waker>)) -> T {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (result, waker) = act(&mut waiting);
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
        result
    }
}

impl Socket for MemorySocket {
    fn local_addr(&self) -> SocketAddr {
        self.path.local
    }

    fn max_segments(&self) -> usize {
        64
    }

    // The bytes are copied while the queue is not locked, as the kernel does, so that the two threads do not wait for each other.
    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let spare = self.outward.act(|waiting| {
            let has_room = waiting.batches.len() < DEPTH;
            (has_room.then(|| waiting.spare.pop().unwrap_or_default()), None)
        });
        let mut bytes = spare.ok_or(io::ErrorKind::WouldBlock)?;
        bytes.clear();
        bytes.extend_from_slice(outgoing.bytes);
        let stride = outgoing.segment_size.unwrap_or(bytes.len());
        self.outward.act(|waiting| {
            waiting.batches.push_back((bytes, stride));
            ((), waiting.reader.take())
        });
        Ok(())
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outward.act(|waiting| {
            if waiting.batches.len() < DEPTH {
                return (Poll::Ready(Ok(())), None);
            }
            waiting.writer = Some(cx.waker().clone());
            (Poll::Pending, None)
        })
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        let batches = self.inward.act(|waiting| {
            let count = incoming.len().min(waiting.batches.len());
            if count == 0 {
                waiting.reader = Some(cx.waker().clone());
                return (Vec::new(), None);
            }
            let batches: Vec<_> = waiting.batches.drain(..count).collect();
            (batches, waiting.writer.take())
        });
        if batches.is_empty() {
            return Poll::Pending;
        }
        for (place, (bytes, stride)) in incoming.iter_mut().zip(&batches) {
            place.buffer_mut()[..bytes.len()].copy_from_slice(bytes);
            place.filled(0..bytes.len(), *stride, self.path, Ecn::NotCapable);
        }
        let count = batches.len();
        self.inward.act(|waiting| {
            waiting.spare.extend(batches.into_iter().map(|(bytes, _)| bytes));
            ((), None)
        });
        Poll::Ready(Ok(count))
    }
}

/// Both ends of a measurement.
struct Setup {
    server: EndpointBuilder,
    client: EndpointBuilder,
}

impl Setup {
    fn new(is_encrypted: bool) -> Result<Self, Failure> {
        let [server, client] = MemorySocket::pair().map(|socket| Endpoint::builder().socket(socket));
        if !is_encrypted {
            return Ok(Self {
                server: server.insecure(),
                client: client.insecure(),
            });
        }
        let key = PrivateKey::generate()?;
        Ok(Self {
            client: client.trust(key.public_key()),
            server: server.identity(key).trust_everyone(),
        })
    }
}

/// Receives everything; returns bytes for each second from the first message to the last.
async fn receive(builder: EndpointBuilder) -> Result<f64, Failure> {
    let endpoint = builder.listen().bind().await?;
    let association = endpoint.accept().await.ok_or("the endpoint closed")?;
    let first = association.recv().await?.ok_or("nothing was sent")?;
    let (start, mut bytes) = (Instant::now(), first.payload.len());
    while let Some(message) = association.recv().await? {
        bytes += message.payload.len();
    }
    let rate = bytes as f64 / start.elapsed().as_secs_f64();
    association.shutdown().await?;
    endpoint.close().await;
    Ok(rate)
}

async fn send(builder: EndpointBuilder, span: Duration) -> Result<(), Failure> {
    let endpoint = builder.bind().await?;
    let association = endpoint.connect("127.0.0.1:9899").await?;
    fill(&association, span).await?;
    association.shutdown().await?;
    endpoint.close().await;
    Ok(())
}

async fn fill(association: &Association, span: Duration) -> Result<(), Failure> {
    let payload = [7; SIZE];
    let start = Instant::now();
    while start.elapsed() < span {
        for _ in 0..64 {
            // A copy for each message, as a program with real data would make.
            let message = Message::new(StreamId(0), Bytes::copy_from_slice(&payload));
            association.send(message).await?;
        }
    }
    Ok(())
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn on_one_thread(setup: Setup, span: Duration) -> Result<f64, Failure> {
    runtime()?.block_on(async {
        let receiver = tokio::spawn(receive(setup.server));
        tokio::spawn(send(setup.client, span)).await??;
        receiver.await?
    })
}

fn on_two_threads(setup: Setup, span: Duration) -> Result<f64, Failure> {
    let receiver = thread::spawn(move || runtime()?.block_on(receive(setup.server)));
    runtime()?.block_on(send(setup.client, span))?;
    receiver.join().map_err(|_| "the receiver panicked")?
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments {
        json: false,
        runs: 5,
        seconds: 1.0,
    };
    let arguments =
        arguments.or("threads: goodput of two endpoints on one thread and on two, without the kernel");
    let span = Duration::from_secs_f64(arguments.seconds);
    let columns = [("one_gbit_per_s", 2), ("two_gbit_per_s", 2), ("two_over_one", 2)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("two endpoints, sockets in memory, 1400 bytes", &columns);
    for (name, is_encrypted) in [("anabranch", false), ("anabranch, encrypted", true)] {
        let [mut one, mut two, mut ratios] = [const { Vec::new() }; 3];
        for _ in 0..arguments.runs {
            let on_one = on_one_thread(Setup::new(is_encrypted)?, span)?;
            let on_two = on_two_threads(Setup::new(is_encrypted)?, span)?;
            ratios.push(on_two / on_one);
            one.push(on_one * 8.0 / 1e9);
            two.push(on_two * 8.0 / 1e9);
        }
        table.row(name, &[median(&one), median(&two), median(&ratios)]);
    }
    table.print(arguments.json);
    Ok(())
}
