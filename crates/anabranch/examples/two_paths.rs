//! Transfer over two paths. Sends 64 MiB between two endpoints of this process that have two
//! loopback addresses each, and shows what each path carried.

use std::error::Error;
use std::time::Instant;

use anabranch::{Association, Bytes, Endpoint, PathStatistics, PolicyRecipe, StreamId};

const TOTAL: usize = 64 << 20;
const MESSAGE: usize = 16 << 10;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Endpoint::builder()
        .insecure()
        .local("127.0.0.1:0")
        .local("127.0.0.2:0")
        .listen()
        .bind()
        .await?;
    // Round robin, because two loopback paths are equally fast.
    let config = anabranch::AssociationConfig {
        policies: PolicyRecipe::cmt(),
        ..Default::default()
    };
    let builder = Endpoint::builder().insecure().association_config(config);
    let client = builder.local("127.0.0.3:0").local("127.0.0.4:0").bind().await?;
    let addresses = server.local_addrs();

    let receiver = tokio::spawn(async move {
        let association = server.accept().await?;
        let mut bytes = 0;
        while let Ok(Some(message)) = association.recv().await {
            bytes += message.payload.len();
        }
        association.shutdown().await.ok()?;
        Some(bytes)
    });

    let association = client.connect(&addresses[..]).await?;
    let start = Instant::now();
    send(&association).await?;
    let seconds = start.elapsed().as_secs_f64();
    association.statistics().paths.iter().for_each(show);
    association.shutdown().await?;

    let received = receiver.await?.ok_or("the receiver failed")?;
    println!(
        "{received} bytes received, {:.2} Gbit/s",
        received as f64 * 8.0 / seconds / 1e9
    );
    Ok(())
}

async fn send(association: &Association) -> Result<(), Box<dyn Error>> {
    let stream = association.stream(StreamId(0));
    let payload = Bytes::from(vec![7; MESSAGE]);
    for _ in 0..TOTAL / MESSAGE {
        stream.send(payload.clone()).await?;
    }
    association.flushed().await?;
    Ok(())
}

fn show(path: &PathStatistics) {
    let megabytes = path.counters.payload_sent as f64 / 1e6;
    println!(
        "{}: {megabytes:.1} MB sent, round trip {:?}, {:?}",
        path.addr, path.srtt, path.reachability
    );
}
