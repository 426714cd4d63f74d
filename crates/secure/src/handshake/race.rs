//! Handshake paths. What may and must be sent on each of the paths that race?

use anabranch_types::PathAddr;

use super::Level;

/// Paths of one handshake.
pub(super) const MAX_PATHS: usize = 16;
/// An address that has not proven itself gets at most this many times the bytes that came from it (RFC 9000 §8.1).
const AMPLIFICATION: u64 = 3;
/// Cookies that a client takes for each Request or timer expiry. More than one, as the first may be forged; not all, as a
/// server that refuses its own must not make us send in a loop.
pub(super) const RETRIES: u8 = 4;
/// Packets of unacknowledged handshake bytes in flight on a path; as much as ten segments of RFC 6928, rounded up.
const BURST: usize = 16;

/// A path of a handshake.
#[derive(Debug)]
pub(super) struct RacePath {
    pub(super) addr: PathAddr,
    /// Greatest UDP payload.
    pub(super) size: usize,
    /// A client's cookie for this path.
    pub(super) cookie: Option<Vec<u8>>,
    /// Cookies that a client still accepts for this path.
    pub(super) retries_left: u8,
    /// A client sends a Request next.
    pub(super) request_due: bool,
    /// The peer receives what we send there.
    pub(super) proven: bool,
    received: u64,
    sent: u64,
    /// The next byte to send of each level.
    pub(super) cursor: [u32; 2],
    pub(super) ack_due: [bool; 2],
}

impl RacePath {
    pub(super) const fn new(addr: PathAddr, size: usize) -> Self {
        Self {
            addr,
            size,
            cookie: None,
            retries_left: 0,
            request_due: false,
            proven: false,
            received: 0,
            sent: 0,
            cursor: [0; 2],
            ack_due: [false; 2],
        }
    }

    /// A client's path, on which a Request is due.
    pub(super) const fn requesting(addr: PathAddr, size: usize) -> Self {
        let mut path = Self::new(addr, size);
        path.request_due = true;
        path.retries_left = RETRIES;
        path
    }

    pub(super) const fn on_received(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes as u64);
    }

    pub(super) const fn on_sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes as u64);
    }

    /// Bytes of the next packet: a whole one if the address is proven or is one that the application named.
    pub(super) fn allowance(&self, named: bool) -> usize {
        if named || self.proven {
            return self.size;
        }
        let credit = (AMPLIFICATION * self.received).saturating_sub(self.sent);
        self.size.min(usize::try_from(credit).unwrap_or(usize::MAX))
    }

    /// The first byte to send of `level`, and the byte where this burst ends, in a stream acknowledged up to `acked`.
    pub(super) fn window(&mut self, level: Level, acked: u32, end: u32) -> (u32, u32) {
        let cursor = &mut self.cursor[level as usize];
        *cursor = (*cursor).max(acked);
        let burst = u32::try_from(BURST * self.size).unwrap_or(u32::MAX);
        (*cursor, end.min(acked.saturating_add(burst)))
    }

    /// Sends again what is not acknowledged.
    pub(super) const fn rewind(&mut self) {
        self.cursor = [0; 2];
    }
}

#[cfg(test)]
mod tests {
    use anabranch_types::PathAddr;

    use super::RacePath;

    #[test]
    fn unproven_address_gets_three_times_its_bytes() {
        let local = "192.0.2.1:1".parse().unwrap();
        let addr = PathAddr { local, remote: local };
        let mut path = RacePath::new(addr, 1_200);
        assert_eq!(path.allowance(false), 0);
        path.on_received(500);
        assert_eq!(path.allowance(false), 1_200);
        path.on_sent(1_200);
        assert_eq!(path.allowance(false), 300);
        path.proven = true;
        assert_eq!(path.allowance(false), 1_200);
    }
}
