//! Echo server and client: `echo serve [ADDR,..]` and `echo say TEXT [ADDR,..]`.

use std::error::Error;
use std::net::SocketAddr;

use anabranch::{Association, Endpoint, Message, StreamId};

const DEFAULT: &str = "127.0.0.1:9899";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve(DEFAULT).await,
        ["serve", addresses] => serve(addresses).await,
        ["say", text] => say(text, DEFAULT).await,
        ["say", text, addresses] => say(text, addresses).await,
        _ => Err("echo serve [ADDR,..] | echo say TEXT [ADDR,..]".into()),
    }
}

async fn serve(addresses: &str) -> Result<(), Box<dyn Error>> {
    let builder = addresses
        .split(',')
        .fold(Endpoint::builder().insecure(), |builder, address| {
            builder.local(address)
        });
    let endpoint = builder.listen().bind().await?;
    while let Some(association) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Err(error) = echo(&association).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn echo(association: &Association) -> Result<(), Box<dyn Error>> {
    while let Some(message) = association.recv().await? {
        association.stream(message.stream).send(message.payload).await?;
    }
    association.shutdown().await?;
    Ok(())
}

async fn say(text: &str, addresses: &str) -> Result<(), Box<dyn Error>> {
    let server: Vec<SocketAddr> = addresses.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let local = if server[0].is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let endpoint = Endpoint::builder().insecure().local(local).bind().await?;
    let association = endpoint.connect(&server[..]).await?;
    association
        .send(Message::new(StreamId(0), text.to_owned()))
        .await?;
    if let Some(answer) = association.recv().await? {
        println!("{}", String::from_utf8_lossy(&answer.payload));
    }
    association.shutdown().await?;
    Ok(())
}
