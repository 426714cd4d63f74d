//! Options that are read only: the state of associations.

use super::number as n;
use super::{Asked, HEADERS};
use crate::address;
use crate::dialect::Dialect;
use crate::errno::Errno;
use crate::layout::{Build, Fields};
use crate::socket::{Member, Socket, Style};

impl Socket {
    pub(super) fn status_option(&self, name: i32, given: &[u8]) -> Asked<Vec<u8>> {
        let of_member = |answer: fn(&Self, &Member) -> Vec<u8>| {
            let member = self.member(Fields::new(given).i32()?)?;
            Ok(answer(self, &member))
        };
        Some(match name {
            n::STATUS => of_member(Self::status),
            n::GET_ASSOC_STATS => of_member(Self::counters),
            n::GET_ASSOC_NUMBER | n::GET_ASSOC_ID_LIST if self.style == Style::OneToOne => {
                Err(Dialect::current().associations_of_one_to_one())
            }
            n::GET_ASSOC_NUMBER => {
                let count = u32::try_from(self.all_members().len()).unwrap_or(u32::MAX);
                Ok(count.to_ne_bytes().to_vec())
            }
            n::GET_ASSOC_ID_LIST => self.identifiers(given.len()),
            n::GET_PEER_ADDRS | n::GET_LOCAL_ADDRS => self.addresses_option(name, given),
            _ => return None,
        })
    }

    /// `struct sctp_assoc_ids`.
    fn identifiers(&self, room: usize) -> Result<Vec<u8>, Errno> {
        let members = self.all_members();
        let build = Build::new().u32(u32::try_from(members.len()).unwrap_or(u32::MAX));
        let list = members
            .iter()
            .fold(build, |build, member| build.i32(member.id))
            .done();
        if list.len() > room {
            return Err(Errno(libc::EINVAL));
        }
        Ok(list)
    }

    /// `struct sctp_getaddrs`.
    fn addresses_option(&self, name: i32, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let found = if name == n::GET_PEER_ADDRS {
            self.member(id)?.peers()
        } else {
            self.locals_of(id)?
        };
        let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let is_mapped = self.maps_v4();
        let build = Build::new().i32(id).u32(count);
        Ok(found
            .iter()
            .fold(build, |build, found| {
                build.bytes(&address::write(*found, is_mapped))
            })
            .done())
    }

    /// `struct sctp_status`.
    fn status(&self, member: &Member) -> Vec<u8> {
        let statistics = member.association.statistics();
        let (outbound, inbound) = member.association.streams();
        let state: u32 = match statistics.state {
            "COOKIE-WAIT" => 2,
            "COOKIE-ECHOED" => 3,
            "ESTABLISHED" => 4,
            "SHUTDOWN-PENDING" => 5,
            "SHUTDOWN-SENT" => 6,
            "SHUTDOWN-RECEIVED" => 7,
            "SHUTDOWN-ACK-SENT" => 8,
            _ => 1,
        };
        let window = u32::try_from(statistics.peer_window).unwrap_or(u32::MAX);
        let primary = statistics.paths.iter().find(|path| path.primary);
        let fragment = primary.map_or(0, |path| path.mtu.saturating_sub(HEADERS));
        let build = Build::new().i32(member.id).u32(state).u32(window);
        let build = build.u16(0).u16(0).u16(inbound).u16(outbound);
        build
            .u32(fragment.into())
            .bytes(&self.describe(member, primary))
            .done()
    }

    /// `struct sctp_assoc_stats`. What the core does not count is 0.
    fn counters(&self, member: &Member) -> Vec<u8> {
        let statistics = member.association.statistics();
        let of_paths = |count: fn(&anabranch::PathCounters) -> u64| -> u64 {
            statistics.paths.iter().map(|path| count(&path.counters)).sum()
        };
        let sent = of_paths(|counters| counters.packets_sent);
        let received = of_paths(|counters| counters.packets_received);
        let counts = [
            0,
            statistics.sacks_received,
            statistics.sacks_sent,
            sent,
            received,
            0,
            0,
            statistics.duplicates_received,
        ];
        let build = Build::new().i32(member.id).pad(136);
        counts.into_iter().fold(build, Build::u64).pad(256).done()
    }
}
