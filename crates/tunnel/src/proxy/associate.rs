//! UDP ASSOCIATE of SOCKS5 (RFC 1928 §7): relays datagrams of a program as long as its connection lasts.

use std::io;
use std::net::{IpAddr, SocketAddr};

use anabranch::Bytes;
use bytes::{Buf as _, BufMut as _};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc;

use super::Route;
use crate::datagram::{Datagram, DatagramKind};
use crate::frame::{IPV4, IPV6, NAME};
use crate::target::Host;

/// Answers that wait to be read by the program.
const QUEUE: usize = 256;

/// Longest datagram, with its header.
const LONGEST: usize = 65_535;

/// Where a program sends its datagrams to, and from which port it will do so, if it has said that.
#[derive(Debug)]
pub(super) struct Association {
    socket: UdpSocket,
    program: IpAddr,
    port: Option<u16>,
}

impl Association {
    /// A place for the datagrams of the program at `stream`, on the address that it has connected to.
    pub(super) async fn open(stream: &TcpStream, port: u16) -> io::Result<Self> {
        Ok(Self {
            socket: UdpSocket::bind((stream.local_addr()?.ip(), 0)).await?,
            program: stream.peer_addr()?.ip(),
            port: (port != 0).then_some(port),
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Relays until the program ends its connection. Only datagrams of its address and port are taken (RFC 1928 §7).
    pub(super) async fn relay(mut self, stream: &mut TcpStream, route: &Route) -> io::Result<()> {
        let (sender, mut answers) = mpsc::channel(QUEUE);
        let Some(flow) = route.begin(sender) else {
            return Ok(());
        };
        let (mut buffer, mut ignored) = (vec![0; LONGEST], [0; 64]);
        loop {
            tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    let (length, from) = received?;
                    if from.ip() != self.program || self.port.is_some_and(|port| port != from.port()) {
                        continue;
                    }
                    if let Some((host, port, payload)) = parse(Bytes::copy_from_slice(&buffer[..length])) {
                        // The first one tells the port.
                        self.port = Some(from.port());
                        route.send(&flow, (DatagramKind::Udp, None), (host, port), payload);
                    }
                }
                Some(answer) = answers.recv() => if let Some(port) = self.port {
                    // UDP may lose datagrams.
                    let _ = self.socket.send_to(&encode(&answer), (self.program, port)).await;
                },
                read = stream.read(&mut ignored) => if read? == 0 {
                    return Ok(());
                },
            }
        }
    }
}

/// Host, port and data of a program's datagram. `None` if it is a fragment, which nobody has to support, or not valid.
fn parse(mut bytes: Bytes) -> Option<(Host, u16, Bytes)> {
    let _reserved = bytes.try_get_u16().ok()?;
    if bytes.try_get_u8().ok()? != 0 {
        return None;
    }
    let host = match bytes.try_get_u8().ok()? {
        IPV4 => std::net::Ipv4Addr::from_bits(bytes.try_get_u32().ok()?).into(),
        IPV6 => std::net::Ipv6Addr::from_bits(bytes.try_get_u128().ok()?).into(),
        NAME => {
            let length = usize::from(bytes.try_get_u8().ok()?);
            if bytes.len() < length {
                return None;
            }
            // A name may be an address in text.
            std::str::from_utf8(&bytes.split_to(length)).ok()?.parse().ok()?
        }
        _ => return None,
    };
    let port = bytes.try_get_u16().ok().filter(|port| *port != 0)?;
    Some((host, port, bytes))
}

/// A datagram for the program. Answers come from addresses.
fn encode(answer: &Datagram) -> Vec<u8> {
    let mut out = vec![0; 3];
    match &answer.host {
        Host::Address(IpAddr::V4(ip)) => {
            out.put_u8(IPV4);
            out.put_slice(&ip.octets());
        }
        Host::Address(IpAddr::V6(ip)) => {
            out.put_u8(IPV6);
            out.put_slice(&ip.octets());
        }
        Host::Name(name) => {
            out.put_u8(NAME);
            out.put_u8(name.as_str().len() as u8);
            out.put_slice(name.as_str().as_bytes());
        }
    }
    out.put_u16(answer.port);
    out.put_slice(&answer.payload);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_parsed_as_answers_are_encoded() {
        for host in ["192.0.2.1", "2001:db8::1", "example.org"] {
            let datagram = Datagram {
                flow: 0,
                kind: DatagramKind::Udp,
                host: host.parse().unwrap(),
                port: 53,
                class: None,
                redundant: false,
                payload: Bytes::from_static(b"data"),
            };
            let encoded = Bytes::from(encode(&datagram));
            let expected = (datagram.host, 53, datagram.payload);
            assert_eq!(parse(encoded.clone()), Some(expected));
            for length in 0..encoded.len() - 4 {
                assert_eq!(parse(encoded.slice(..length)), None, "{host} {length}");
            }
        }
    }

    #[test]
    fn fragments_and_what_is_not_valid_are_ignored() {
        let parse = |bytes: &'static [u8]| parse(Bytes::from_static(bytes));
        assert!(parse(&[0, 0, 0, 1, 192, 0, 2, 1, 0, 53]).is_some());
        assert_eq!(parse(&[0, 0, 1, 1, 192, 0, 2, 1, 0, 53]), None);
        assert_eq!(parse(&[0, 0, 0, 1, 192, 0, 2, 1, 0, 0]), None);
        assert_eq!(parse(&[0, 0, 0, 2, 192, 0, 2, 1, 0, 53]), None);
    }
}
