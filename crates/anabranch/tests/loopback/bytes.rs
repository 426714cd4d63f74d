//! Associations as pipes for bytes.

use std::io::ErrorKind;

use anabranch::{Message, StreamId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::common::{in_time, pair};

const STREAM: StreamId = StreamId(2);

#[tokio::test]
async fn bytes_travel_in_both_directions_until_the_shutdown() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let sent: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
        let echo = tokio::spawn(async move {
            let (mut reader, mut writer) = bob.byte_stream(STREAM).into_split();
            tokio::io::copy(&mut reader, &mut writer).await.unwrap()
        });
        let (mut reader, mut writer) = alice.byte_stream(STREAM).into_split();
        let expected = sent.clone();
        let reading = tokio::spawn(async move {
            let mut received = vec![0; expected.len()];
            reader.read_exact(&mut received).await.unwrap();
            assert!(received == expected);
            reader
        });
        writer.write_all(&sent).await.unwrap();
        writer.flush().await.unwrap();
        let mut reader = reading.await.unwrap();
        writer.shutdown().await.unwrap();
        assert_eq!(echo.await.unwrap(), sent.len() as u64);
        assert_eq!(reader.read(&mut [0]).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn message_on_another_stream_is_an_error() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        alice.send(Message::new(StreamId(0), "stray")).await.unwrap();
        let read = bob.byte_stream(STREAM).read(&mut [0; 8]).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidData);
    })
    .await;
}

#[tokio::test]
async fn bytes_end_with_an_error_if_the_peer_aborts() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        alice.abort("enough");
        let mut bytes = bob.byte_stream(STREAM);
        let read = bytes.read(&mut [0; 8]).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert!(bytes.write_all(b"more").await.is_err());
    })
    .await;
}
