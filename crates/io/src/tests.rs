//! Tests over the loopback interface, with both kinds of socket: do datagrams arrive as they were sent?

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_types::{Ecn, PathAddr};
use socket2::SockRef;

use crate::{IcmpKind, IcmpMessage, Incoming, LARGEST_BATCH, Outgoing, RawSocket, Transport, UdpSocket};

fn udp(address: &str) -> UdpSocket {
    UdpSocket::bind(address.parse().unwrap()).unwrap()
}

fn path(from: &impl Transport, to: &impl Transport) -> PathAddr {
    PathAddr {
        local: from.local_addr(),
        remote: to.local_addr(),
    }
}

fn send(from: &impl Transport, path: PathAddr, bytes: &[u8], segment_size: Option<usize>) {
    from.try_send(&Outgoing {
        path,
        ecn: Ecn::Capable0,
        bytes,
        segment_size,
        may_fragment: false,
    })
    .unwrap();
}

/// Everything up to `datagrams` datagrams, waiting for each batch.
fn receive(at: &impl Transport, datagrams: usize) -> Vec<(PathAddr, Ecn, Vec<u8>)> {
    let socket = SockRef::from(at);
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.set_nonblocking(false).unwrap();
    let mut incoming = [Incoming::new()];
    let mut received = Vec::new();
    while received.len() < datagrams {
        let count = at.try_receive(&mut incoming).unwrap();
        for batch in &incoming[..count] {
            received.extend(
                batch
                    .datagrams()
                    .map(|bytes| (batch.path(), batch.ecn(), bytes.to_vec())),
            );
        }
    }
    received
}

//= rfc6951 5.8-1
#[test]
fn a_datagram_arrives_with_its_path_and_its_ecn_bits() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (alice, bob) = (udp(address), udp(address));
        send(&alice, path(&alice, &bob), b"hello", None);
        let received = receive(&bob, 1);
        assert_eq!(received, [(path(&bob, &alice), Ecn::Capable0, b"hello".to_vec())]);
    }
}

#[test]
fn a_batch_arrives_as_its_datagrams() {
    let (alice, bob) = (udp("127.0.0.1:0"), udp("127.0.0.1:0"));
    let segments = alice.max_segments().min(3);
    let bytes: Vec<u8> = (0..segments * 1_000 - 300)
        .map(|index| (index / 1_000) as u8)
        .collect();
    send(&alice, path(&alice, &bob), &bytes, Some(1_000));
    let received = receive(&bob, segments);
    let expected: Vec<&[u8]> = bytes.chunks(1_000).collect();
    assert_eq!(
        received
            .iter()
            .map(|(_, _, bytes)| &bytes[..])
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn the_largest_batch_is_sent_at_once() {
    let (alice, bob) = (udp("127.0.0.1:0"), udp("127.0.0.1:0"));
    if alice.max_segments() == 1 {
        return;
    }
    let bytes = vec![7; LARGEST_BATCH];
    send(&alice, path(&alice, &bob), &bytes, Some(1_400));
    let received = receive(&bob, LARGEST_BATCH.div_ceil(1_400));
    assert_eq!(
        received.iter().map(|(_, _, bytes)| bytes.len()).sum::<usize>(),
        LARGEST_BATCH
    );
}

#[test]
fn a_wildcard_socket_reports_and_selects_its_address() {
    let everywhere = udp("0.0.0.0:0");
    let port = everywhere.local_addr().port();
    let peer = udp("127.0.0.1:0");
    let second: SocketAddr = format!("127.0.0.2:{port}").parse().unwrap();
    send(
        &peer,
        PathAddr {
            local: peer.local_addr(),
            remote: second,
        },
        b"to the second",
        None,
    );
    let (back, _, _) = receive(&everywhere, 1).remove(0);
    assert_eq!(
        back,
        PathAddr {
            local: second,
            remote: peer.local_addr()
        }
    );

    send(&everywhere, back, b"from the second", None);
    assert_eq!(receive(&peer, 1)[0].0.remote, second);
}

#[test]
fn unreachable_peer_and_empty_socket_are_not_fatal() {
    let alice = udp("127.0.0.1:0");
    let nobody = udp("127.0.0.1:0").local_addr();
    for _ in 0..3 {
        send(
            &alice,
            PathAddr {
                local: alice.local_addr(),
                remote: nobody,
            },
            b"anybody?",
            None,
        );
    }
    let error = alice.try_receive(&mut [Incoming::new()]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn raw_packets_arrive_or_the_error_names_the_privilege() {
    for address in ["127.0.9.3", "::1"] {
        let address: IpAddr = address.parse().unwrap();
        let socket = match RawSocket::bind(address) {
            Ok(socket) => socket,
            Err(error) => {
                assert!(error.to_string().contains("CAP_NET_RAW"), "{error}");
                continue;
            }
        };
        // A raw socket sees its own packets to itself.
        let packet = b"an odd packet, not SCTP at all";
        send(&socket, path(&socket, &socket), packet, None);
        let received = receive(&socket, 1);
        assert_eq!(
            received,
            [(path(&socket, &socket), Ecn::Capable0, packet.to_vec())]
        );
        assert_eq!(socket.local_addr(), SocketAddr::new(address, 0));
    }
}

/// Needs root, as all raw sockets do.
#[cfg(target_os = "linux")]
#[test]
fn raw_socket_of_a_port_receives_packets_to_that_port_only() {
    for address in ["127.0.9.4", "::1"] {
        let address: IpAddr = address.parse().unwrap();
        let Ok(socket) = RawSocket::bind_port(address, 0x1389) else {
            assert!(std::env::var_os("CI").is_none(), "raw sockets need root");
            return;
        };
        let to_another = b"\x13\x89\x13\x88tag.sum.";
        let to_it = b"\x13\x88\x13\x89tag.sum.";
        send(&socket, path(&socket, &socket), to_another, None);
        send(&socket, path(&socket, &socket), to_it, None);
        let received = receive(&socket, 1);
        assert_eq!(
            received,
            [(path(&socket, &socket), Ecn::Capable0, to_it.to_vec())]
        );
        let none = socket.try_receive(&mut [Incoming::new()]).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
    }
}

/// The first ICMP message that arrives at `socket`.
fn icmp_of(socket: &UdpSocket) -> IcmpMessage {
    let message = std::iter::repeat_with(|| socket.take_icmp().unwrap());
    message
        .take(1_000_000)
        .flatten()
        .next()
        .expect("the kernel of this host answers itself")
}

#[test]
fn closed_port_is_reported_with_the_packet_that_was_sent() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let alice = udp(address);
        alice.keep_icmp().unwrap();
        let nobody = udp(address).local_addr();
        let path = PathAddr {
            local: alice.local_addr(),
            remote: nobody,
        };
        send(&alice, path, b"anybody?", None);
        let message = icmp_of(&alice);
        let expected = IcmpMessage {
            destination: nobody,
            reporter: Some(nobody.ip()),
            kind: IcmpKind::PortUnreachable,
            quoted: b"anybody?".to_vec(),
        };
        assert_eq!(message, expected);
    }
}

#[test]
fn icmp_about_one_datagram_does_not_lose_the_next() {
    let (alice, bob) = (udp("127.0.0.1:0"), udp("127.0.0.1:0"));
    alice.keep_icmp().unwrap();
    let nobody = udp("127.0.0.1:0").local_addr();
    for _ in 0..3 {
        let to_nobody = PathAddr {
            local: alice.local_addr(),
            remote: nobody,
        };
        send(&alice, to_nobody, b"anybody?", None);
        send(&alice, path(&alice, &bob), b"hello", None);
    }
    assert_eq!(receive(&bob, 3).len(), 3);
}
