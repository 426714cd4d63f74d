//! Network address translator (NAT). Under which address do others see a host behind it?

use core::net::SocketAddr;

/// The NAT in front of the hosts. Without bindings it changes nothing.
#[derive(Debug, Default)]
pub(super) struct Nat {
    bindings: Vec<Binding>,
}

#[derive(Debug)]
struct Binding {
    inside: SocketAddr,
    outside: SocketAddr,
    expired: Vec<SocketAddr>,
}

/// The NAT has no binding of this address, or it has expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Expired;

impl Nat {
    /// Maps `inside` to `outside` from now on. The previous outside address expires. If `outside` belonged to another inside address, as
    /// when a host behind the NAT got another one, it does not any more.
    pub(super) fn rebind(&mut self, inside: SocketAddr, outside: SocketAddr) {
        self.bindings
            .retain(|binding| binding.inside == inside || binding.outside != outside);
        let Some(binding) = self.bindings.iter_mut().find(|binding| binding.inside == inside) else {
            let expired = if inside == outside {
                Vec::new()
            } else {
                vec![inside]
            };
            self.bindings.push(Binding {
                inside,
                outside,
                expired,
            });
            return;
        };
        let before = core::mem::replace(&mut binding.outside, outside);
        binding.expired.push(before);
        binding.expired.retain(|address| *address != outside);
    }

    /// Translates a source address to the one that others see.
    pub(super) fn outward(&self, source: SocketAddr) -> SocketAddr {
        let binding = self.bindings.iter().find(|binding| binding.inside == source);
        binding.map_or(source, |binding| binding.outside)
    }

    /// Translates a destination address to the host's own.
    pub(super) fn inward(&self, destination: SocketAddr) -> Result<SocketAddr, Expired> {
        if let Some(binding) = self
            .bindings
            .iter()
            .find(|binding| binding.outside == destination)
        {
            return Ok(binding.inside);
        }
        // The NAT has no binding of that port.
        let is_here = |address: &SocketAddr| address.ip() == destination.ip();
        let is_known = self.bindings.iter().any(|binding| {
            is_here(&binding.inside) || is_here(&binding.outside) || binding.expired.iter().any(is_here)
        });
        if is_known { Err(Expired) } else { Ok(destination) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expired, Nat};
    use core::net::SocketAddr;

    fn port(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    #[test]
    fn only_the_latest_nat_binding_is_reachable() {
        let mut nat = Nat::default();
        assert_eq!(
            (nat.outward(port(1)), nat.inward(port(1))),
            (port(1), Ok(port(1)))
        );
        nat.rebind(port(1), port(2));
        nat.rebind(port(1), port(3));
        assert_eq!(
            (nat.outward(port(1)), nat.inward(port(3))),
            (port(3), Ok(port(1)))
        );
        assert_eq!(
            (nat.inward(port(1)), nat.inward(port(2))),
            (Err(Expired), Err(Expired))
        );
        nat.rebind(port(4), port(3));
        assert_eq!(
            (nat.outward(port(4)), nat.inward(port(3))),
            (port(3), Ok(port(4)))
        );
        nat.rebind(port(1), port(1));
        assert_eq!(
            (nat.outward(port(1)), nat.inward(port(1))),
            (port(1), Ok(port(1)))
        );
    }
}
