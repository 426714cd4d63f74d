//! WebRTC data channels over DTLS, between two endpoints.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anabranch::dtls::{Certificate, DtlsError, DtlsSocket, Fingerprint, SessionError};
use anabranch::io::{Incoming, Outgoing, Socket};
use anabranch::{
    Bytes, ChannelOptions, ConnectError, DataChannel, DataChannels, Endpoint, Payload, Role, udp_socket,
};

use crate::common::in_time;

/// Two sockets, the client's first, and the certificates of their users.
struct Hosts {
    sockets: [Arc<dyn Socket>; 2],
    certificates: [Certificate; 2],
}

const ROLES: [Role; 2] = [Role::Client, Role::Server];

impl Hosts {
    fn new() -> Self {
        let socket = || udp_socket("127.0.0.1:0".parse().unwrap()).unwrap();
        Self {
            sockets: [socket(), socket()],
            certificates: [(); 2].map(|()| Certificate::generate().unwrap()),
        }
    }

    fn address(&self, host: usize) -> SocketAddr {
        self.sockets[host].local_addr()
    }

    /// The handshake of one host, which believes that the other one has a certificate with this fingerprint.
    async fn handshake(&self, host: usize, believed: Fingerprint) -> Result<DtlsSocket, DtlsError> {
        let socket = Arc::clone(&self.sockets[host]);
        let peer = self.address(1 - host);
        DtlsSocket::handshake(socket, peer, ROLES[host], &self.certificates[host], believed).await
    }

    async fn connect(&self) -> [DtlsSocket; 2] {
        let fingerprints = [1, 0].map(|host: usize| self.certificates[host].fingerprint());
        let client = self.handshake(0, fingerprints[0]);
        let (client, server) = tokio::join!(client, self.handshake(1, fingerprints[1]));
        [client.unwrap(), server.unwrap()]
    }

    /// The data channels of both, and the endpoints, which close when dropped.
    async fn channels(&self) -> ([DataChannels; 2], [Endpoint; 2]) {
        let [client, server] = self.connect().await;
        let client = Endpoint::builder().dtls(client).bind().await.unwrap();
        let server = Endpoint::builder().dtls(server).listen().bind().await.unwrap();
        let (ours, theirs) = tokio::join!(client.connect(self.address(1)), server.accept());
        let channels = [
            DataChannels::new(ours.unwrap(), Role::Client),
            DataChannels::new(theirs.unwrap(), Role::Server),
        ];
        (channels, [client, server])
    }
}

//= rfc8831 6.1-1
#[tokio::test]
async fn channels_carry_messages_of_both_ends() {
    in_time(async {
        let ([client, server], _endpoints) = Hosts::new().channels().await;
        let ours = client.open(ChannelOptions::new("chat")).unwrap();
        let theirs = server.accept().await.unwrap();
        let long: Payload = Bytes::from(vec![42; 60_000]).into();
        for (sender, receiver) in [(&ours, &theirs), (&theirs, &ours)] {
            sender.send_text("hello").await.unwrap();
            sender.send(long.clone()).await.unwrap();
            assert_eq!(receiver.recv().await, Some("hello".into()));
            assert_eq!(receiver.recv().await, Some(long.clone()));
        }
    })
    .await;
}

/// 10,000 bytes.
fn numbered(number: u32) -> Bytes {
    number.to_be_bytes().repeat(2_500).into()
}

#[tokio::test]
async fn many_messages_pass_both_ways_at_once() {
    in_time(async {
        let (channels, _endpoints) = Hosts::new().channels().await;
        let ours = channels[0].open(ChannelOptions::new("bulk")).unwrap();
        let theirs = channels[1].accept().await.unwrap();
        let send = async |channel: &DataChannel| {
            for number in 0..500_u32 {
                channel.send_binary(numbered(number)).await.unwrap();
            }
        };
        let receive = async |channel: &DataChannel| {
            for number in 0..500_u32 {
                assert_eq!(channel.recv().await, Some(numbered(number).into()));
            }
        };
        tokio::join!(send(&ours), send(&theirs), receive(&ours), receive(&theirs));
    })
    .await;
}

#[tokio::test]
async fn host_with_another_certificate_is_refused() {
    in_time(async {
        for host in 0..2 {
            let hosts = Hosts::new();
            let announced = Certificate::generate().unwrap().fingerprint();
            let genuine = hosts.certificates[host].fingerprint();
            let peer = hosts.certificates[1 - host].fingerprint();
            let other = async {
                let _socket = hosts.handshake(1 - host, genuine).await;
                std::future::pending::<()>().await;
            };
            // The other one is not told.
            let refused = tokio::select! {
                result = hosts.handshake(host, announced) => result,
                () = other => unreachable!("it waits for ever"),
            };
            let Err(DtlsError::Session(SessionError::OtherCertificate(presented))) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!(presented, peer);
        }
    })
    .await;
}

/// Without the session, it would end by its timers: [`ConnectError::NoAnswer`].
#[tokio::test]
async fn attempt_to_connect_ends_with_the_session_of_the_peer() {
    in_time(async {
        let hosts = Hosts::new();
        let [client, server] = hosts.connect().await;
        let endpoint = Endpoint::builder().dtls(client).bind().await.unwrap();
        drop(server);
        let error = endpoint.connect(hosts.address(1)).await.unwrap_err();
        assert!(matches!(error, ConnectError::Failed(_)), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn datagrams_from_elsewhere_are_dropped_unread() {
    in_time(async {
        let hosts = Hosts::new();
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let mut tapped = Hosts {
            sockets: hosts.sockets.clone(),
            certificates: hosts.certificates.clone(),
        };
        tapped.sockets[0] = Arc::new(Tapped(Arc::clone(&hosts.sockets[0]), Arc::clone(&recorded)));
        let [client, server] = tapped.connect().await;
        let server = Endpoint::builder().dtls(server).listen().bind().await.unwrap();
        let client = Endpoint::builder().dtls(client).bind().await.unwrap();
        let unknown = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (ours, theirs) = tokio::join!(client.connect(hosts.address(1)), server.accept());
        for datagram in recorded.lock().unwrap().iter() {
            unknown.send_to(datagram, hosts.address(1)).unwrap();
        }
        let channels = DataChannels::new(ours.unwrap(), Role::Client);
        let ours = channels.open(ChannelOptions::new("chat")).unwrap();
        ours.send_text("still here").await.unwrap();
        let channels = DataChannels::new(theirs.unwrap(), Role::Server);
        let theirs = channels.accept().await.unwrap();
        assert_eq!(theirs.recv().await, Some("still here".into()));
    })
    .await;
}

/// A socket that remembers what was sent.
#[derive(Debug)]
struct Tapped(Arc<dyn Socket>, Arc<Mutex<Vec<Vec<u8>>>>);

impl Socket for Tapped {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.0.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> std::io::Result<()> {
        self.1.lock().unwrap().push(outgoing.bytes.to_vec());
        self.0.try_send(outgoing)
    }

    fn poll_writable(&self, cx: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        self.0.poll_writable(cx)
    }

    fn poll_receive(
        &self,
        cx: &mut std::task::Context<'_>,
        incoming: &mut [Incoming],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.0.poll_receive(cx, incoming)
    }
}

#[tokio::test]
async fn nothing_is_readable_on_the_way() {
    in_time(async {
        let mut hosts = Hosts::new();
        let sent = Arc::new(Mutex::new(Vec::new()));
        hosts.sockets[0] = Arc::new(Tapped(Arc::clone(&hosts.sockets[0]), Arc::clone(&sent)));
        let (channels, _endpoints) = hosts.channels().await;
        let ours = channels[0].open(ChannelOptions::new("a secret label")).unwrap();
        ours.send_text("a secret message").await.unwrap();
        let theirs = channels[1].accept().await.unwrap();
        assert_eq!(theirs.recv().await, Some("a secret message".into()));
        let sent = sent.lock().unwrap().concat();
        assert!(sent.len() > 100 && !sent.windows(8).any(|bytes| bytes == b"a secret"));
    })
    .await;
}
