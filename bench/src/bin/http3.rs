//! One download over HTTP/3 with quinn: an inner flow for `scripts/bench-tunnel-profiles`.
//!
//! ```text
//! http3 serve PORT FILE              answer each request with bytes without end; the certificate goes to FILE
//! http3 get ADDRESS:PORT FILE SECONDS   download for so long; prints bits per second
//! ```
//!
//! TLS, flow control and congestion control are those that quinn has by default.

use std::error::Error;
use std::fs;
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use h3::server::RequestResolver;
use http::{Request, Response};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, Incoming, ServerConfig};
use rcgen::generate_simple_self_signed;
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::TLS13;
use tokio::time::timeout_at;

/// The name in the certificate.
const NAME: &str = "localhost";
/// Bytes of a DATA frame.
const PIECE: usize = 1 << 16;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = match words[..] {
        ["serve", port, file] => runtime.block_on(serve(port.parse()?, file)),
        ["get", address, file, seconds] => {
            let length = Duration::from_secs_f64(seconds.parse()?);
            runtime.block_on(get(address.parse()?, file, length))
        }
        _ => Err("http3 serve PORT FILE, or http3 get ADDRESS:PORT FILE SECONDS".into()),
    };
    done
}

async fn serve(port: u16, file: &str) -> Result<(), Failure> {
    let identity = generate_simple_self_signed([NAME.to_owned()])?;
    fs::write(file, identity.cert.der())?;
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = Endpoint::server(config, (Ipv4Addr::UNSPECIFIED, port).into())?;
    println!("listening on {}", endpoint.local_addr()?);
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            // A client that leaves ends its own connection only.
            let _ = connection(incoming).await;
        });
    }
    Ok(())
}

async fn connection(incoming: Incoming) -> Result<(), Failure> {
    let quic = h3_quinn::Connection::new(incoming.await?);
    let mut connection = h3::server::Connection::<_, Bytes>::new(quic).await?;
    while let Some(request) = connection.accept().await? {
        tokio::spawn(async move {
            let _ = answer(request).await;
        });
    }
    Ok(())
}

async fn answer(request: RequestResolver<h3_quinn::Connection, Bytes>) -> Result<(), Failure> {
    let (_, mut stream) = request.resolve_request().await?;
    stream.send_response(Response::new(())).await?;
    let piece = Bytes::from(vec![7; PIECE]);
    loop {
        stream.send_data(piece.clone()).await?;
    }
}

async fn get(address: SocketAddr, file: &str, length: Duration) -> Result<(), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(fs::read(file)?.into())?;
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let began = Instant::now();
    let quic = endpoint.connect_with(config, address, NAME)?.await?;
    let (mut driver, mut requests) = h3::client::new(h3_quinn::Connection::new(quic)).await?;
    tokio::spawn(async move { poll_fn(|context| driver.poll_close(context)).await });
    let request = Request::get(format!("https://{NAME}/")).body(())?;
    let mut stream = requests.send_request(request).await?;
    stream.finish().await?;
    stream.recv_response().await?;
    let mut bytes = 0;
    while let Ok(piece) = timeout_at((began + length).into(), stream.recv_data()).await {
        bytes += piece?.ok_or("the download ended")?.remaining();
    }
    println!("{:.0}", bytes as f64 * 8.0 / began.elapsed().as_secs_f64());
    Ok(())
}
