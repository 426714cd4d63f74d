//! Socket addresses: `sockaddr_in` and `sockaddr_in6` as bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use crate::errno::Errno;

const V4: u16 = libc::AF_INET as u16;
const V6: u16 = libc::AF_INET6 as u16;

/// Length of a socket address of this family; `None` if it is neither IPv4 nor IPv6.
pub(crate) const fn length(family: u16) -> Option<usize> {
    match family {
        V4 => Some(16),
        V6 => Some(28),
        _ => None,
    }
}

/// Reads an address. IPv4 addresses mapped into IPv6 become IPv4 addresses.
///
/// # Errors
///
/// `EINVAL` if it is too short, `EAFNOSUPPORT` if of another family.
pub(crate) fn read(bytes: &[u8]) -> Result<SocketAddr, Errno> {
    let Some((family, rest)) = bytes.split_first_chunk::<2>() else {
        return Err(Errno(libc::EINVAL));
    };
    let needed = length(u16::from_ne_bytes(*family)).ok_or(Errno(libc::EAFNOSUPPORT))?;
    if bytes.len() < needed {
        return Err(Errno(libc::EINVAL));
    }
    let invalid = Errno(libc::EINVAL);
    let (port, rest) = rest.split_first_chunk::<2>().ok_or(invalid)?;
    let port = u16::from_be_bytes(*port);
    if needed == 16 {
        let ip: &[u8; 4] = rest.first_chunk().ok_or(invalid)?;
        return Ok((Ipv4Addr::from(*ip), port).into());
    }
    let ip: &[u8; 16] = rest[4..].first_chunk().ok_or(invalid)?;
    let scope: &[u8; 4] = rest[20..].first_chunk().ok_or(invalid)?;
    let ip = Ipv6Addr::from(*ip);
    Ok(match ip.to_ipv4_mapped() {
        Some(mapped) => (mapped, port).into(),
        None => SocketAddrV6::new(ip, port, 0, u32::from_ne_bytes(*scope)).into(),
    })
}

/// Reads `count` addresses that lie behind one another, as `sctp_bindx` gets them.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_packed(mut bytes: &[u8], count: usize) -> Result<Vec<SocketAddr>, Errno> {
    let mut addresses = Vec::new();
    for _ in 0..count {
        addresses.push(read(bytes)?);
        let family = u16::from_ne_bytes([bytes[0], bytes[1]]);
        bytes = &bytes[length(family).unwrap_or(0)..];
    }
    Ok(addresses)
}

/// Reads all addresses that lie behind one another, at least one.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_all(mut bytes: &[u8]) -> Result<Vec<SocketAddr>, Errno> {
    let mut addresses = Vec::new();
    while let Some(family) = bytes.first_chunk() {
        addresses.push(read(bytes)?);
        let length = length(u16::from_ne_bytes(*family)).unwrap_or(bytes.len());
        bytes = bytes.get(length..).unwrap_or(&[]);
    }
    match addresses.is_empty() {
        true => Err(Errno(libc::EINVAL)),
        false => Ok(addresses),
    }
}

/// Writes an address for a socket of IPv6, where IPv4 addresses are mapped, or of IPv4.
pub(crate) fn write(address: SocketAddr, is_v6: bool) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    match (address.ip(), is_v6) {
        (IpAddr::V4(ip), false) => [&V4.to_ne_bytes()[..], &port, &ip.octets(), &[0; 8]].concat(),
        (ip, _) => {
            let (ip, scope) = match (ip, address) {
                (IpAddr::V4(ip), _) => (ip.to_ipv6_mapped(), 0),
                (IpAddr::V6(ip), SocketAddr::V6(whole)) => (ip, whole.scope_id()),
                (IpAddr::V6(ip), SocketAddr::V4(_)) => (ip, 0),
            };
            [
                &V6.to_ne_bytes()[..],
                &port,
                &[0; 4],
                &ip.octets(),
                &scope.to_ne_bytes(),
            ]
            .concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_writing_and_reading() {
        for (text, is_v6) in [
            ("192.0.2.1:80", false),
            ("192.0.2.1:80", true),
            ("[2001:db8::1]:80", true),
        ] {
            let address: SocketAddr = text.parse().unwrap();
            let bytes = write(address, is_v6);
            assert_eq!(
                (read(&bytes), bytes.len()),
                (Ok(address), if is_v6 { 28 } else { 16 })
            );
            assert_eq!(read_packed(&bytes.repeat(2), 2), Ok(vec![address; 2]));
        }
    }

    #[test]
    fn short_and_foreign_addresses_are_refused() {
        let bytes = write(([192, 0, 2, 1], 80).into(), false);
        assert_eq!(read(&bytes[..15]), Err(Errno(libc::EINVAL)));
        assert_eq!(read(&[]), Err(Errno(libc::EINVAL)));
        assert_eq!(read_packed(&bytes, 2), Err(Errno(libc::EINVAL)));
        assert_eq!(read(&[1, 0, 0, 0]), Err(Errno(libc::EAFNOSUPPORT)));
    }
}
