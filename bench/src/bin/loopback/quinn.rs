//! QUIC on loopback: one stream of quinn with its defaults.

use std::sync::Arc;

use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::RootCertStore;
use rustls::pki_types::PrivatePkcs8KeyDer;

use crate::process::{BATCH, Failure, Meter, Server, Work, on_this_thread};

/// The role of the second process.
pub(crate) const RECEIVE: &str = "quinn";

const NAME: &str = "localhost";
const LOCAL: &str = "127.0.0.1:0";

/// Maximum bytes per read.
const READ: usize = 1 << 20;

/// Sends with writes of `size` bytes.
pub(crate) fn send(size: usize, seconds: f64) -> Result<Work, Failure> {
    let mut server = Server::start(RECEIVE, "")?;
    let (address, certificate) = (server.line()?.parse()?, server.line()?);
    let sent = on_this_thread(async {
        let mut endpoint = Endpoint::client(LOCAL.parse()?)?;
        endpoint.set_default_client_config(trusting(&certificate)?);
        let connection = endpoint.connect(address, NAME)?.await?;
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
        let identity = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        let certificate = identity.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
        let hex: String = certificate.iter().map(|byte| format!("{byte:02x}")).collect();
        let config = ServerConfig::with_single_cert(vec![certificate], key.into())?;
        let endpoint = Endpoint::server(config, LOCAL.parse()?)?;
        println!("{}\n{hex}", endpoint.local_addr()?);
        let connection = endpoint.accept().await.ok_or("the endpoint closed")?.await?;
        let mut stream = connection.accept_uni().await?;
        let first = stream.read_chunk(READ, true).await?.ok_or("nothing came")?;
        let (mut bytes, meter) = (first.bytes.len(), Meter::start());
        while let Some(chunk) = stream.read_chunk(READ, true).await? {
            bytes += chunk.bytes.len();
        }
        meter.stop(bytes).print();
        connection.closed().await;
        Ok(())
    })
}

/// Trusts the one certificate that is given in hexadecimal.
fn trusting(certificate: &str) -> Result<ClientConfig, Failure> {
    let bytes = (0..certificate.len()).step_by(2);
    let bytes = bytes.map(|at| u8::from_str_radix(&certificate[at..at + 2], 16));
    let mut roots = RootCertStore::empty();
    roots.add(bytes.collect::<Result<Vec<u8>, _>>()?.into())?;
    Ok(ClientConfig::with_root_certificates(Arc::new(roots))?)
}
