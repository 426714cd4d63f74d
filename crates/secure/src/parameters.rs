//! Transport parameters (RFC 9000 §7.4, §18). What do both ends tell each other inside the handshake?
//!
//! TLS authenticates them, so an attacker who changed versions or indexes on the way is found out (RFC 9368 §4,
//! RFC 9000 §7.3).

use crate::index::Index;
use crate::packet::{ParseError, Reader};
use crate::reset::ResetToken;
use crate::version::Version;

const VERSIONS: u16 = 1;
const CLIENT_INDEX: u16 = 2;
const SERVER_INDEX: u16 = 3;
const RESET_TOKEN: u16 = 4;

/// The parameters of one end.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    /// The version in use, as its sender sees it.
    pub(crate) chosen: Version,
    /// All versions of the sender, the preferred first.
    pub(crate) available: Vec<Version>,
    pub(crate) client: Index,
    /// Of the server only.
    pub(crate) server: Option<Index>,
    pub(crate) reset: ResetToken,
}

impl Parameters {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut field = |id: u16, value: &[u8]| {
            bytes.extend(id.to_be_bytes());
            bytes.extend((value.len() as u16).to_be_bytes());
            bytes.extend(value);
        };
        let versions = [self.chosen].into_iter().chain(self.available.iter().copied());
        let versions: Vec<u8> = versions.flat_map(|version| version.0.to_be_bytes()).collect();
        field(VERSIONS, &versions);
        field(CLIENT_INDEX, self.client.as_bytes());
        if let Some(server) = &self.server {
            field(SERVER_INDEX, server.as_bytes());
        }
        field(RESET_TOKEN, &self.reset.0);
        bytes
    }

    /// Parses the parameters. Unknown ones are ignored (RFC 9000 §7.4.2); the last of several equal ones counts.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes, 0);
        let (mut versions, mut client, mut server, mut reset) = (None, None, None, None);
        while reader.remaining() > 0 {
            let id = reader.u16()?;
            let len = reader.u16()?;
            let mut value = Reader::new(reader.take(usize::from(len))?, 0);
            match id {
                VERSIONS => versions = Some(read_versions(&mut value)?),
                CLIENT_INDEX => client = Some(value.index()?),
                SERVER_INDEX => server = Some(value.index()?),
                RESET_TOKEN => reset = Some(ResetToken(value.array()?)),
                _ => {}
            }
        }
        let missing = ParseError::Truncated(bytes.len());
        let (chosen, available) = versions.ok_or(missing)?;
        Ok(Self {
            chosen,
            available,
            client: client.ok_or(missing)?,
            server,
            reset: reset.ok_or(missing)?,
        })
    }
}

fn read_versions(value: &mut Reader<'_>) -> Result<(Version, Vec<Version>), ParseError> {
    let chosen = read_version(value)?;
    let mut available = Vec::new();
    while value.remaining() > 0 {
        available.push(read_version(value)?);
    }
    Ok((chosen, available))
}

/// A version; zero stands for none (RFC 9368 §3).
fn read_version(value: &mut Reader<'_>) -> Result<Version, ParseError> {
    match value.u32()? {
        0 => Err(ParseError::InvalidValue(value.offset() - 4)),
        version => Ok(Version(version)),
    }
}

#[cfg(test)]
mod tests {
    use super::Parameters;
    use crate::index::Index;
    use crate::reset::ResetToken;
    use crate::version::Version;

    #[test]
    fn parameters_are_read_as_they_were_written_and_unknown_ones_skipped() {
        let parameters = Parameters {
            chosen: Version::V1,
            available: vec![Version(9), Version::V1],
            client: Index([1; 8]),
            server: Some(Index([2; 8])),
            reset: ResetToken([3; 16]),
        };
        let mut bytes = parameters.encode();
        bytes.extend([0xff, 0xff, 0, 1, 7]);
        let read = Parameters::parse(&bytes).unwrap();
        assert_eq!(
            (read.chosen, &read.available),
            (Version::V1, &parameters.available)
        );
        assert_eq!(
            (read.client, read.server, read.reset.0),
            (parameters.client, parameters.server, [3; 16])
        );
        for len in 0..bytes.len() - 5 {
            assert!(Parameters::parse(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn version_zero_is_rejected() {
        for available in [vec![Version::V1, Version(0)], vec![]] {
            let chosen = if available.is_empty() {
                Version(0)
            } else {
                Version::V1
            };
            let parameters = Parameters {
                chosen,
                available,
                client: Index([1; 8]),
                server: None,
                reset: ResetToken([3; 16]),
            };
            assert!(Parameters::parse(&parameters.encode()).is_err());
        }
    }
}
