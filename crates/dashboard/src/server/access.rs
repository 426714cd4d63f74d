//! Access to the live view: the token that the printed address has, and names of hosts that a request may have.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hyper::http::uri::Authority;
use sha2::{Digest as _, Sha256};

/// Random bytes of a token.
const BYTES: usize = 16;

/// Shortest token that a user may choose: nobody is to find it by trying.
const MIN_LENGTH: usize = 16;

/// What those who may look know.
#[derive(Clone)]
pub struct Token {
    text: String,
    /// Digests are compared instead of tokens: how long that takes says nothing about the token.
    digest: [u8; 32],
}

/// A token cannot be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The system has no random numbers.
    #[error("the system gives no random numbers: {0}")]
    NoRandomness(String),
    /// The text is no token.
    #[error("a token has at least {MIN_LENGTH} letters, digits, `-` and `_`, and nothing else")]
    Malformed,
}

impl Token {
    /// A new token.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn generate() -> Result<Self, TokenError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| TokenError::NoRandomness(error.to_string()))?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self::of(text))
    }

    /// A token that the user has chosen.
    ///
    /// # Errors
    ///
    /// Fails if it is short, or has characters that addresses would have to escape.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if text.len() < MIN_LENGTH || !text.bytes().all(is_plain) {
            return Err(TokenError::Malformed);
        }
        Ok(Self::of(text.to_owned()))
    }

    fn of(text: String) -> Self {
        let digest = Sha256::digest(&text).into();
        Self { text, digest }
    }

    pub(super) fn is(&self, told: &str) -> bool {
        let told: [u8; 32] = Sha256::digest(told).into();
        told == self.digest
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(..)")
    }
}

/// The address of the page, with the token.
#[must_use]
pub fn url(address: SocketAddr, token: &Token) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!(
        "http://{}/?token={}",
        SocketAddr::new(ip, address.port()),
        token.text
    )
}

/// Whether a browser may have been led here by this name. Only addresses and `localhost` are certain not to be the name of somebody
/// else's page, whose resolver answers with our address (DNS rebinding).
pub(super) fn is_known_host(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else {
        return false;
    };
    let host = authority.host();
    let has_user = authority.as_str().contains('@');
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_address = bare.unwrap_or(host).parse::<IpAddr>().is_ok();
    !has_user && (is_address || host.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_known_hosts() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:9",
            "[::1]:80",
            "[2001:db8::1]",
            "localhost",
            "LocalHost:1",
        ] {
            assert!(is_known_host(host), "{host}");
        }
        for host in [
            "",
            "attacker.example",
            "attacker.example:9898",
            "127.0.0.1.attacker.example",
            "localhost.attacker.example",
            "me@127.0.0.1",
            "127.0.0.1:80:80",
            "1.2.3",
        ] {
            assert!(!is_known_host(host), "{host}");
        }
    }

    #[test]
    fn tokens_differ_and_only_the_same_one_is_accepted() {
        let (one, two) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert!(one.is(&one.text) && !one.is(&two.text) && !one.is(""));
        assert_eq!(one.text.len(), 2 * BYTES);
        assert!(!format!("{one:?}").contains(&one.text));
    }

    #[test]
    fn short_and_unusual_tokens_are_refused() {
        assert!(Token::parse("abcdefgh-1234_XY\n").unwrap().is("abcdefgh-1234_XY"));
        for text in ["", "short", "with a space in it", "&token=0123456789abcdef"] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_of_the_page_can_be_opened() {
        let token = Token::parse("abcdefgh-1234_XY").unwrap();
        let of = |address: &str| url(address.parse().unwrap(), &token);
        assert_eq!(of("127.0.0.1:80"), "http://127.0.0.1:80/?token=abcdefgh-1234_XY");
        assert_eq!(of("[::]:80"), "http://[::1]:80/?token=abcdefgh-1234_XY");
        assert_eq!(of("0.0.0.0:9"), "http://127.0.0.1:9/?token=abcdefgh-1234_XY");
    }
}
