//! QUIC on loopback: one stream of quinn, and of noq, which began as a copy of it, with their defaults.

use std::sync::Arc;

use crate::process::{BATCH, Failure, Meter, Server, Work, on_this_thread};
use crate::tls::{self, Identity, NAME};

const LOCAL: &str = "127.0.0.1:0";

/// Maximum bytes per read.
const READ: usize = 1 << 20;

/// Both ends with `$library`. `$ordered` are the further arguments of its reads, `$bytes` finds the bytes in what they return.
macro_rules! ends {
    ($library:ident, $role:literal, ($($ordered:expr)?), $bytes:expr) => {
        pub(crate) mod $library {
            use super::*;
            use ::$library::crypto::rustls::{QuicClientConfig, QuicServerConfig};
            use ::$library::{ClientConfig, Endpoint, ServerConfig};

            /// The role of the second process.
            pub(crate) const RECEIVE: &str = $role;

            /// Sends with writes of `size` bytes.
            pub(crate) fn send(size: usize, seconds: f64) -> Result<Work, Failure> {
                let mut server = Server::start(RECEIVE, "")?;
                let (address, certificate) = (server.line()?.parse()?, server.line()?);
                let sent = on_this_thread(async {
                    let endpoint = Endpoint::client(LOCAL.parse()?)?;
                    let tls = QuicClientConfig::try_from(tls::client(tls::parse(&certificate)?)?)?;
                    let config = ClientConfig::new(Arc::new(tls));
                    let connection = endpoint.connect_with(config, address, NAME)?.await?;
                    let mut stream = connection.open_uni().await?;
                    let (piece, mut bytes, meter) = (vec![7; size], 0, Meter::start());
                    while !meter.has_run(seconds) {
                        for _ in 0..BATCH {
                            stream.write_all(&piece).await?;
                        }
                        bytes += BATCH * size;
                    }
                    stream.finish()?;
                    stream.stopped().await?;
                    Ok(meter.stop(bytes))
                })?;
                server.joined_with(sent)
            }

            pub(crate) fn receive() -> Result<(), Failure> {
                on_this_thread(async {
                    let identity = Identity::new()?;
                    let tls = QuicServerConfig::try_from(identity.server()?)?;
                    let config = ServerConfig::with_crypto(Arc::new(tls));
                    let endpoint = Endpoint::server(config, LOCAL.parse()?)?;
                    println!("{}\n{}", endpoint.local_addr()?, identity.hex());
                    let connection = endpoint.accept().await.ok_or("the endpoint closed")?.await?;
                    let mut stream = connection.accept_uni().await?;
                    let first = stream.read_chunk(READ, $($ordered)?).await?.ok_or("nothing came")?;
                    let length = $bytes;
                    let (mut bytes, meter) = (length(&first), Meter::start());
                    while let Some(chunk) = stream.read_chunk(READ, $($ordered)?).await? {
                        bytes += length(&chunk);
                    }
                    meter.stop(bytes).print();
                    connection.closed().await;
                    Ok(())
                })
            }
        }
    };
}

ends!(quinn, "quinn", (true), |chunk: &::quinn::Chunk| chunk.bytes.len());
ends!(noq, "noq", (), |bytes: &anabranch::Bytes| bytes.len());
