//! Statistics as a stream, and settings.

use std::time::Duration;

use anabranch::{Settings, StreamLimits};

use crate::common::{in_time, next, pair, text};

#[tokio::test]
async fn statistics_follow_an_association_to_its_end() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let mut watch = alice.statistics_every(Duration::from_millis(1));
        assert_eq!(watch.next().await.unwrap().messages_sent, 0);
        alice.send(text("one")).await.unwrap();
        while watch.next().await.unwrap().messages_sent == 0 {}
        assert_eq!(next(&bob).await.payload, "one");
        alice.shutdown().await.unwrap();
        let mut last = None;
        while let Some(statistics) = watch.next().await {
            last = Some(statistics.state);
        }
        assert_eq!(last, Some("CLOSED"));
    })
    .await;
}

#[tokio::test]
async fn watch_of_statistics_keeps_no_association_open() {
    in_time(async {
        let (alice, bob, _endpoints) = pair().await;
        let mut watch = alice.statistics_every(Duration::from_millis(1));
        drop(alice);
        assert!(watch.next().await.is_none());
        bob.closed().await;
    })
    .await;
}

#[tokio::test]
async fn endpoints_are_built_from_settings() {
    in_time(async {
        let mut settings = Settings::default();
        settings.local = vec!["127.0.0.1:0".to_owned()];
        settings.insecure = true;
        settings.streams = Some(StreamLimits::default());
        settings
            .policies
            .insert("stream-scheduler".to_owned(), "rr".to_owned());
        let client = settings.builder().unwrap().bind().await.unwrap();
        settings.listen = true;
        let server = settings.builder().unwrap().bind().await.unwrap();
        let (ours, _theirs) = crate::common::join(&client, &server).await;
        assert!(ours.open_stream().await.is_ok());
        settings.profile = Some("no such profile".to_owned());
        assert!(settings.builder().is_err());
    })
    .await;
}
