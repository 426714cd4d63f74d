//! Shared setup: two endpoints that know each other.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch::policy::catalog::RtoChoice;
use anabranch::policy::options::RtoParameters;
use anabranch::{
    Association, AssociationConfig, Bytes, Endpoint, EndpointBuilder, Message, PolicyRecipe, ReceivedMessage,
    StreamId,
};

/// How long a test may take before it counts as stuck.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Timers short enough for failures to be detected within a test.
pub(crate) fn hasty() -> AssociationConfig {
    let (min, max) = (Duration::from_millis(20), Duration::from_millis(100));
    let mut policies = PolicyRecipe::cmt();
    policies.set("failover", "potentially-failed").unwrap();
    policies.set("add-ip", "on").unwrap();
    let initial = min;
    policies.rto = RtoChoice::Rfc9260(RtoParameters {
        initial,
        min,
        max,
        ..RtoParameters::RFC9260
    });
    AssociationConfig {
        max_init_retransmits: 2,
        policies,
        ..AssociationConfig::default()
    }
}

pub(crate) fn at(addresses: &[&str]) -> EndpointBuilder {
    addresses
        .iter()
        .fold(Endpoint::builder().insecure(), |builder, address| {
            builder.local(*address)
        })
}

pub(crate) async fn server(addresses: &[&str]) -> Endpoint {
    at(addresses).listen().bind().await.unwrap()
}

pub(crate) async fn client(addresses: &[&str]) -> Endpoint {
    at(addresses).bind().await.unwrap()
}

/// An association between `client` and `server`, both ends of it.
pub(crate) async fn join(client: &Endpoint, server: &Endpoint) -> (Association, Association) {
    let addresses: Vec<SocketAddr> = server.local_addrs();
    let (ours, theirs) = tokio::join!(client.connect(&addresses[..]), server.accept());
    (ours.unwrap(), theirs.unwrap())
}

/// Both ends of an association over one path, and the endpoints, which close when dropped.
pub(crate) async fn pair() -> (Association, Association, [Endpoint; 2]) {
    let endpoints = [client(&["127.0.0.1:0"]).await, server(&["127.0.0.1:0"]).await];
    let (ours, theirs) = join(&endpoints[0], &endpoints[1]).await;
    (ours, theirs, endpoints)
}

pub(crate) fn text(text: &str) -> Message {
    Message::new(StreamId(0), text.to_owned())
}

pub(crate) fn numbered(number: u32, size: usize) -> Message {
    let mut payload = vec![0; size.max(4)];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    Message::new(StreamId(0), payload)
}

pub(crate) fn number_of(payload: &Bytes) -> u32 {
    u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]])
}

/// The next message, which must come.
pub(crate) async fn next(association: &Association) -> ReceivedMessage {
    association.recv().await.unwrap().expect("one more message")
}

/// Runs a test that must end in time.
pub(crate) async fn in_time(test: impl Future<Output = ()>) {
    tokio::time::timeout(TIME_LIMIT, test)
        .await
        .expect("the test ends in time");
}
