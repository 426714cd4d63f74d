//! Certificates and their fingerprints. How do two hosts know each other that share no authority?

use std::fmt;
use std::str::FromStr;

use dimpl::{DtlsCertificate, certificate};

/// A self-signed certificate with its private key (ECDSA with P-256). It is valid for a year.
#[derive(Clone)]
pub struct Certificate(DtlsCertificate);

impl Certificate {
    /// A new one, of a new key.
    ///
    /// # Errors
    ///
    /// The operating system denies randomness.
    pub fn generate() -> Result<Self, CertificateError> {
        certificate::generate_self_signed_certificate()
            .map(Self)
            .map_err(|_| CertificateError)
    }

    /// What the peer has to know of it.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.0.certificate)
    }

    pub(crate) fn to_dimpl(&self) -> DtlsCertificate {
        self.0.clone()
    }
}

/// Without the private key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificate").field(&self.fingerprint()).finish()
    }
}

/// No certificate could be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the operating system gives no randomness for a certificate")]
pub struct CertificateError;

const LEN: usize = 32;

/// The SHA-256 hash of a certificate, as session descriptions state it (RFC 8122 §5).
///
/// ```
/// use anabranch_dtls::{Certificate, Fingerprint};
/// let fingerprint = Certificate::generate()?.fingerprint();
/// let attribute = fingerprint.to_string();
/// assert!(attribute.starts_with("sha-256 "));
/// assert_eq!(attribute.parse::<Fingerprint>()?, fingerprint);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint([u8; LEN]);

impl Fingerprint {
    /// That of a certificate in DER.
    pub(crate) fn of(certificate: &[u8]) -> Self {
        let hash = certificate::calculate_fingerprint(certificate);
        Self(hash.try_into().expect("invariant: SHA-256 has 32 bytes"))
    }

    /// The bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl From<[u8; LEN]> for Fingerprint {
    fn from(hash: [u8; LEN]) -> Self {
        Self(hash)
    }
}

/// As in the attribute `a=fingerprint`: `sha-256 4A:AD:…`.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<String> = self.0.iter().map(|byte| format!("{byte:02X}")).collect();
        write!(f, "sha-256 {}", bytes.join(":"))
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintParseError;

    /// Reads the value of the attribute `a=fingerprint`. Names of hash functions and digits may be in upper and lower case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (function, hash) = text.trim().split_once(' ').ok_or(FingerprintParseError::Length)?;
        if !function.eq_ignore_ascii_case("sha-256") {
            return Err(FingerprintParseError::HashFunction(function.to_owned()));
        }
        let mut bytes = [0; LEN];
        let mut pairs = hash.split(':');
        for byte in &mut bytes {
            *byte = hexadecimal(pairs.next().ok_or(FingerprintParseError::Length)?)?;
        }
        if pairs.next().is_some() {
            return Err(FingerprintParseError::Length);
        }
        Ok(Self(bytes))
    }
}

fn hexadecimal(pair: &str) -> Result<u8, FingerprintParseError> {
    let is_pair = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte = is_pair.then(|| u8::from_str_radix(pair, 16).ok()).flatten();
    byte.ok_or_else(|| FingerprintParseError::Digits(pair.to_owned()))
}

/// Why a text is no fingerprint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FingerprintParseError {
    /// Another hash function than SHA-256.
    #[error("the hash function {0:?} is not supported; ask the peer for a fingerprint with sha-256")]
    HashFunction(String),
    /// Not two hexadecimal digits.
    #[error("{0:?} are not two hexadecimal digits")]
    Digits(String),
    /// Not `sha-256` and 32 bytes.
    #[error("a fingerprint is `sha-256` and 32 bytes, as in `sha-256 4A:AD:…`")]
    Length,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> String {
        format!("sha-256 {}", vec!["aB"; bytes].join(":"))
    }

    #[test]
    fn digits_and_names_may_have_any_case() {
        assert_eq!(text(LEN).parse(), Ok(Fingerprint([0xAB; LEN])));
        assert_eq!(text(LEN).to_uppercase().parse(), Ok(Fingerprint([0xAB; LEN])));
    }

    #[test]
    fn other_texts_are_errors_with_their_reason() {
        let parse = str::parse::<Fingerprint>;
        for wrong in [&text(LEN - 1), &text(LEN + 1), "", "sha-256"] {
            assert_eq!(parse(wrong), Err(FingerprintParseError::Length), "{wrong}");
        }
        let sha1 = text(LEN).replace("256", "1");
        assert_eq!(
            parse(&sha1),
            Err(FingerprintParseError::HashFunction("sha-1".to_owned()))
        );
        for digits in ["+B", "B", "B ", "äx"] {
            let wrong = text(LEN).replacen("aB", digits, 1);
            assert_eq!(
                parse(&wrong),
                Err(FingerprintParseError::Digits(digits.to_owned()))
            );
        }
    }

    #[test]
    fn private_key_is_not_printed() {
        let certificate = Certificate::generate().unwrap();
        let printed = format!("{certificate:?}");
        assert_eq!(printed, format!("Certificate({:?})", certificate.fingerprint()));
    }
}
