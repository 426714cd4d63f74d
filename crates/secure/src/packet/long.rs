//! Handshake packet headers: Request, Retry, Version Negotiation, Initial and Handshake.

use super::{MAX_COOKIE, MIN_REQUEST, ParseError, Reader, TAG_LEN};
use crate::index::{INDEX_LEN, Index};
use crate::version::Version;

pub(super) const REQUEST: u8 = 0x80;
pub(super) const RETRY: u8 = 0x81;
pub(super) const VERSION_NEGOTIATION: u8 = 0x82;
pub(super) const CLIENT_INITIAL: u8 = 0x83;
pub(super) const SERVER_INITIAL: u8 = 0x84;
pub(super) const HANDSHAKE: u8 = 0x85;

/// A client asks for a cookie.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) version: Version,
    pub(crate) client: Index,
}

/// A server answers with a cookie.
#[derive(Debug)]
pub(crate) struct Retry {
    pub(crate) client: Index,
    pub(crate) cookie: Vec<u8>,
}

/// A server lists its versions.
#[derive(Debug)]
pub(crate) struct VersionNegotiation {
    pub(crate) client: Index,
    pub(crate) versions: Vec<Version>,
}

/// A client sends fragments of its ClientHello, with a cookie.
#[derive(Debug)]
pub(crate) struct ClientInitial {
    pub(crate) version: Version,
    pub(crate) client: Index,
    pub(crate) cookie: Vec<u8>,
    pub(crate) number: u32,
    /// Length of the header; the sealed frames follow.
    pub(crate) header: usize,
}

/// A server sends fragments of its ServerHello.
#[derive(Debug)]
pub(crate) struct ServerInitial {
    pub(crate) client: Index,
    pub(crate) server: Index,
    pub(crate) number: u32,
    pub(crate) header: usize,
}

/// Either end sends the rest of its handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) receiver: Index,
    pub(crate) number: u32,
    pub(crate) header: usize,
}

impl Request {
    pub(super) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(datagram, 1);
        let request = Self {
            version: Version(reader.u32()?),
            client: reader.index()?,
        };
        if datagram.len() < MIN_REQUEST {
            return Err(ParseError::ShortRequest(datagram.len()));
        }
        Ok(request)
    }

    /// The client of the Request that starts with `quoted`.
    pub(crate) fn client_of(quoted: &[u8]) -> Option<Index> {
        let mut reader = Reader::new(quoted, 0);
        let is_request = reader.u8() == Ok(REQUEST);
        let _version = reader.u32().ok()?;
        reader.index().ok().filter(|_| is_request)
    }
}

impl Retry {
    pub(super) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(datagram, 1);
        let client = reader.index()?;
        let at = reader.offset();
        let cookie = reader.take(reader.remaining())?.to_vec();
        if cookie.is_empty() || cookie.len() > MAX_COOKIE {
            return Err(ParseError::InvalidValue(at));
        }
        Ok(Self { client, cookie })
    }
}

impl VersionNegotiation {
    /// More versions than anyone has.
    const MAX: usize = 64;

    pub(super) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(datagram, 1);
        let client = reader.index()?;
        let mut versions = Vec::new();
        while reader.remaining() > 0 {
            if versions.len() == Self::MAX {
                return Err(ParseError::InvalidValue(reader.offset()));
            }
            versions.push(Version(reader.u32()?));
        }
        Ok(Self { client, versions })
    }
}

impl ClientInitial {
    pub(super) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(datagram, 1);
        let version = Version(reader.u32()?);
        let client = reader.index()?;
        let at = reader.offset();
        let len = usize::from(reader.u8()?);
        if len > MAX_COOKIE {
            return Err(ParseError::InvalidValue(at));
        }
        Ok(Self {
            version,
            client,
            cookie: reader.take(len)?.to_vec(),
            number: reader.u32()?,
            header: header_before_tag(&reader)?,
        })
    }
}

impl ServerInitial {
    pub(super) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(datagram, 1);
        Ok(Self {
            client: reader.index()?,
            server: reader.index()?,
            number: reader.u32()?,
            header: header_before_tag(&reader)?,
        })
    }
}

impl Handshake {
    pub(super) fn parse(datagram: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(datagram, 1);
        Ok(Self {
            receiver: reader.index()?,
            number: reader.u32()?,
            header: header_before_tag(&reader)?,
        })
    }
}

/// The length of the header just read, if a tag fits behind it.
fn header_before_tag(reader: &Reader<'_>) -> Result<usize, ParseError> {
    if reader.remaining() < TAG_LEN {
        return Err(ParseError::Truncated(reader.offset()));
    }
    Ok(reader.offset())
}

/// A Request.
pub(crate) fn write_request(version: Version, client: Index) -> Vec<u8> {
    let mut bytes = vec![REQUEST];
    bytes.extend(version.0.to_be_bytes());
    bytes.extend(client.0);
    bytes.resize(MIN_REQUEST, 0);
    bytes
}

/// A Retry.
pub(crate) fn write_retry(client: Index, cookie: &[u8]) -> Vec<u8> {
    let mut bytes = vec![RETRY];
    bytes.extend(client.0);
    bytes.extend(cookie);
    bytes
}

/// A Version Negotiation with as many versions as keep it as short as a Request.
pub(crate) fn write_version_negotiation(client: Index, versions: &[Version]) -> Vec<u8> {
    let mut bytes = vec![VERSION_NEGOTIATION];
    bytes.extend(client.0);
    let room = (MIN_REQUEST - 1 - INDEX_LEN) / 4;
    bytes.extend(
        versions
            .iter()
            .take(room)
            .flat_map(|version| version.0.to_be_bytes()),
    );
    bytes
}

/// The header of a client's Initial. `cookie` has at most [`MAX_COOKIE`] bytes.
pub(crate) fn write_client_initial(version: Version, client: Index, cookie: &[u8], number: u32) -> Vec<u8> {
    let cookie = &cookie[..cookie.len().min(MAX_COOKIE)];
    let mut bytes = vec![CLIENT_INITIAL];
    bytes.extend(version.0.to_be_bytes());
    bytes.extend(client.0);
    bytes.push(cookie.len() as u8);
    bytes.extend(cookie);
    bytes.extend(number.to_be_bytes());
    bytes
}

/// The header of a server's Initial.
pub(crate) fn write_server_initial(client: Index, server: Index, number: u32) -> Vec<u8> {
    let mut bytes = vec![SERVER_INITIAL];
    bytes.extend(client.0);
    bytes.extend(server.0);
    bytes.extend(number.to_be_bytes());
    bytes
}

/// The header of a Handshake packet.
pub(crate) fn write_handshake(receiver: Index, number: u32) -> Vec<u8> {
    let mut bytes = vec![HANDSHAKE];
    bytes.extend(receiver.0);
    bytes.extend(number.to_be_bytes());
    bytes
}
