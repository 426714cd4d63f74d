//! Bulk transfer between two processes. Run `bulk recv` and then, elsewhere, `bulk send`; each prints a line of
//! JSON. Goodput is what the receiver counts from the first message to the last. `bulk pong` and `bulk ping` measure
//! round trips in the same way.
//!
//! ```text
//! bulk recv [--local ADDR,..] [--receive-buffer BYTES]
//! bulk pong [--local ADDR,..]
//! bulk ping [--local ADDR,..] [--peer ADDR,..] [--size BYTES] [--count N]
//! bulk send [--local ADDR,..] [--peer ADDR,..] [--size BYTES] [--seconds S] [--profile NAME] [--send-buffer BYTES]
//!           [--unordered yes]
//! all:      [--threads N] [--mtu BYTES] [--policy KEY=VALUE,..]
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anabranch::{Association, AssociationConfig, Bytes, Endpoint, Message, PolicyRecipe, StreamId};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let verb = arguments.next().ok_or("bulk recv | send | pong | ping")?;
    let options = Options::parse(arguments)?;
    let mut runtime = match options.number("threads", 1)? {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    runtime.enable_all().build()?.block_on(async {
        // In a task: the future that the runtime blocks on runs apart from its workers.
        tokio::spawn(async move {
            match verb.as_str() {
                "recv" => receive(&options).await,
                "send" => send(&options).await,
                "pong" => pong(&options).await,
                "ping" => ping(&options).await,
                other => Err(format!("no verb {other}").into()),
            }
        })
        .await?
    })
}

async fn receive(options: &Options) -> Result<(), Failure> {
    let endpoint = options.endpoint("127.0.0.1:9899")?.listen().bind().await?;
    let association = endpoint.accept().await.ok_or("the endpoint closed")?;
    let Some(first) = association.recv().await? else {
        return Err("the peer sent nothing".into());
    };
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let (mut bytes, mut messages) = (first.payload.len() as u64, 1_u64);
    while let Some(message) = association.recv().await? {
        bytes += message.payload.len() as u64;
        messages += 1;
    }
    report(
        "recv",
        bytes,
        messages,
        start.elapsed(),
        cpu_seconds() - cpu,
        &association,
    );
    association.shutdown().await?;
    endpoint.close().await;
    Ok(())
}

async fn send(options: &Options) -> Result<(), Failure> {
    let endpoint = options.endpoint("127.0.0.1:0")?.bind().await?;
    let association = endpoint
        .connect(&options.addresses("peer", "127.0.0.1:9899")?[..])
        .await?;
    let size: usize = options.number("size", 1_400)?;
    let span = Duration::from_secs(options.number("seconds", 5)?);
    let unordered = options.text("unordered", "no") == "yes";
    let payload = vec![7; size];
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut messages = 0_u64;
    while start.elapsed() < span {
        for _ in 0..64 {
            // A copy for each message, as a program with real data would make.
            let message = Message::new(StreamId(0), Bytes::copy_from_slice(&payload));
            association
                .send(if unordered { message.unordered() } else { message })
                .await?;
        }
        messages += 64;
    }
    association.flushed().await?;
    report(
        "send",
        messages * size as u64,
        messages,
        start.elapsed(),
        cpu_seconds() - cpu,
        &association,
    );
    association.shutdown().await?;
    endpoint.close().await;
    Ok(())
}

async fn pong(options: &Options) -> Result<(), Failure> {
    let endpoint = options.endpoint("127.0.0.1:9899")?.listen().bind().await?;
    let association = endpoint.accept().await.ok_or("the endpoint closed")?;
    while let Some(message) = association.recv().await? {
        association.stream(message.stream).send(message.payload).await?;
    }
    endpoint.close().await;
    Ok(())
}

async fn ping(options: &Options) -> Result<(), Failure> {
    let endpoint = options.endpoint("127.0.0.1:0")?.bind().await?;
    let association = endpoint
        .connect(&options.addresses("peer", "127.0.0.1:9899")?[..])
        .await?;
    let payload = Bytes::from(vec![7; options.number("size", 64)?]);
    let mut round_trips = Vec::new();
    for _ in 0..options.number("count", 20_000)? {
        let start = Instant::now();
        association
            .send(Message::new(StreamId(0), payload.clone()))
            .await?;
        association.recv().await?.ok_or("the peer finished")?;
        round_trips.push(start.elapsed().as_secs_f64() * 1e6);
    }
    round_trips.sort_by(f64::total_cmp);
    let percentile = |of_100: usize| {
        round_trips
            .get(round_trips.len() * of_100 / 100)
            .copied()
            .unwrap_or(f64::NAN)
    };
    println!(
        r#"{{"program":"anabranch","side":"ping","p50_us":{:.1},"p99_us":{:.1}}}"#,
        percentile(50),
        percentile(99)
    );
    association.shutdown().await?;
    endpoint.close().await;
    Ok(())
}

fn report(who: &str, bytes: u64, messages: u64, span: Duration, cpu: f64, association: &Association) {
    let seconds = span.as_secs_f64();
    let statistics = association.statistics();
    let paths: Vec<String> = statistics
        .paths
        .iter()
        .map(|path| {
            format!(
                r#"{{"path":"{}","sent":{},"received":{},"again":{},"timeouts":{},"window":{},"srtt_us":{}}}"#,
                path.addr,
                path.counters.payload_sent,
                path.counters.payload_received,
                path.counters.payload_retransmitted,
                path.counters.timeouts,
                path.cwnd,
                path.srtt.map_or(0, |srtt| srtt.as_micros()),
            )
        })
        .collect();
    println!(
        r#"{{"program":"anabranch","side":"{who}","gbps":{:.3},"messages_per_second":{:.0},"seconds":{seconds:.2},"cpu_s_per_GB":{:.3},"sacks_sent":{},"sacks_received":{},"paths":[{}]}}"#,
        bytes as f64 * 8.0 / seconds / 1e9,
        messages as f64 / seconds,
        cpu / (bytes as f64 / 1e9),
        statistics.sacks_sent,
        statistics.sacks_received,
        paths.join(","),
    );
}

/// User and system time of this process, from Linux's `/proc`; 0 elsewhere.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

struct Options(BTreeMap<String, String>);

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = BTreeMap::new();
        while let Some(key) = arguments.next() {
            let key = key
                .strip_prefix("--")
                .ok_or_else(|| format!("{key} is no option"))?
                .to_owned();
            let value = arguments.next().ok_or_else(|| format!("--{key} needs a value"))?;
            options.insert(key, value);
        }
        Ok(Self(options))
    }

    fn text<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.0.get(key).map_or(default, String::as_str)
    }

    fn number<T: std::str::FromStr<Err: Error + Send + Sync + 'static>>(
        &self,
        key: &str,
        default: T,
    ) -> Result<T, Failure> {
        Ok(self
            .0
            .get(key)
            .map(|value| value.parse())
            .transpose()?
            .unwrap_or(default))
    }

    fn addresses(&self, key: &str, default: &str) -> Result<Vec<SocketAddr>, Failure> {
        Ok(self
            .text(key, default)
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()?)
    }

    fn endpoint(&self, local: &str) -> Result<anabranch::EndpointBuilder, Failure> {
        let mut policies = PolicyRecipe::profile(self.text("profile", "default"))?;
        for choice in self
            .text("policy", "")
            .split(',')
            .filter(|choice| !choice.is_empty())
        {
            let (key, value) = choice.split_once('=').ok_or("--policy KEY=VALUE")?;
            policies.set(key, value)?;
        }
        let defaults = AssociationConfig::default();
        let config = AssociationConfig {
            policies,
            mtu: self.number("mtu", defaults.mtu)?,
            send_buffer: self.number("send-buffer", defaults.send_buffer)?,
            receive_buffer: self.number("receive-buffer", defaults.receive_buffer)?,
            ..defaults
        };
        let builder = Endpoint::builder().insecure().association_config(config);
        let local = self.addresses("local", local)?;
        Ok(local
            .iter()
            .fold(builder, |builder, address| builder.local(address.to_string())))
    }
}
