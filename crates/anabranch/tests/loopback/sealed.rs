//! Sealed associations: identities, encryption on the way, changes of paths.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use anabranch::io::{Incoming, LARGEST_BATCH, Outgoing, Socket};
use anabranch::rustls::crypto::aws_lc_rs::default_provider;
use anabranch::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use anabranch::rustls::version::TLS13;
use anabranch::rustls::{ClientConfig, RootCertStore, ServerConfig};
use anabranch::{
    Association, AssociationConfig, AssociationEvent, BindError, CloseReason, ConnectError, Destination,
    Endpoint, EndpointBuilder, PathChange, PrivateKey, PublicKey, Reachability, destination,
};

use crate::common::{TIME_LIMIT, hasty, in_time, join, next, number_of, numbered, server, text};

fn key() -> PrivateKey {
    PrivateKey::generate().unwrap()
}

fn at(addresses: &[&str]) -> EndpointBuilder {
    addresses
        .iter()
        .fold(Endpoint::builder(), |builder, address| builder.local(*address))
}

async fn listening(builder: EndpointBuilder) -> Endpoint {
    builder.listen().bind().await.unwrap()
}

fn peer_key(association: &Association) -> Option<PublicKey> {
    association.peer_identity()?.public_key()
}

/// A client with the key `ours` and a server with `theirs`, of two addresses each, that trust one another.
async fn acquainted(ours: &PrivateKey, theirs: &PrivateKey) -> (Endpoint, Endpoint) {
    let server = at(&["127.0.0.1:0", "127.0.0.2:0"]).identity(theirs.clone());
    let server = listening(server.trust(ours.public_key())).await;
    let client = at(&["127.0.0.3:0", "127.0.0.4:0"]).identity(ours.clone());
    (client.trust(theirs.public_key()).bind().await.unwrap(), server)
}

#[tokio::test]
async fn messages_arrive_over_two_paths_and_both_ends_know_the_other() {
    in_time(async {
        let (ours, theirs) = (key(), key());
        let (client, server) = acquainted(&ours, &theirs).await;
        let (alice, bob) = join(&client, &server).await;
        assert_eq!(peer_key(&alice), Some(theirs.public_key()));
        assert_eq!(peer_key(&bob), Some(ours.public_key()));
        let exporters = [&alice, &bob].map(|end| end.peer_identity().unwrap().exporter);
        assert_eq!(exporters[0], exporters[1]);
        let reader = tokio::spawn(async move {
            for number in 0..10_000 {
                assert_eq!(number_of(&next(&bob).await.payload), number);
            }
            bob.send(text("all of it")).await.unwrap();
            assert_eq!(bob.recv().await, Ok(None));
        });
        for number in 0..10_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        assert_eq!(next(&alice).await.payload, "all of it");
        let paths = alice.statistics().paths;
        assert!(paths.iter().all(|path| path.counters.payload_sent > 0));
        assert_eq!(paths.len(), 2);
        alice.shutdown().await.unwrap();
        reader.await.unwrap();
        client.close().await;
        server.close().await;
    })
    .await;
}

/// A socket that records what it sends.
#[derive(Debug)]
struct Recorder {
    socket: Arc<dyn Socket>,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Socket for Recorder {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.socket.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        assert!(outgoing.bytes.len() <= LARGEST_BATCH);
        self.socket.try_send(outgoing)?;
        let datagrams = outgoing.datagrams().map(<[u8]>::to_vec);
        self.sent.lock().unwrap().extend(datagrams);
        Ok(())
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }
}

/// A client at 127.0.0.2 that trusts this key, and what it sends.
async fn recorded_client(trusted: PublicKey) -> (Endpoint, Arc<Mutex<Vec<Vec<u8>>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let socket = anabranch::udp_socket("127.0.0.2:0".parse().unwrap()).unwrap();
    let recorder = Recorder {
        socket,
        sent: Arc::clone(&sent),
    };
    let client = Endpoint::builder().socket(Arc::new(recorder)).trust(trusted);
    (client.bind().await.unwrap(), sent)
}

#[tokio::test]
async fn nothing_is_readable_on_the_way() {
    in_time(async {
        let theirs = key();
        let server = listening(at(&["127.0.0.1:0"]).identity(theirs.clone()).trust_everyone()).await;
        let (client, sent) = recorded_client(theirs.public_key()).await;
        let (alice, bob) = join(&client, &server).await;
        let secret = "a line that is long enough to be found";
        for _ in 0..100 {
            alice.send(text(secret)).await.unwrap();
        }
        for _ in 0..100 {
            assert_eq!(next(&bob).await.payload, secret);
        }
        let sent = sent.lock().unwrap();
        assert!(sent.len() > 5);
        let tag = &secret.as_bytes()[..8];
        assert!(
            sent.iter()
                .all(|datagram| datagram.windows(8).all(|part| part != tag))
        );
    })
    .await;
}

#[tokio::test]
async fn packets_name_the_machine_behind_a_balancer() {
    in_time(async {
        let theirs = key();
        let server = at(&["127.0.0.1:0"]).identity(theirs.clone()).trust_everyone();
        let server = listening(server.behind_balancer(0x0A0B, [5; 32])).await;
        let (client, sent) = recorded_client(theirs.public_key()).await;
        let (alice, bob) = join(&client, &server).await;
        alice.send(text("to machine 0x0A0B")).await.unwrap();
        assert_eq!(next(&bob).await.payload, "to machine 0x0A0B");
        let sent = sent.lock().unwrap();
        let destinations: Vec<_> = sent
            .iter()
            .map(|datagram| destination(datagram).unwrap())
            .collect();
        let is_machine = |one: &Destination| *one == Destination::Machine(0x0A0B);
        let (begin, rest) = destinations.split_at(destinations.iter().position(is_machine).unwrap());
        assert!(rest.iter().all(is_machine));
        // The handshake began with one client index.
        assert!(begin.len() >= 2 && begin.iter().all(|one| one == &begin[0]));
    })
    .await;
}

/// The ICMP message arrives long before the time to connect is over.
#[tokio::test]
async fn connecting_to_a_closed_port_is_refused() {
    in_time(async {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let nobody = std::net::UdpSocket::bind(address).unwrap().local_addr().unwrap();
            let client = at(&[address]).trust(key().public_key());
            let client = client.connect_timeout(10 * TIME_LIMIT).bind().await.unwrap();
            let refused = client.connect(nobody).await.expect_err("nobody is there");
            assert!(matches!(refused, ConnectError::Refused), "{refused}");
        }
    })
    .await;
}

#[tokio::test]
async fn server_with_another_key_is_refused_by_name() {
    in_time(async {
        let (theirs, expected) = (key(), key());
        let server = listening(at(&["127.0.0.1:0"]).identity(theirs.clone()).trust_everyone()).await;
        let client = at(&["127.0.0.2:0"])
            .trust(expected.public_key())
            .bind()
            .await
            .unwrap();
        let error = client.connect(server.local_addrs()[0]).await.unwrap_err();
        assert!(matches!(error, ConnectError::UntrustedKey(key) if key == theirs.public_key()));
        assert!(error.to_string().contains(&theirs.public_key().to_string()));
    })
    .await;
}

#[tokio::test]
async fn client_whose_key_is_not_trusted_learns_which_key() {
    in_time(async {
        let (ours, theirs) = (key(), key());
        let server = at(&["127.0.0.1:0"])
            .identity(theirs.clone())
            .trust(key().public_key());
        let server = listening(server).await;
        let client = at(&["127.0.0.2:0"])
            .identity(ours.clone())
            .trust(theirs.public_key());
        let client = client.bind().await.unwrap();
        let error = client.connect(server.local_addrs()[0]).await.unwrap_err();
        assert!(matches!(error, ConnectError::KeyNotAccepted(key) if key == ours.public_key()));
        assert!(error.to_string().contains(&ours.public_key().to_string()));
        // Nothing of the attempt is left: another one fails in the same way.
        let error = client.connect(server.local_addrs()[0]).await.unwrap_err();
        assert!(matches!(error, ConnectError::KeyNotAccepted(_)));
    })
    .await;
}

#[tokio::test]
async fn client_and_server_without_common_security_do_not_connect() {
    in_time(async {
        let theirs = key();
        let sealed = listening(at(&["127.0.0.1:0"]).identity(theirs.clone()).trust_everyone()).await;
        let clear = server(&["127.0.0.1:0"]).await;
        let brief = Duration::from_millis(300);
        let client = at(&["127.0.0.2:0"])
            .insecure()
            .connect_timeout(brief)
            .bind()
            .await
            .unwrap();
        let error = client.connect(sealed.local_addrs()[0]).await.unwrap_err();
        assert!(matches!(error, ConnectError::NoAnswer));
        let client = at(&["127.0.0.2:0"])
            .trust(theirs.public_key())
            .connect_timeout(brief);
        let client = client.bind().await.unwrap();
        let error = client.connect(clear.local_addrs()[0]).await.unwrap_err();
        assert!(matches!(error, ConnectError::NoAnswer));
    })
    .await;
}

#[tokio::test]
async fn first_address_that_is_dead_does_not_hold_up_the_handshake() {
    in_time(async {
        let theirs = key();
        let server = listening(at(&["127.0.0.2:0"]).identity(theirs.clone()).trust_everyone()).await;
        let client = at(&["127.0.0.3:0"]).trust(theirs.public_key());
        let client = client.association_config(hasty()).bind().await.unwrap();
        // A socket that nobody reads.
        let dead = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let addresses = [dead.local_addr().unwrap(), server.local_addrs()[0]];
        let (alice, bob) = tokio::join!(client.connect(&addresses[..]), server.accept());
        alice.unwrap().send(text("here")).await.unwrap();
        assert_eq!(next(&bob.unwrap()).await.payload, "here");
    })
    .await;
}

#[tokio::test]
async fn several_associations_have_sessions_of_their_own() {
    in_time(async {
        let theirs = key();
        let server = listening(at(&["127.0.0.1:0"]).identity(theirs.clone()).trust_everyone()).await;
        let client = at(&["127.0.0.2:0"])
            .trust(theirs.public_key())
            .bind()
            .await
            .unwrap();
        let mut ends = Vec::new();
        for _ in 0..20 {
            ends.push(join(&client, &server).await);
        }
        let mut exporters: Vec<_> = ends
            .iter()
            .map(|(alice, _)| alice.peer_identity().unwrap().exporter.as_bytes().to_owned())
            .collect();
        exporters.sort_unstable();
        exporters.dedup();
        assert_eq!(exporters.len(), 20);
        for (number, (alice, bob)) in (0..).zip(&ends) {
            alice.send(numbered(number, 100)).await.unwrap();
            assert_eq!(number_of(&next(bob).await.payload), number);
        }
        for (alice, bob) in ends {
            let (shut, end) = tokio::join!(alice.shutdown(), bob.closed());
            assert_eq!((shut, end), (Ok(()), CloseReason::Finished));
        }
    })
    .await;
}

#[tokio::test]
async fn session_survives_a_change_of_address() {
    in_time(async {
        let theirs = key();
        let server = at(&["127.0.0.1:0"]).association_config(hasty());
        let server = listening(server.identity(theirs.clone()).trust_everyone()).await;
        let client = at(&["127.0.0.2:0"]).association_config(hasty());
        let client = client.trust(theirs.public_key()).bind().await.unwrap();
        let (alice, bob) = join(&client, &server).await;
        let mut events = alice.events();
        let reader = tokio::spawn(async move {
            for number in 0..4_000 {
                assert_eq!(number_of(&next(&bob).await.payload), number);
            }
            assert_eq!(bob.recv().await, Ok(None));
        });
        for number in 0..2_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        let old = client.local_addrs()[0];
        let new = client.add_local("127.0.0.3:0".parse().unwrap()).unwrap();
        alice.add_local_address(new).unwrap();
        loop {
            let Some(event) = events.next().await else {
                panic!("the association ended")
            };
            if let AssociationEvent::Path(event) = event
                && event.addr.local == new
                && event.change == PathChange::Reachability(Reachability::Active)
            {
                break;
            }
        }
        alice.remove_local_address(old).unwrap();
        for number in 2_000..4_000 {
            alice.send(numbered(number, 1_000)).await.unwrap();
        }
        alice.shutdown().await.unwrap();
        reader.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn abort_ends_both_ends() {
    in_time(async {
        let theirs = key();
        let server = listening(at(&["127.0.0.1:0"]).identity(theirs.clone()).trust_everyone()).await;
        let client = at(&["127.0.0.2:0"])
            .trust(theirs.public_key())
            .bind()
            .await
            .unwrap();
        let (alice, bob) = join(&client, &server).await;
        alice.abort("enough");
        let CloseReason::AbortedByPeer { reason, .. } = bob.closed().await else {
            panic!("not aborted")
        };
        assert_eq!(reason.as_deref(), Some("enough"));
    })
    .await;
}

#[tokio::test]
async fn server_that_restarts_with_its_key_ends_the_association() {
    in_time(async {
        let theirs = key();
        let bind = |address: String| {
            let builder = Endpoint::builder().local(address).identity(theirs.clone());
            listening(builder.trust_everyone())
        };
        // The first server dies with its runtime, and says nothing.
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let first = runtime.spawn(bind("127.0.0.1:0".to_owned())).await.unwrap();
        let address = first.local_addrs()[0];
        let client = at(&["127.0.0.2:0"])
            .trust(theirs.public_key())
            .bind()
            .await
            .unwrap();
        let (alice, bob) = join(&client, &first).await;
        runtime.shutdown_background();
        bob.closed().await;
        let second = bind(address.to_string()).await;
        alice
            .send(text("are you there, after the restart?"))
            .await
            .unwrap();
        let CloseReason::AbortedByPeer { causes, reason } = alice.closed().await else {
            panic!("not ended by the peer")
        };
        assert!(causes.contains("lost") && reason.is_none(), "{causes}");
        join(&client, &second).await;
    })
    .await;
}

#[tokio::test]
async fn certificates_of_rustls_configurations_are_accepted() {
    in_time(async {
        let certified = rcgen::generate_simple_self_signed(["server.test".to_owned()]).unwrap();
        let certificate: CertificateDer<'static> = certified.cert.der().clone();
        let private = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
        let provider = Arc::new(default_provider());
        let tls = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let tls = tls
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_no_client_auth();
        let tls = tls.with_single_cert(vec![certificate.clone()], private).unwrap();
        let server = listening(at(&["127.0.0.1:0"]).tls_server(tls)).await;
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let tls = ClientConfig::builder_with_provider(provider);
        let tls = tls.with_protocol_versions(&[&TLS13]).unwrap();
        let tls = tls.with_root_certificates(roots).with_no_client_auth();
        let right = at(&["127.0.0.2:0"]).tls_client(tls.clone(), "server.test".try_into().unwrap());
        let right = right.bind().await.unwrap();
        let (alice, _bob) = join(&right, &server).await;
        assert_eq!(alice.peer_identity().unwrap().certificates, [certificate]);
        let wrong = at(&["127.0.0.2:0"]).tls_client(tls, "another.test".try_into().unwrap());
        let wrong = wrong.bind().await.unwrap();
        let error = wrong.connect(server.local_addrs()[0]).await.unwrap_err();
        assert!(matches!(error, ConnectError::Insecure(_)), "{error}");
    })
    .await;
}

#[tokio::test]
async fn security_must_be_chosen_and_only_once() {
    let error = at(&["127.0.0.1:0"]).bind().await.unwrap_err();
    assert!(matches!(error, BindError::NoSecurity));
    let error = at(&["127.0.0.1:0"])
        .identity(key())
        .insecure()
        .bind()
        .await
        .unwrap_err();
    assert!(matches!(error, BindError::AmbiguousSecurity));
    assert_eq!(peer_key_in_the_clear().await, None);
}

async fn peer_key_in_the_clear() -> Option<PublicKey> {
    let (alice, _bob, _endpoints) = crate::common::pair().await;
    peer_key(&alice)
}

/// A client that has begun an association, with a message in it.
fn begun(client: &Endpoint, server: &Endpoint) -> Association {
    let config = AssociationConfig::default();
    let alice = client.begin(&server.local_addrs(), &config).unwrap();
    alice.try_send(text("early")).unwrap();
    alice
}

#[tokio::test]
async fn message_sent_before_the_peer_has_proven_its_key_arrives() {
    in_time(async {
        let (ours, theirs) = (key(), key());
        let (client, server) = acquainted(&ours, &theirs).await;
        let alice = begun(&client, &server);
        assert_eq!(peer_key(&alice), None);
        let bob = server.accept().await.unwrap();
        assert_eq!(next(&bob).await.payload, "early");
        alice.established().await.unwrap();
        assert_eq!(peer_key(&alice), Some(theirs.public_key()));
        assert_eq!(peer_key(&bob), Some(ours.public_key()));
        assert_eq!(alice.statistics().paths.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn association_that_was_begun_ends_with_the_reason_of_its_handshake() {
    in_time(async {
        let (ours, theirs, others) = (key(), key(), key());
        let server = at(&["127.0.0.1:0"]).identity(theirs.clone());
        let server = listening(server.trust(others.public_key())).await;
        let wary = at(&["127.0.0.1:0"])
            .trust(others.public_key())
            .bind()
            .await
            .unwrap();
        let untrusted = begun(&wary, &server).established().await;
        assert!(matches!(untrusted, Err(ConnectError::UntrustedKey(key)) if key == theirs.public_key()));
        let unknown = at(&["127.0.0.1:0"])
            .identity(ours.clone())
            .trust(theirs.public_key());
        let unknown = unknown.bind().await.unwrap();
        let refused = begun(&unknown, &server).established().await;
        assert!(matches!(refused, Err(ConnectError::KeyNotAccepted(key)) if key == ours.public_key()));
    })
    .await;
}

#[tokio::test]
async fn association_that_is_dropped_before_its_handshake_ends_with_it() {
    in_time(async {
        let (theirs, silent) = (key(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let client = at(&["127.0.0.1:0"])
            .trust(theirs.public_key())
            .bind()
            .await
            .unwrap();
        let remotes = [silent.local_addr().unwrap()];
        let alice = client.begin(&remotes, &AssociationConfig::default()).unwrap();
        drop(alice);
        client.wait_idle().await;
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn sealed_endpoint_accepts_from_when_it_is_told_until_it_is_told_otherwise() {
    in_time(async {
        let theirs = key();
        let bob = at(&["127.0.0.1:0"]).identity(theirs.clone()).trust_everyone();
        let bob = bob.bind().await.unwrap();
        let alice = at(&["127.0.0.1:0"]).trust(theirs.public_key());
        let alice = alice
            .connect_timeout(Duration::from_millis(300))
            .bind()
            .await
            .unwrap();
        let addresses = bob.local_addrs();
        // A host that does not listen does not tell its key either.
        let refused = |result| matches!(result, Err(ConnectError::NoAnswer));
        assert!(refused(alice.connect(&addresses[..]).await));
        bob.accept_with(Some(AssociationConfig::default()));
        let ours = loop {
            // The time to connect is short for a busy machine.
            if let Ok(ours) = alice.connect(&addresses[..]).await {
                break ours;
            }
        };
        assert!(bob.accept().await.is_some() && !ours.is_closed());
        bob.accept_with(None);
        assert!(refused(alice.connect(&addresses[..]).await));
    })
    .await;
}
