//! WebRTC data channels over DTLS, between two endpoints.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use anabranch::dtls::{Certificate, DtlsError, DtlsSocket, Fingerprint, SessionError};
use anabranch::io::{Incoming, Outgoing, Socket};
use anabranch::{
    Bytes, ChannelOptions, ConnectError, DataChannel, DataChannels, Endpoint, PathAddr, Payload, Role,
    udp_socket,
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

    fn with_tapped_client() -> (Self, Arc<Tapped>) {
        let mut hosts = Self::new();
        let tapped = Arc::new(Tapped::new(&hosts.sockets[0]));
        hosts.sockets[0] = Arc::<Tapped>::clone(&tapped);
        (hosts, tapped)
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

/// A record that is genuine and has not arrived is sent from another address.
#[tokio::test]
async fn datagrams_from_elsewhere_are_dropped_unread() {
    in_time(async {
        let (hosts, tapped) = Hosts::with_tapped_client();
        let ([ours, theirs], _endpoints) = hosts.channels().await;
        let ours = ours.open(ChannelOptions::new("chat").unordered()).unwrap();
        let theirs = theirs.accept().await.unwrap();
        ours.opened().await.unwrap();
        tapped.state().withholds = true;
        ours.send_text("withheld").await.unwrap();
        while tapped.state().withheld.is_empty() {
            tokio::task::yield_now().await;
        }
        let withheld = mem::take(&mut tapped.state().withheld);
        let unknown = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for datagram in &withheld {
            unknown.send_to(datagram, hosts.address(1)).unwrap();
        }
        tapped.state().withholds = false;
        ours.send_text("afterwards").await.unwrap();
        assert_eq!(theirs.recv().await, Some("afterwards".into()));
        // The same from the right address.
        for datagram in &withheld {
            tapped.send(datagram);
        }
        assert_eq!(theirs.recv().await, Some("withheld".into()));
    })
    .await;
}

#[tokio::test]
async fn packets_wait_for_a_full_socket() {
    in_time(async {
        let (hosts, tapped) = Hosts::with_tapped_client();
        let ([ours, theirs], _endpoints) = hosts.channels().await;
        let ours = ours.open(ChannelOptions::new("chat")).unwrap();
        let theirs = theirs.accept().await.unwrap();
        for number in 0..20 {
            tapped.state().refusals = number % 4;
            ours.send_text(number.to_string()).await.unwrap();
            assert_eq!(theirs.recv().await, Some(number.to_string().into()));
        }
    })
    .await;
}

/// A socket that remembers what was sent, and withholds or refuses it if told so.
#[derive(Debug)]
struct Tapped {
    socket: Arc<dyn Socket>,
    state: Mutex<TapState>,
}

#[derive(Debug, Default)]
struct TapState {
    sent: Vec<u8>,
    withholds: bool,
    withheld: Vec<Vec<u8>>,
    /// How many calls find no space.
    refusals: u32,
    last_path: Option<PathAddr>,
}

impl Tapped {
    fn new(socket: &Arc<dyn Socket>) -> Self {
        Self {
            socket: Arc::clone(socket),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, TapState> {
        self.state.lock().unwrap()
    }

    /// Sends a datagram as the last one was sent.
    fn send(&self, datagram: &[u8]) {
        let path = self.state().last_path.unwrap();
        let outgoing = Outgoing {
            path,
            ecn: Default::default(),
            bytes: datagram,
            segment_size: None,
            may_fragment: false,
        };
        self.socket.try_send(&outgoing).unwrap();
    }
}

impl Socket for Tapped {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.socket.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let mut state = self.state();
        if state.refusals > 0 {
            state.refusals -= 1;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.sent.extend_from_slice(outgoing.bytes);
        state.last_path = Some(outgoing.path);
        if state.withholds {
            state.withheld.push(outgoing.bytes.to_vec());
            return Ok(());
        }
        self.socket.try_send(outgoing)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }
}

#[tokio::test]
async fn nothing_is_readable_on_the_way() {
    in_time(async {
        let (hosts, tapped) = Hosts::with_tapped_client();
        let (channels, _endpoints) = hosts.channels().await;
        let ours = channels[0].open(ChannelOptions::new("a secret label")).unwrap();
        ours.send_text("a secret message").await.unwrap();
        let theirs = channels[1].accept().await.unwrap();
        assert_eq!(theirs.recv().await, Some("a secret message".into()));
        let state = tapped.state();
        assert!(state.sent.len() > 100 && !state.sent.windows(8).any(|bytes| bytes == b"a secret"));
    })
    .await;
}
