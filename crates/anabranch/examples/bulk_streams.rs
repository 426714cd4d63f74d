//! Bulk transfer on many streams within one process, as quinn's `bench/src/bin/bulk.rs` measures it, encrypted over loopback.
//!
//! ```text
//! bulk_streams [--clients N] [--streams N] [--max-streams N] [--download SIZE] [--upload SIZE] [--mtu BYTES] [--stats]
//! ```
//!
//! Each client opens `streams` streams, at most `max-streams` at the same time, sends `upload` bytes on each and receives `download`
//! bytes. Sizes may end with k, M, G or T. The server and each client have a thread of their own.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anabranch::{
    Association, AssociationConfig, Bytes, Endpoint, EndpointBuilder, PrivateKey, PublicKey, StreamLimits,
    StreamReceiver, StreamSender,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone, Copy)]
struct Options {
    clients: u64,
    streams: u64,
    max_streams: u64,
    download: u64,
    upload: u64,
    mtu: u64,
    stats: bool,
}

fn main() -> Result<(), Failure> {
    let options = Options::parse(std::env::args().skip(1))?;
    let key = PrivateKey::generate()?;
    let public = key.public_key();
    let runtime = runtime()?;
    let bound = options
        .endpoint("127.0.0.1:0")
        .identity(key)
        .trust_everyone()
        .listen();
    let endpoint = runtime.block_on(bound.bind())?;
    let address = endpoint.local_addrs()[0];
    let server = thread::spawn(move || runtime.block_on(serve(endpoint, options)));
    let clients: Vec<_> = (0..options.clients)
        .map(|_| thread::spawn(move || self::runtime()?.block_on(run_client(address, public, options))))
        .collect();
    for (id, client) in clients.into_iter().enumerate() {
        println!("\nClient {id}");
        client.join().map_err(|_| "a client panicked")??.print(options);
    }
    server.join().map_err(|_| "the server panicked")?
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

async fn serve(endpoint: Endpoint, options: Options) -> Result<(), Failure> {
    for _ in 0..options.clients {
        let association = endpoint.accept().await.ok_or("the endpoint closed")?;
        tokio::spawn(async move {
            while let Ok((mut sender, mut receiver)) = association.accept_stream().await {
                tokio::spawn(async move {
                    drain(&mut receiver).await?;
                    fill(&mut sender, options.download).await
                });
            }
            if options.stats {
                println!("\nServer: {:#?}", association.statistics());
            }
        });
    }
    endpoint.wait_idle().await;
    Ok(())
}

async fn run_client(address: SocketAddr, key: PublicKey, options: Options) -> Result<Report, Failure> {
    let endpoint = options.endpoint("127.0.0.1:0").trust(key).bind().await?;
    let association = endpoint.connect(address).await?;
    let start = Instant::now();
    let at_once = Arc::new(Semaphore::new(options.max_streams as usize));
    let mut tasks = Vec::new();
    for _ in 0..options.streams {
        let permit = Arc::clone(&at_once).acquire_owned().await?;
        let association = association.clone();
        tasks.push(tokio::spawn(async move {
            let spans = run_stream(&association, options).await;
            drop(permit);
            spans
        }));
    }
    let mut report = Report::default();
    for task in tasks {
        let (upload, download) = task.await??;
        report.uploads.push(upload);
        report.downloads.push(download);
    }
    report.total = start.elapsed();
    if options.stats {
        println!("\nClient: {:#?}", association.statistics());
    }
    association.shutdown().await?;
    Ok(report)
}

/// How long the upload and the download of a stream took.
async fn run_stream(association: &Association, options: Options) -> Result<(Duration, Duration), Failure> {
    let start = Instant::now();
    let (mut sender, mut receiver) = association.open_stream().await?;
    fill(&mut sender, options.upload).await?;
    let upload = start.elapsed();
    if drain(&mut receiver).await? != options.download {
        return Err("the download is not complete".into());
    }
    Ok((upload, start.elapsed() - upload))
}

async fn fill(sender: &mut StreamSender, bytes: u64) -> Result<(), Failure> {
    const MESSAGE: &[u8] = &[0xAB; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let length = left.min(MESSAGE.len() as u64);
        sender
            .send(Bytes::from_static(&MESSAGE[..length as usize]))
            .await?;
        left -= length;
    }
    sender.finish();
    Ok(())
}

async fn drain(receiver: &mut StreamReceiver) -> Result<u64, Failure> {
    let mut bytes = 0;
    while let Some(message) = receiver.recv().await? {
        bytes += message.payload.len() as u64;
    }
    Ok(bytes)
}

#[derive(Default)]
struct Report {
    total: Duration,
    uploads: Vec<Duration>,
    downloads: Vec<Duration>,
}

impl Report {
    fn print(mut self, options: Options) {
        let rate = |bytes: u64, span: Duration| bytes as f64 / span.as_secs_f64() / f64::from(1 << 20);
        let directions = [
            ("upload", options.upload, &mut self.uploads),
            ("download", options.download, &mut self.downloads),
        ];
        for (name, size, spans) in directions {
            if size == 0 || spans.is_empty() {
                continue;
            }
            spans.sort_unstable();
            let (streams, bytes) = (spans.len(), size * spans.len() as u64);
            let total = rate(bytes, self.total);
            println!(
                "{name}: {bytes} bytes on {streams} streams in {:.2?} ({total:.2} MiB/s)",
                self.total
            );
            for percent in [0, 10, 50, 90, 100] {
                let span = spans[(streams - 1) * percent / 100];
                println!(" P{percent:<3} {span:>9.2?} {:>9.2} MiB/s", rate(size, span));
            }
        }
    }
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self {
            clients: 1,
            streams: 1,
            max_streams: 1,
            download: 1 << 30,
            upload: 0,
            mtu: 1_500,
            stats: false,
        };
        while let Some(word) = words.next() {
            let field = match word.as_str() {
                "--stats" => {
                    options.stats = true;
                    continue;
                }
                "--clients" => &mut options.clients,
                "--streams" => &mut options.streams,
                "--max-streams" => &mut options.max_streams,
                "--download" => &mut options.download,
                "--upload" => &mut options.upload,
                "--mtu" => &mut options.mtu,
                other => return Err(format!("{other} is no option").into()),
            };
            *field = size(&words.next().ok_or("a value is missing")?)?;
        }
        Ok(options)
    }

    fn endpoint(&self, local: &str) -> EndpointBuilder {
        let config = AssociationConfig {
            mtu: self.mtu as u16,
            ..AssociationConfig::default()
        };
        let limits = StreamLimits {
            streams: u16::try_from(2 * self.max_streams).unwrap_or(u16::MAX),
            ..StreamLimits::default()
        };
        Endpoint::builder()
            .local(local)
            .association_config(config)
            .streams(limits)
    }
}

fn size(text: &str) -> Result<u64, std::num::ParseIntError> {
    let exponent = text
        .find(['k', 'M', 'G', 'T'])
        .map_or(0, |at| match text.as_bytes()[at] {
            b'k' => 10,
            b'M' => 20,
            b'G' => 30,
            _ => 40,
        });
    let digits = text.trim_end_matches(['k', 'M', 'G', 'T']);
    Ok(digits.parse::<u64>()? << exponent)
}
