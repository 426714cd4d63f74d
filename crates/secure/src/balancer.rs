//! Balancers of layer 4. Which of several machines behind one address is a datagram for?

use crate::index::{INDEX_LEN, Index};

/// Bytes at the beginning of an index that name a machine.
pub(crate) const MACHINE_LEN: usize = 2;

/// The offset of the receiver index in Handshake and data packets.
const RECEIVER_AT: usize = 1;

/// The offset of the client index in Requests and Initials of a client.
const CLIENT_AT: usize = 5;

/// Where a balancer sends a datagram of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// To the machine with this number: it has the connection.
    Machine(u16),
    /// To any machine, and to the same one for the same client index: the handshake begins. A hash of the index may choose.
    AnyMachine(Index),
}

/// Where a balancer sends a datagram that a client has sent to an address which several machines serve; `None` if it is none of this
/// protocol. A balancer needs no keys and keeps no state, and all paths of a client lead to one machine.
///
/// All machines have the same [`secret`](crate::Config::secret) for resets, and each has a [`machine`](crate::Config::machine) number of its own.
///
/// ```
/// use anabranch_secure::{Destination, destination};
/// let data = [0x00, 0x01, 0x02, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6];
/// assert_eq!(destination(&data), Some(Destination::Machine(0x0102)));
/// ```
#[must_use]
pub fn destination(datagram: &[u8]) -> Option<Destination> {
    let index = |at: usize| {
        let bytes = datagram.get(at..at + INDEX_LEN)?;
        bytes.try_into().ok().map(Index)
    };
    match datagram.first()? {
        // Request and client Initial.
        0x80 | 0x83 => index(CLIENT_AT).map(Destination::AnyMachine),
        // Data and Handshake.
        0x00..=0x7F | 0x85 => index(RECEIVER_AT).map(|index| Destination::Machine(index.machine())),
        _ => None,
    }
}
