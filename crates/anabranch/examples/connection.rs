//! The shortest connection: a server and a client, encrypted, over two paths. `cargo run --example connection`.

use std::error::Error;

use anabranch::{Endpoint, PrivateKey};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let key = PrivateKey::generate()?;
    let server = Endpoint::builder().identity(key.clone()).trust_everyone();
    let server = server
        .local("127.0.0.1:0")
        .local("127.0.0.2:0")
        .listen()
        .bind()
        .await?;
    let addresses = server.local_addrs();
    tokio::spawn(async move {
        let association = server.accept().await?;
        println!("[server] accepted: {:?}", association.peer_addr());
        // Dropping its last handle shuts the association down.
        Some(())
    });

    let client = Endpoint::builder().trust(key.public_key());
    let client = client.local("127.0.0.3:0").local("127.0.0.4:0").bind().await?;
    let association = client.connect(&addresses[..]).await?;
    println!("[client] connected: {:?}", association.peer_addr());
    println!("[client] ended: {}", association.closed().await);
    client.wait_idle().await;
    Ok(())
}
