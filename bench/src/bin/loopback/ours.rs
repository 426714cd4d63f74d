//! Our library on loopback: ordered messages on one stream, with its defaults.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Instant;

use anabranch::{Association, AssociationConfig, Bytes, Endpoint, Message, PrivateKey, StreamId};

use crate::process::{BATCH, Failure, Meter, Server, Work, on_this_thread};

/// Roles of the second process.
pub(crate) const RECEIVE: &str = "receive";
pub(crate) const ECHO: &str = "echo";

/// Local addresses of both ends, one per path.
const LOCAL: [&str; 2] = ["127.0.0.1:0", "127.0.0.2:0"];

/// The length of the message that ends a transfer. A receiver that waited for the end of the association would
/// count the delay of the last SACK as well.
const LAST: usize = 1;

/// Private keys of the two ends, which know each other.
const KEYS: [[u8; 32]; 2] = [[1; 32], [2; 32]];

/// Bytes that IPv4 and UDP add to a packet.
const IP_AND_UDP: u16 = 28;

/// Paths of an association, whether packets are encrypted, and the largest UDP payload. Written as `2 encrypted`, or `2 clear 1280`.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    paths: usize,
    encrypted: bool,
    /// Bytes; `None` for the default.
    payload: Option<u16>,
}

impl Setup {
    const CLEAR: Self = Self {
        paths: 1,
        encrypted: false,
        payload: None,
    };
    const ENCRYPTED: Self = Self {
        paths: 1,
        encrypted: true,
        payload: None,
    };

    const fn over_two_paths(self) -> Self {
        Self { paths: 2, ..self }
    }
}

const SECURITY: [&str; 2] = ["clear", "encrypted"];

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.paths, SECURITY[usize::from(self.encrypted)])?;
        self.payload.map_or(Ok(()), |payload| write!(f, " {payload}"))
    }
}

impl FromStr for Setup {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let mut words = text.split(' ');
        let mut next = || words.next().ok_or("too few words");
        Ok(Self {
            paths: next()?.parse()?,
            encrypted: next()? == SECURITY[1],
            payload: words.next().map(str::parse).transpose()?,
        })
    }
}

pub(crate) fn one_path(size: usize, seconds: f64) -> Result<Work, Failure> {
    send(Setup::CLEAR, size, seconds)
}

pub(crate) fn two_paths(size: usize, seconds: f64) -> Result<Work, Failure> {
    send(Setup::CLEAR.over_two_paths(), size, seconds)
}

pub(crate) fn encrypted(size: usize, seconds: f64) -> Result<Work, Failure> {
    send(Setup::ENCRYPTED, size, seconds)
}

pub(crate) fn encrypted_over_two_paths(size: usize, seconds: f64) -> Result<Work, Failure> {
    send(Setup::ENCRYPTED.over_two_paths(), size, seconds)
}

/// Sends packets with UDP payloads of up to `payload` bytes.
pub(crate) fn with_payloads_of(
    payload: u16,
    encrypted: bool,
    size: usize,
    seconds: f64,
) -> Result<Work, Failure> {
    let setup = Setup {
        paths: 1,
        encrypted,
        payload: Some(payload),
    };
    send(setup, size, seconds)
}

fn send(setup: Setup, size: usize, seconds: f64) -> Result<Work, Failure> {
    let mut server = Server::start(RECEIVE, &setup.to_string())?;
    let sent = on_this_thread(async {
        let association = connect(setup, &server.line()?).await?;
        let (payload, mut bytes, meter) = (vec![7; size], 0, Meter::start());
        while !meter.has_run(seconds) {
            for _ in 0..BATCH {
                // A copy for each message, as a program with new data would make.
                let payload = Bytes::copy_from_slice(&payload);
                association.send(Message::new(StreamId(0), payload)).await?;
            }
            bytes += BATCH * size;
        }
        association.stream(StreamId(0)).send(vec![7; LAST]).await?;
        association.flushed().await?;
        let paths_used = association.statistics().paths;
        let busy = paths_used.iter().filter(|path| path.counters.payload_sent > 0);
        assert_eq!(busy.count(), setup.paths, "every path carries messages");
        Ok(meter.stop(bytes))
    })?;
    server.joined_with(sent)
}

pub(crate) fn receive(setup: Setup) -> Result<(), Failure> {
    on_this_thread(async {
        let association = accept(setup).await?;
        let first = association.recv().await?.ok_or("nothing came")?;
        let (mut bytes, meter) = (first.payload.len(), Meter::start());
        while let Some(message) = association.recv().await?
            && message.payload.len() != LAST
        {
            bytes += message.payload.len();
        }
        meter.stop(bytes).print();
        association.closed().await;
        Ok(())
    })
}

/// Round-trip time of a message in microseconds: median and 99th percentile.
pub(crate) fn round_trips(size: usize, seconds: f64) -> Result<[f64; 2], Failure> {
    round_trips_with(Setup::CLEAR, size, seconds)
}

pub(crate) fn encrypted_round_trips(size: usize, seconds: f64) -> Result<[f64; 2], Failure> {
    round_trips_with(Setup::ENCRYPTED, size, seconds)
}

fn round_trips_with(setup: Setup, size: usize, seconds: f64) -> Result<[f64; 2], Failure> {
    let mut server = Server::start(ECHO, &setup.to_string())?;
    on_this_thread(async {
        let association = connect(setup, &server.line()?).await?;
        let (mut micros, meter) = (Vec::new(), Meter::start());
        while !meter.has_run(seconds) || micros.is_empty() {
            let start = Instant::now();
            association.stream(StreamId(0)).send(vec![7; size]).await?;
            association.recv().await?.ok_or("no answer")?;
            micros.push(start.elapsed().as_secs_f64() * 1e6);
        }
        micros.sort_by(f64::total_cmp);
        Ok([50, 99].map(|of_100| micros[micros.len() * of_100 / 100]))
    })
}

pub(crate) fn echo(setup: Setup) -> Result<(), Failure> {
    on_this_thread(async {
        let association = accept(setup).await?;
        while let Some(message) = association.recv().await? {
            association.stream(message.stream).send(message.payload).await?;
        }
        Ok(())
    })
}

/// An endpoint; the one that `listens` has the first key.
async fn bind(setup: Setup, listens: bool) -> Result<Endpoint, Failure> {
    let locals = LOCAL[..setup.paths].iter();
    let builder = locals.fold(Endpoint::builder(), |builder, local| builder.local(*local));
    let [listener, connector] = KEYS.map(PrivateKey::from);
    let builder = match (setup.encrypted, listens) {
        (false, _) => builder.insecure(),
        (true, true) => builder.trust(connector.public_key()).identity(listener),
        (true, false) => builder.trust(listener.public_key()).identity(connector),
    };
    let builder = if listens { builder.listen() } else { builder };
    let builder = match setup.payload {
        Some(payload) => builder.association_config(AssociationConfig {
            mtu: payload + IP_AND_UDP,
            ..AssociationConfig::default()
        }),
        None => builder,
    };
    Ok(builder.bind().await?)
}

async fn connect(setup: Setup, listening: &str) -> Result<Association, Failure> {
    let peer = addresses(&listening.split(' ').collect::<Vec<_>>())?;
    Ok(bind(setup, false).await?.connect(&peer[..]).await?)
}

async fn accept(setup: Setup) -> Result<Association, Failure> {
    let endpoint = bind(setup, true).await?;
    let listening: Vec<_> = endpoint.local_addrs().iter().map(SocketAddr::to_string).collect();
    println!("{}", listening.join(" "));
    Ok(endpoint.accept().await.ok_or("the endpoint closed")?)
}

fn addresses(texts: &[&str]) -> Result<Vec<SocketAddr>, Failure> {
    Ok(texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?)
}
