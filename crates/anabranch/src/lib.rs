//! Multipath transport for programs: all the paths between two hosts, used as one.
//!
//! An [`Endpoint`] has several local addresses. An [`Association`] between two endpoints carries whole messages
//! on independent streams, reliably, over all paths between them at the same time: SCTP (RFC 9260) with
//! Concurrent Multipath Transfer, inside UDP (RFC 6951), without privileges. When a path fails, traffic moves;
//! when it returns, it is used again.
//!
//! ```
//! use anabranch::{Endpoint, Message, PrivateKey, StreamId};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // The server proves who it is by its key. Two local addresses each: every association can have two paths.
//!     let key = PrivateKey::generate()?;
//!     let server = Endpoint::builder().identity(key.clone()).trust_everyone().local("127.0.0.1:0").local("127.0.0.2:0");
//!     let server = server.listen().bind().await?;
//!     let client = Endpoint::builder().trust(key.public_key()).local("127.0.0.3:0").local("127.0.0.4:0").bind().await?;
//!     let addresses = server.local_addrs();
//!
//!     let echo = tokio::spawn(async move {
//!         let association = server.accept().await?;
//!         while let Ok(Some(message)) = association.recv().await {
//!             association.stream(message.stream).send(message.payload).await.ok()?;
//!         }
//!         association.shutdown().await.ok()
//!     });
//!
//!     let association = client.connect(&addresses[..]).await?;
//!     association.send(Message::new(StreamId(0), "hello over two paths")).await?;
//!     let answer = association.recv().await?.ok_or("the server said nothing")?;
//!     assert_eq!(answer.payload, "hello over two paths");
//!     association.shutdown().await?;
//!     echo.await?.ok_or("the server failed")?;
//!     Ok(())
//! }
//! ```
//!
//! # Security
//!
//! An endpoint with an [identity](EndpointBuilder::identity) or a [trusted key](EndpointBuilder::trust) encrypts and authenticates all
//! packets: TLS 1.3 below SCTP, by keys as WireGuard has them, or with [configurations of rustls](EndpointBuilder::tls_client). The peer's
//! identity is on the [association](Association::peer_identity). SCTP in the clear, as other implementations speak it in UDP, needs
//! [`insecure`](EndpointBuilder::insecure).
//!
//! # How it runs
//!
//! Each endpoint has one task on the tokio runtime that carries packets between the sockets and the protocol
//! core; handles call the core directly. A handle that sends fills a buffer; the task empties it in batches.
//! Handles work on any executor: only [`EndpointBuilder::bind`] has to run on tokio.
//! Dropping handles shuts associations down in the background; awaiting [`Association::shutdown`] or
//! [`Endpoint::close`] makes sure.

mod association;
mod builder;
mod byte_stream;
mod data_channel;
mod driver;
#[cfg(feature = "dtls")]
pub mod dtls;
mod endpoint;
mod error;
mod events;
mod exposition;
mod incoming;
mod observe;
mod runtime;
mod security;
mod settings;
mod statistics_watch;
mod stream;
mod streams;
mod trace;
mod writer;

pub use anabranch_datachannel::{
    ChannelOptions, ChannelReliability, ChannelState, CloseCause, Limits as ChannelLimits, OpenError,
    Payload, Role, Violation, priority,
};
pub use anabranch_io as io;
pub use anabranch_policy as policy;
pub use anabranch_policy::{PathUse, PolicyRecipe, Reachability};
pub use anabranch_proto::{
    Abandonments, AddressError, AssociationConfig, AssociationStatistics, BufferError, BufferSize,
    CloseReason, EndpointConfig, ErrorDetection, Extent, KeyError, Message, MessagePart, OwnPolicies,
    PacketCounts, PathChange, PathCounters, PathEvent, PathPreference, PathStatistics, ProtocolParameters,
    ReceivedMessage, Reconfiguration, ReconfigurationError, Reliability, ReportedError, SendQueue, SizeRange,
    SourcePrefix,
};
pub use anabranch_secure::{
    Destination, ExporterSecret, HandshakeError, KeyList, KeyParseError, PeerInfo, PrivateKey, PublicKey,
    destination, rustls,
};
pub use anabranch_types::{AssociationId, Instant, MessageId, PathAddr, PathId, Ppid, Rate, StreamId};
pub use association::Association;
pub use builder::EndpointBuilder;
pub use byte_stream::{ByteReader, ByteStream, ByteWriter};
pub use bytes::Bytes;
pub use data_channel::{ChannelSendError, DataChannel, DataChannels};
pub use driver::Readiness;
pub use endpoint::Endpoint;
pub use error::{
    BindError, ConnectConfigError, ConnectError, OpenStreamError, RecvError, SendError, StreamRecvError,
    StreamSendError, TryRecvError, TrySendError, UnfinishedError,
};
pub use events::{AssociationEvent, Events};
pub use exposition::prometheus;
pub use incoming::Incoming;
pub use observe::{Direction, Observer};
#[cfg(target_os = "linux")]
pub use runtime::InterfaceChanges;
#[cfg(target_os = "linux")]
pub use runtime::raw_socket;
pub use runtime::{udp_socket, uplink_socket};
pub use security::SEAL_OVERHEAD;
pub use settings::{Settings, SettingsError};
pub use statistics_watch::StatisticsWatch;
pub use stream::SendStream;
pub use streams::{SendOptions, StreamLimits, StreamReceiver, StreamSender, StreamStatistics};
pub use writer::MessageWriter;

/// The example of README.md, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExample;

/// The examples of docs/guide.md, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
struct GuideExamples;

#[cfg(test)]
mod tests {
    use super::*;

    /// All handles can be shared by threads; a handle that cannot does not compile.
    #[test]
    fn handles_are_send_and_sync() {
        const fn check<T: Send + Sync + 'static>() {}
        const fn moves<T: Send + 'static>() {}
        const {
            // An observer may belong to one thread at a time.
            moves::<EndpointBuilder>();
            check::<(Endpoint, Incoming, Association, Events, StatisticsWatch)>();
            check::<(StreamSender, StreamReceiver, SendStream, MessageWriter)>();
            check::<(
                ByteStream,
                ByteReader,
                ByteWriter,
                DataChannels,
                DataChannel,
                Settings,
            )>();
            check::<(
                ConnectError,
                BindError,
                StreamSendError,
                StreamRecvError,
                OpenStreamError,
            )>();
        }
    }
}
