//! WebRTC data channels between two endpoints, without DTLS.

use anabranch::{
    Association, AssociationConfig, Bytes, ChannelOptions, ChannelReliability, ChannelSendError,
    ChannelState, CloseCause, DataChannel, DataChannels, Endpoint, OpenError, Payload, Role, StreamId,
    Violation,
};

use crate::common::{in_time, join};

async fn endpoint(config: AssociationConfig) -> Endpoint {
    let builder = Endpoint::builder().insecure().webrtc().association_config(config);
    builder.local("127.0.0.1:0").listen().bind().await.unwrap()
}

/// Both ends' channels, and the endpoints, which close when dropped.
async fn pair_with(config: AssociationConfig) -> (DataChannels, DataChannels, [Endpoint; 2]) {
    let endpoints = [endpoint(config.clone()).await, endpoint(config).await];
    let (ours, theirs) = join(&endpoints[0], &endpoints[1]).await;
    let channels = |association: Association, role| DataChannels::new(association, role);
    (
        channels(ours, Role::Client),
        channels(theirs, Role::Server),
        endpoints,
    )
}

async fn pair() -> (DataChannels, DataChannels, [Endpoint; 2]) {
    pair_with(AssociationConfig::webrtc()).await
}

/// A channel, as both ends see it.
async fn open(from: &DataChannels, to: &DataChannels, options: ChannelOptions) -> (DataChannel, DataChannel) {
    let ours = from.open(options).unwrap();
    let theirs = to.accept().await.unwrap();
    ours.opened().await.unwrap();
    (ours, theirs)
}

fn text(text: &str) -> Option<Payload> {
    Some(text.into())
}

#[tokio::test]
async fn channels_of_both_ends_carry_text_binary_and_empty_messages() {
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        for (from, to) in [(&client, &server), (&server, &client)] {
            let options = ChannelOptions::new("chat").protocol("irc").priority(512);
            let (ours, theirs) = open(from, to, options.clone()).await;
            assert_eq!(theirs.options(), &options);
            assert_eq!(theirs.stream(), ours.stream());
            for (sender, receiver) in [(&ours, &theirs), (&theirs, &ours)] {
                sender.send_text("hello").await.unwrap();
                sender.send_binary(&b"\0\xff"[..]).await.unwrap();
                sender.send_text("").await.unwrap();
                sender.send_binary(Bytes::new()).await.unwrap();
                assert_eq!(receiver.recv().await, text("hello"));
                assert_eq!(receiver.recv().await, Some(Bytes::from_static(b"\0\xff").into()));
                assert_eq!(receiver.recv().await, text(""));
                assert_eq!(receiver.recv().await, Some(Bytes::new().into()));
            }
        }
    })
    .await;
}

#[tokio::test]
async fn messages_are_sent_before_the_channel_is_acknowledged() {
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        let ours = client.open(ChannelOptions::new("").unordered()).unwrap();
        ours.send_text("early").await.unwrap();
        let theirs = server.accept().await.unwrap();
        assert_eq!(theirs.recv().await, text("early"));
    })
    .await;
}

#[tokio::test]
async fn closed_channel_delivers_what_was_sent_and_its_stream_is_reused() {
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        for round in 0..6 {
            let (ours, theirs) = open(&client, &server, ChannelOptions::new(round.to_string())).await;
            assert_eq!(
                (ours.stream(), theirs.label()),
                (StreamId(0), &*round.to_string())
            );
            let (closer, other) = if round % 2 == 0 {
                (&ours, &theirs)
            } else {
                (&theirs, &ours)
            };
            closer.send_text("last").await.unwrap();
            closer.close();
            assert_eq!(closer.send_text("x").await, Err(ChannelSendError::Closed));
            assert_eq!(other.recv().await, text("last"));
            assert_eq!(other.recv().await, None);
            assert_eq!(other.closed().await, CloseCause::Peer);
            assert_eq!(closer.closed().await, CloseCause::Local);
            assert_eq!(closer.state(), ChannelState::Closed);
        }
    })
    .await;
}

#[tokio::test]
async fn dropped_handle_closes_the_channel() {
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        let (ours, theirs) = open(&client, &server, ChannelOptions::new("")).await;
        drop(ours);
        assert_eq!(theirs.closed().await, CloseCause::Peer);
    })
    .await;
}

#[tokio::test]
async fn negotiated_channel_sends_nothing_to_open() {
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        let stream = StreamId(7);
        let open = |channels: &DataChannels| channels.open_negotiated(stream, ChannelOptions::new(""));
        let (ours, theirs) = (open(&client).unwrap(), open(&server).unwrap());
        assert_eq!(open(&client).unwrap_err(), OpenError::StreamInUse);
        ours.send_text("agreed").await.unwrap();
        assert_eq!(theirs.recv().await, text("agreed"));
    })
    .await;
}

/// Each message is as long as allowed, and all together are longer than all buffers.
#[tokio::test]
async fn slow_reader_gets_everything_even_after_the_shutdown() {
    const COUNT: usize = 200;
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        let (ours, theirs) = open(&client, &server, ChannelOptions::new("")).await;
        let longest = Bytes::from(vec![7; 65_536]);
        let too_long = ours.send_binary(vec![7; 65_537]).await;
        assert_eq!(too_long, Err(ChannelSendError::TooLong { max: 65_536 }));
        let sender = tokio::spawn({
            let longest = longest.clone();
            async move {
                for _ in 0..COUNT {
                    ours.send_binary(longest.clone()).await.unwrap();
                }
                client.association().shutdown().await.unwrap();
            }
        });
        for _ in 0..COUNT {
            assert_eq!(theirs.recv().await, Some(longest.clone().into()));
        }
        assert_eq!(theirs.recv().await, None);
        assert_eq!(theirs.closed().await, CloseCause::Association);
        assert!(server.accept().await.is_none());
        sender.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn buffered_amount_falls_to_zero() {
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        let options = ChannelOptions::new("").reliability(ChannelReliability::Retransmissions(3));
        let (ours, theirs) = open(&client, &server, options).await;
        for _ in 0..20 {
            ours.send_binary(vec![1; 60_000]).await.unwrap();
        }
        assert!(ours.buffered_amount() > 0);
        ours.buffered_amount_low(0).await.unwrap();
        assert_eq!(ours.buffered_amount(), 0);
        for _ in 0..20 {
            assert!(theirs.recv().await.is_some());
        }
    })
    .await;
}

#[tokio::test]
async fn two_thousand_channels_open_and_close() {
    in_time(async {
        let (client, server, _endpoints) = pair().await;
        let ours: Vec<_> = (0..2_000)
            .map(|_| client.open(ChannelOptions::new("many")).unwrap())
            .collect();
        let mut theirs = Vec::new();
        for _ in 0..ours.len() {
            theirs.push(server.accept().await.unwrap());
        }
        for channel in &ours {
            channel.opened().await.unwrap();
            channel.close();
        }
        for channel in theirs.iter().chain(&ours) {
            channel.closed().await;
        }
        let again = client.open(ChannelOptions::new("again")).unwrap();
        assert_eq!(again.stream(), StreamId(0));
    })
    .await;
}

/// A peer that does not know data channels sends on a stream that has none.
#[tokio::test]
async fn messages_that_break_the_rules_close_the_channel() {
    in_time(async {
        let endpoints = [
            endpoint(AssociationConfig::webrtc()).await,
            endpoint(AssociationConfig::webrtc()).await,
        ];
        let (other, ours) = join(&endpoints[0], &endpoints[1]).await;
        let channels = DataChannels::new(ours, Role::Client);
        let channel = channels
            .open_negotiated(StreamId(4), ChannelOptions::new(""))
            .unwrap();
        other.stream(StreamId(4)).send("no PPID").await.unwrap();
        let CloseCause::Violation(Violation::UnknownPpid(_)) = close_of(&channel).await else {
            panic!("another cause: {:?}", channel.state());
        };
    })
    .await;
}

/// Why the channel is closing; the peer never resets its stream.
async fn close_of(channel: &DataChannel) -> CloseCause {
    channel.opened().await.err().unwrap_or(loop {
        tokio::task::yield_now().await;
        if let Err(cause) = channel.opened().await {
            break cause;
        }
    })
}
