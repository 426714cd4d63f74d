//! Our library on loopback: ordered messages on one stream, with its defaults.

use std::net::SocketAddr;
use std::time::Instant;

use anabranch::{Association, AssociationConfig, Bytes, Endpoint, EndpointConfig, Message, StreamId};

use crate::process::{BATCH, Failure, Meter, Server, Work, on_this_thread};

/// Roles of the second process.
pub(crate) const RECEIVE: &str = "receive";
pub(crate) const ECHO: &str = "echo";

/// Local addresses of both ends, one per path.
const LOCAL: [&str; 2] = ["127.0.0.1:0", "127.0.0.2:0"];

/// The length of the message that ends a transfer. A receiver that waited for the end of the association would
/// count the delay of the last SACK as well.
const LAST: usize = 1;

pub(crate) fn one_path(size: usize, seconds: f64) -> Result<Work, Failure> {
    send(1, size, seconds)
}

pub(crate) fn two_paths(size: usize, seconds: f64) -> Result<Work, Failure> {
    send(2, size, seconds)
}

fn send(paths: usize, size: usize, seconds: f64) -> Result<Work, Failure> {
    let mut server = Server::start(RECEIVE, paths)?;
    let sent = on_this_thread(async {
        let association = connect(paths, &server.line()?).await?;
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
        assert_eq!(busy.count(), paths, "every path carries messages");
        Ok(meter.stop(bytes))
    })?;
    server.joined_with(sent)
}

pub(crate) fn receive(paths: usize) -> Result<(), Failure> {
    on_this_thread(async {
        let association = accept(paths).await?;
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
    let mut server = Server::start(ECHO, 1)?;
    on_this_thread(async {
        let association = connect(1, &server.line()?).await?;
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

pub(crate) fn echo(paths: usize) -> Result<(), Failure> {
    on_this_thread(async {
        let association = accept(paths).await?;
        while let Some(message) = association.recv().await? {
            association.stream(message.stream).send(message.payload).await?;
        }
        Ok(())
    })
}

async fn bind(paths: usize) -> Result<Endpoint, Failure> {
    let config = EndpointConfig {
        accept: Some(AssociationConfig::default()),
        ..EndpointConfig::default()
    };
    Ok(Endpoint::bind_insecure(&addresses(&LOCAL[..paths])?, config).await?)
}

async fn connect(paths: usize, listening: &str) -> Result<Association, Failure> {
    let peer = addresses(&listening.split(' ').collect::<Vec<_>>())?;
    Ok(bind(paths).await?.connect(&peer[..]).await?)
}

async fn accept(paths: usize) -> Result<Association, Failure> {
    let endpoint = bind(paths).await?;
    let listening: Vec<_> = endpoint.local_addrs().iter().map(SocketAddr::to_string).collect();
    println!("{}", listening.join(" "));
    Ok(endpoint.accept().await.ok_or("the endpoint closed")?)
}

fn addresses(texts: &[&str]) -> Result<Vec<SocketAddr>, Failure> {
    Ok(texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?)
}
