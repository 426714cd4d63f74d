//! QUIC on loopback: one stream of s2n-quic with its defaults.

use anabranch::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Server as QuicServer};

use crate::process::{BATCH, Failure, Meter, Server, Work, on_this_thread};
use crate::tls::{self, Identity, NAME};

/// The role of the second process.
pub(crate) const RECEIVE: &str = "s2n-quic";

const LOCAL: &str = "127.0.0.1:0";

/// Sends with writes of `size` bytes.
pub(crate) fn send(size: usize, seconds: f64) -> Result<Work, Failure> {
    let mut server = Server::start(RECEIVE, "")?;
    let (address, certificate): (std::net::SocketAddr, _) = (server.line()?.parse()?, server.line()?);
    let sent = on_this_thread(async {
        let tls = rustls::Client::builder().with_certificate(tls::parse(&certificate)?)?;
        let client = Client::builder()
            .with_tls(tls.build()?)?
            .with_io(LOCAL)?
            .start()?;
        let mut connection = client
            .connect(Connect::new(address).with_server_name(NAME))
            .await?;
        let mut stream = connection.open_send_stream().await?;
        let (piece, mut bytes, meter) = (vec![7; size], 0, Meter::start());
        while !meter.has_run(seconds) {
            for _ in 0..BATCH {
                // It keeps what it sends, so it takes bytes of its own, where quinn copies.
                stream.send(Bytes::copy_from_slice(&piece)).await?;
            }
            bytes += BATCH * size;
        }
        stream.close().await?;
        Ok(meter.stop(bytes))
    })?;
    server.joined_with(sent)
}

pub(crate) fn receive() -> Result<(), Failure> {
    on_this_thread(async {
        let identity = Identity::new()?;
        let tls = rustls::Server::builder().with_certificate(identity.certificate(), identity.key())?;
        let builder = QuicServer::builder().with_tls(tls.build()?)?;
        let mut server = builder.with_io(LOCAL)?.start()?;
        println!("{}\n{}", server.local_addr()?, identity.hex());
        let mut connection = server.accept().await.ok_or("the endpoint closed")?;
        let stream = connection.accept_receive_stream().await?;
        let mut stream = stream.ok_or("no stream came")?;
        let first = stream.receive().await?.ok_or("nothing came")?;
        let (mut bytes, meter) = (first.len(), Meter::start());
        while let Some(chunk) = stream.receive().await? {
            bytes += chunk.len();
        }
        meter.stop(bytes).print();
        // Until the sender has the last acknowledgement and closes.
        while let Ok(Some(_)) = connection.accept_receive_stream().await {}
        Ok(())
    })
}
