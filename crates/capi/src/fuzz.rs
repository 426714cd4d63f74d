//! For fuzz targets: parses what a program gives, without the program.

use std::sync::Arc;

use crate::ancillary;
use crate::layout::Fields;
use crate::socket::{Request, Socket, Style};

/// Ancillary data of a call that sends, and of one that passes descriptors.
pub fn ancillary(control: &[u8]) {
    let mut request = Request::default();
    let _ = ancillary::read(control, &mut request);
    let _ = request.remotes();
    let passed = ancillary::passed_descriptors(control);
    assert!(passed.len() <= control.len() / 4, "more descriptors than bytes");
}

/// Options of sockets without associations: in each call the first bytes select socket, direction, level, name and length of the value.
///
/// # Errors
///
/// The system denies descriptors.
pub fn options(mut calls: &[u8]) -> std::io::Result<()> {
    let socket = |style, is_v6| Socket::new(style, is_v6, (true, true), Arc::default());
    let denied = |_| std::io::Error::other("no descriptors");
    let [one, many] = [socket(Style::OneToOne, false), socket(Style::OneToMany, true)];
    let sockets = [one.map_err(denied)?, many.map_err(denied)?];
    while let Some(([which, number, length], rest)) = calls.split_first_chunk() {
        let (socket, _) = &sockets[usize::from(which & 1)];
        let level = if which & 2 == 0 {
            libc::IPPROTO_SCTP
        } else {
            libc::SOL_SOCKET
        };
        let (value, rest) = rest.split_at(rest.len().min((*length).into()));
        // Binding would open UDP sockets at addresses of the machine.
        if which & 4 == 0 {
            let _ = socket.option(level, (*number).into(), value);
        } else if !matches!(number, 100 | 101) {
            let _ = socket.set_option(level, (*number).into(), value);
        }
        calls = rest;
    }
    Ok(())
}

/// Addresses, one behind another, and structures of options.
pub fn addresses(bytes: &[u8]) {
    if let Ok(read) = crate::address::read_all(bytes) {
        for address in read {
            let written = crate::address::write(address, false);
            assert_eq!(crate::address::read(&written), Ok(address));
        }
    }
    let _ = Fields::new(bytes).storage();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random (xorshift), from this seed.
    struct Bytes(u64);

    impl Bytes {
        fn next(&mut self) -> u8 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 32) as u8
        }

        fn take(&mut self, count: u8) -> Vec<u8> {
            (0..count).map(|_| self.next()).collect()
        }
    }

    /// Ancillary data with these types and lengths, which may lie.
    fn control(random: &mut Bytes) -> Vec<u8> {
        let mut control = Vec::new();
        for _ in 0..random.next() % 4 {
            let count = random.next() % 40;
            let lie = u64::from(random.next() / 250) * u64::from(random.next());
            let length = 16 + u64::from(count) + lie;
            let level = if random.next().is_multiple_of(4) {
                1
            } else {
                libc::IPPROTO_SCTP
            };
            control.extend(length.to_ne_bytes());
            control.extend(level.to_ne_bytes());
            control.extend(i32::from(random.next() % 10).to_ne_bytes());
            control.extend(random.take(count));
            control.resize(control.len().next_multiple_of(8), 0);
        }
        control
    }

    #[test]
    fn random_ancillary_data_and_addresses_are_parsed_or_refused() {
        let mut random = Bytes(1);
        for _ in 0..20_000 {
            ancillary(&control(&mut random));
            let mut bytes = vec![[2, 10, 7][usize::from(random.next() % 3)], 0];
            let count = random.next() % 60;
            bytes.extend(random.take(count));
            addresses(&bytes);
        }
    }

    #[test]
    fn random_options_are_set_or_refused() {
        let mut random = Bytes(1);
        for _ in 0..500 {
            let mut calls = Vec::new();
            for _ in 0..20 {
                let count = random.next() % 48;
                calls.extend([random.next(), random.next() % 140, count]);
                // Small numbers are often valid.
                let largest = [1, 4, 255][usize::from(random.next() % 3)];
                calls.extend(random.take(count).iter().map(|byte| byte % largest));
            }
            options(&calls).unwrap();
        }
    }
}
