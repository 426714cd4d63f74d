//! SOCKS5 (RFC 1928): CONNECT and UDP ASSOCIATE without authentication. What does a program ask for, and what is it told?

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use thiserror::Error;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::associate::Association;
use super::{Head, Request, Wanted, tell_last};
use crate::frame::{IPV4, IPV6, NAME, Reason};
use crate::target::{Host, Target};

const VERSION: u8 = 5;

/// "No authentication required".
const NO_AUTHENTICATION: u8 = 0;
/// "No acceptable methods".
const NO_METHOD: u8 = 0xff;

const CONNECT: u8 = 1;
const UDP_ASSOCIATE: u8 = 3;

// Replies (RFC 1928 §6).
const SUCCEEDED: u8 = 0;
const FAILURE: u8 = 1;
const NOT_ALLOWED: u8 = 2;
const NETWORK_UNREACHABLE: u8 = 3;
const HOST_UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;
const COMMAND_NOT_SUPPORTED: u8 = 7;
const ADDRESS_TYPE_NOT_SUPPORTED: u8 = 8;

/// Why a request is not served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
enum Refusal {
    #[error("not SOCKS version 5")]
    Version,
    #[error("only CONNECT and UDP ASSOCIATE are supported")]
    Command,
    #[error("not a type of address")]
    AddressType,
    #[error("not a target")]
    Target,
}

/// What a program asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Command {
    Connect(Target),
    /// Its datagrams will come from this port, if that is not 0.
    Associate(u16),
}

/// Finds out what a program wants. `None` if that is not served, which it was told.
pub(super) async fn negotiate(socket: &mut TcpStream) -> io::Result<Option<Wanted>> {
    let mut head = Head::default();
    match head.read(socket, parse_greeting).await? {
        Ok(true) => socket.write_all(&[VERSION, NO_AUTHENTICATION]).await?,
        Ok(false) => {
            tell_last(socket, &[VERSION, NO_METHOD]).await?;
            return Ok(None);
        }
        // Whatever it speaks, it would not understand an answer.
        Err(_) => return Ok(None),
    }
    match head.read(socket, parse_request).await? {
        Ok(Command::Connect(target)) => Ok(Some(Wanted::Connection(Request {
            target,
            early: head.0.freeze(),
            answer: |outcome| reply(outcome.map_or_else(code, |()| SUCCEEDED), NOWHERE),
        }))),
        Ok(Command::Associate(port)) => {
            let association = Association::open(socket, port).await?;
            let place = association.address()?;
            socket.write_all(&reply(SUCCEEDED, place)).await?;
            Ok(Some(Wanted::Datagrams(association)))
        }
        Err(refusal) => {
            tell_last(socket, &reply(refusal.code(), NOWHERE)).await?;
            Ok(None)
        }
    }
}

/// Whether the program can do without authentication, and the length of its greeting; `None` if more is to come.
fn parse_greeting(bytes: &[u8]) -> Result<Option<(bool, usize)>, Refusal> {
    match bytes {
        [version, ..] if *version != VERSION => Err(Refusal::Version),
        [_, count, rest @ ..] if rest.len() >= usize::from(*count) => {
            let methods = &rest[..usize::from(*count)];
            Ok(Some((methods.contains(&NO_AUTHENTICATION), 2 + methods.len())))
        }
        _ => Ok(None),
    }
}

/// What a request asks for, and its length; `None` if more is to come.
fn parse_request(bytes: &[u8]) -> Result<Option<(Command, usize)>, Refusal> {
    let [version, command, _reserved, kind, fields @ ..] = bytes else {
        return match bytes.first() {
            Some(version) if *version != VERSION => Err(Refusal::Version),
            _ => Ok(None),
        };
    };
    let length = match (*version, *kind, fields.first()) {
        (VERSION, IPV4, _) => 4,
        (VERSION, IPV6, _) => 16,
        (VERSION, NAME, Some(length)) => 1 + usize::from(*length),
        (VERSION, NAME, None) => return Ok(None),
        (VERSION, _, _) => return Err(Refusal::AddressType),
        _ => return Err(Refusal::Version),
    };
    let Some((address, rest)) = fields.split_at_checked(length) else {
        return Ok(None);
    };
    let Some(port) = rest.first_chunk::<2>() else {
        return Ok(None);
    };
    let port = u16::from_be_bytes(*port);
    let command = match *command {
        CONNECT => Command::Connect(Target::new(host(*kind, address)?, port).ok_or(Refusal::Target)?),
        UDP_ASSOCIATE => Command::Associate(port),
        _ => return Err(Refusal::Command),
    };
    Ok(Some((command, 4 + length + 2)))
}

fn host(kind: u8, address: &[u8]) -> Result<Host, Refusal> {
    let host = match kind {
        IPV4 => <[u8; 4]>::try_from(address)
            .ok()
            .map(|address| Ipv4Addr::from(address).into()),
        IPV6 => <[u8; 16]>::try_from(address)
            .ok()
            .map(|address| Ipv6Addr::from(address).into()),
        // A name may be an address in text.
        _ => address
            .split_first()
            .and_then(|(_, name)| std::str::from_utf8(name).ok()?.parse().ok()),
    };
    host.ok_or(Refusal::Target)
}

impl Refusal {
    const fn code(self) -> u8 {
        match self {
            Self::Version | Self::Target => FAILURE,
            Self::Command => COMMAND_NOT_SUPPORTED,
            Self::AddressType => ADDRESS_TYPE_NOT_SUPPORTED,
        }
    }
}

/// The reply for a connection that the far side has not made.
const fn code(reason: Reason) -> u8 {
    match reason {
        Reason::NotPermitted => NOT_ALLOWED,
        Reason::NetworkUnreachable | Reason::Down => NETWORK_UNREACHABLE,
        Reason::HostUnreachable | Reason::UnknownName | Reason::TimedOut => HOST_UNREACHABLE,
        Reason::Refused => REFUSED,
        Reason::Failed | Reason::TooMany | Reason::Reset => FAILURE,
    }
}

/// The address of replies that have none. From which one the far side has connected means nothing here.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

fn reply(code: u8, address: SocketAddr) -> Vec<u8> {
    let mut reply = vec![VERSION, code, 0];
    match address.ip() {
        IpAddr::V4(ip) => {
            reply.push(IPV4);
            reply.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            reply.push(IPV6);
            reply.extend(ip.octets());
        }
    }
    reply.extend(address.port().to_be_bytes());
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(command: u8, kind: u8, address: &[u8], port: u16) -> Vec<u8> {
        [&[VERSION, command, 0, kind], address, &port.to_be_bytes()].concat()
    }

    #[test]
    fn targets_of_all_kinds_are_found_once_they_are_complete() {
        let ipv6 = Ipv6Addr::LOCALHOST.octets();
        let cases = [
            (request(CONNECT, IPV4, &[192, 0, 2, 1], 80), "192.0.2.1:80"),
            (request(CONNECT, IPV6, &ipv6, 443), "[::1]:443"),
            (request(CONNECT, NAME, b"\x0bexample.org", 22), "example.org:22"),
            (request(CONNECT, NAME, b"\x09192.0.2.1", 22), "192.0.2.1:22"),
        ];
        for (mut bytes, target) in cases {
            let length = bytes.len();
            for short in 0..length {
                assert_eq!(parse_request(&bytes[..short]), Ok(None), "{target}");
            }
            bytes.extend(b"early");
            let (found, used) = parse_request(&bytes).unwrap().unwrap();
            assert_eq!((found, used), (Command::Connect(target.parse().unwrap()), length));
        }
        let associate = request(UDP_ASSOCIATE, IPV4, &[0; 4], 0);
        assert_eq!(parse_request(&associate), Ok(Some((Command::Associate(0), 10))));
    }

    #[test]
    fn what_is_not_served_is_refused_with_its_code() {
        let code = |bytes: &[u8]| parse_request(bytes).unwrap_err().code();
        // BIND.
        assert_eq!(
            code(&request(2, IPV4, &[192, 0, 2, 1], 80)),
            COMMAND_NOT_SUPPORTED
        );
        assert_eq!(
            code(&request(CONNECT, 2, &[192, 0, 2, 1], 80)),
            ADDRESS_TYPE_NOT_SUPPORTED
        );
        assert_eq!(code(&request(CONNECT, IPV4, &[192, 0, 2, 1], 0)), FAILURE);
        assert_eq!(code(&request(CONNECT, NAME, b"\x00", 80)), FAILURE);
        assert_eq!(code(&request(CONNECT, NAME, b"\x03a\nb", 80)), FAILURE);
        assert_eq!(parse_request(&[4, 1]), Err(Refusal::Version));
    }

    #[test]
    fn greeting_needs_the_method_without_authentication() {
        assert_eq!(parse_greeting(&[5, 2, 2]), Ok(None));
        assert_eq!(parse_greeting(&[5, 2, 2, 0, 5]), Ok(Some((true, 4))));
        assert_eq!(parse_greeting(&[5, 1, 2]), Ok(Some((false, 3))));
        assert_eq!(parse_greeting(&[5, 0]), Ok(Some((false, 2))));
        assert_eq!(parse_greeting(b"GET / HTTP/1.1"), Err(Refusal::Version));
    }
}
