//! A custom path scheduler, which replaces the one of the recipe.
//!
//! Two endpoints of this process have two loopback addresses each; every packet is sent on the path that has carried
//! the fewest bytes so far.

use std::error::Error;

use anabranch::policy::{Backlog, PathFacts, PathScheduler, Pick, Policy, may_carry_data};
use anabranch::{AssociationConfig, Endpoint, OwnPolicies, PathId, StreamId};

/// The path that has carried the fewest bytes.
#[derive(Debug, Default)]
struct Fair {
    carried: [u64; 8],
}

impl Policy for Fair {
    fn name(&self) -> &'static str {
        "fair"
    }
}

impl PathScheduler for Fair {
    fn pick(&mut self, paths: &[PathFacts], _backlog: &Backlog, _now: anabranch::policy::Instant) -> Pick {
        paths
            .iter()
            .filter(|path| path.sendable > 0 && may_carry_data(path, paths))
            .min_by_key(|path| (self.carried[path.id.index() % 8], path.id))
            .map_or(Pick::Wait { until: None }, |path| Pick::On(path.id))
    }

    fn on_sent(&mut self, path: PathId, bytes: u64, _now: anabranch::policy::Instant) {
        self.carried[path.index() % 8] += bytes;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Endpoint::builder()
        .insecure()
        .local("127.0.0.1:0")
        .local("127.0.0.2:0")
        .listen()
        .bind()
        .await?;
    let config = AssociationConfig {
        own_policies: Some(OwnPolicies::new(|policies| {
            policies.path_scheduler = Box::new(Fair::default());
        })),
        ..AssociationConfig::default()
    };
    let builder = Endpoint::builder().insecure().association_config(config);
    let client = builder.local("127.0.0.3:0").local("127.0.0.4:0").bind().await?;
    let addresses = server.local_addrs();

    let receiver = tokio::spawn(async move {
        let association = server.accept().await?;
        while let Ok(Some(_)) = association.recv().await {}
        association.shutdown().await.ok()
    });

    let association = client.connect(&addresses[..]).await?;
    let stream = association.stream(StreamId(0));
    for _ in 0..1_000 {
        stream.send(vec![7; 10_000]).await?;
    }
    association.flushed().await?;
    for path in association.statistics().paths {
        println!("{}: {:.1} MB", path.addr, path.counters.payload_sent as f64 / 1e6);
    }
    association.shutdown().await?;
    receiver.await?.ok_or("the receiver failed")?;
    Ok(())
}
