//! Options of streams (RFC 6525, RFC 8260) and of partial reliability (RFC 7496).

use std::num::NonZeroU16;
use std::sync::Arc;

use anabranch::{Reconfiguration, StreamId};

use super::number as n;
use super::{Asked, assoc_value, with_id};
use crate::errno::Errno;
use crate::layout::{Build, Fields};
use crate::socket::{Member, Socket};

/// Stream schedulers by their number on Linux.
const SCHEDULERS: [&str; 5] = ["fcfs", "priority", "rr", "fair-bandwidth", "wfq"];

/// Our default.
const ROUND_ROBIN: usize = 2;

/// `srs_flags` and flags of `SCTP_ENABLE_STREAM_RESET`.
mod reset {
    pub(super) const INCOMING: u16 = 1;
    pub(super) const OUTGOING: u16 = 2;
    pub(super) const STREAMS: u32 = 1;
    pub(super) const ASSOCIATION: u32 = 2;
    pub(super) const ADD: u32 = 4;
}

impl Socket {
    pub(super) fn stream_option(&self, name: i32, given: &[u8]) -> Asked<Vec<u8>> {
        Some(match name {
            n::PR_SUPPORTED => with_id(given, |id| match self.member(id) {
                Ok(member) => Ok(member.association.is_partially_reliable().into()),
                Err(_) => Ok(self.settings_of(id)?.partial_reliability.into()),
            }),
            n::DEFAULT_PRINFO => self.default_reliability(given),
            n::PR_ASSOC_STATUS | n::PR_STREAM_STATUS => self.abandoned(name, given),
            n::RECONFIG_SUPPORTED => with_id(given, |id| Ok(self.settings_of(id)?.reconfiguration.into())),
            n::ENABLE_STREAM_RESET => with_id(given, |id| Ok(self.settings_of(id)?.enabled_resets)),
            n::SQINFO => self.send_queue(given),
            n::STREAM_SCHEDULER => with_id(given, |id| {
                let chosen = self.settings_of(id)?.scheduler;
                let at = SCHEDULERS.iter().position(|name| Some(*name) == chosen);
                Ok(u32::try_from(at.unwrap_or(ROUND_ROBIN)).unwrap_or(0))
            }),
            n::STREAM_SCHEDULER_VALUE => self.scheduler_value(given),
            n::INTERLEAVING_SUPPORTED => with_id(given, |id| Ok(self.settings_of(id)?.interleaving.into())),
            n::ECN_SUPPORTED => with_id(given, |id| Ok(self.settings_of(id)?.ecn.into())),
            _ => return None,
        })
    }

    pub(super) fn set_stream_option(self: &Arc<Self>, name: i32, value: &[u8]) -> Asked<()> {
        Some(match name {
            n::PR_SUPPORTED | n::RECONFIG_SUPPORTED | n::INTERLEAVING_SUPPORTED | n::ECN_SUPPORTED => {
                assoc_value(value).and_then(|(id, on)| {
                    self.set_future(id, |settings| {
                        // As on Linux: at level 0, no message may interrupt another (RFC 6458 §8.1.20).
                        if name == n::INTERLEAVING_SUPPORTED && on != 0 && settings.interleave == 0 {
                            return Err(Errno(libc::EPERM));
                        }
                        *match name {
                            n::PR_SUPPORTED => &mut settings.partial_reliability,
                            n::RECONFIG_SUPPORTED => &mut settings.reconfiguration,
                            n::INTERLEAVING_SUPPORTED => &mut settings.interleaving,
                            _ => &mut settings.ecn,
                        } = on != 0;
                        Ok(())
                    })
                })
            }
            n::DEFAULT_PRINFO => self.set_default_reliability(value),
            n::ENABLE_STREAM_RESET => assoc_value(value).and_then(|(id, flags)| {
                if flags > 7 {
                    return Err(Errno(libc::EINVAL));
                }
                self.set_each(id, |settings| {
                    settings.enabled_resets = flags;
                    Ok(())
                })
            }),
            n::RESET_STREAMS => self.reset_streams(value),
            n::RESET_ASSOC => Fields::new(value)
                .i32()
                .and_then(|id| self.reconfigure(id, reset::ASSOCIATION, Reconfiguration::ResetAssociation)),
            n::ADD_STREAMS => self.add_streams(value),
            n::STREAM_SCHEDULER => assoc_value(value).and_then(|(id, at)| {
                let name = SCHEDULERS.get(at as usize).ok_or(Errno(libc::EINVAL))?;
                self.set_parameters(id, |settings| {
                    settings.scheduler = Some(name);
                    Ok(())
                })
            }),
            n::STREAM_SCHEDULER_VALUE => self.set_scheduler_value(value),
            _ => return None,
        })
    }

    /// `struct sctp_sndqueueinfo` (draft-dreibholz-tsvwg-sctpsocket-sqinfo), with as many streams as the program has room for.
    fn send_queue(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        const HEAD: usize = 16;
        let room = given.len().checked_sub(HEAD).ok_or(Errno(libc::EINVAL))? / 4;
        let id = Fields::new(given).i32()?;
        let association = &self.member(id)?.association;
        let queue = association.send_queue();
        let bounded = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut queued = vec![0; room.min(association.streams().0.into())];
        for (stream, bytes) in queue.streams {
            if let Some(of_stream) = queued.get_mut(stream.index()) {
                *of_stream = bounded(bytes);
            }
        }
        let build = Build::new()
            .i32(id)
            .u32(bounded(queue.limit))
            .u32(bounded(queue.used));
        let build = build.u32(bounded(queued.len() as u64));
        Ok(queued.into_iter().fold(build, Build::u32).done())
    }

    /// `struct sctp_default_prinfo`.
    fn default_reliability(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let (policy, value) = self.settings_of(id)?.reliability;
        Ok(Build::new().i32(id).u32(value).u16(policy).pad(12).done())
    }

    fn set_default_reliability(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, number, policy) = (fields.i32()?, fields.u32()?, fields.u16()?);
        crate::layout::Info::default().set_policy(policy, number)?;
        self.set_each(id, |settings| {
            settings.reliability = (policy, if policy == 0 { 0 } else { number });
            Ok(())
        })
    }

    /// `struct sctp_prstatus`, of all policies: the core does not count by policy.
    fn abandoned(&self, name: i32, given: &[u8]) -> Result<Vec<u8>, Errno> {
        const ALL: u16 = 1 << 7;
        let mut fields = Fields::new(given);
        let (id, stream, policy) = (fields.i32()?, fields.u16()?, fields.u16()?);
        let association = &self.member(id)?.association;
        match policy {
            ALL => {}
            policy if policy & !crate::layout::PR_MASK == 0 && policy != 0 => {
                return Err(Errno(libc::ENOPROTOOPT));
            }
            _ => return Err(Errno(libc::EINVAL)),
        }
        let counted = if name != n::PR_STREAM_STATUS {
            association.abandoned()
        } else if stream < association.streams().0 {
            association.abandoned_on(StreamId(stream))
        } else {
            return Err(Errno(libc::EINVAL));
        };
        let build = Build::new().i32(id).u16(stream).u16(policy);
        Ok(build.u64(counted.unsent).u64(counted.sent).done())
    }

    fn reconfigure(&self, id: i32, needs: u32, change: Reconfiguration) -> Result<(), Errno> {
        let member = self.member(id)?;
        if crate::lock(&member.settings).enabled_resets & needs == 0 {
            return Err(Errno(libc::ENOPROTOOPT));
        }
        let asked = member.association.reconfigure(change);
        asked.map_err(Errno::of_reconfiguration)
    }

    /// `struct sctp_reset_streams`.
    fn reset_streams(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, flags, count) = (fields.i32()?, fields.u16()?, fields.u16()?);
        let mut streams = Vec::new();
        for _ in 0..count {
            streams.push(StreamId(fields.u16()?));
        }
        if flags & !(reset::INCOMING | reset::OUTGOING) != 0 || flags == 0 {
            return Err(Errno(libc::EINVAL));
        }
        if flags & reset::OUTGOING != 0 {
            let change = Reconfiguration::ResetOutbound(streams.clone());
            self.reconfigure(id, reset::STREAMS, change)?;
        }
        if flags & reset::INCOMING != 0 {
            self.reconfigure(id, reset::STREAMS, Reconfiguration::ResetInbound(streams))?;
        }
        Ok(())
    }

    /// `struct sctp_add_streams`.
    fn add_streams(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, inbound, outbound) = (fields.i32()?, fields.u16()?, fields.u16()?);
        if outbound != 0 {
            self.reconfigure(id, reset::ADD, Reconfiguration::AddOutbound(outbound))?;
        }
        if inbound != 0 {
            self.reconfigure(id, reset::ADD, Reconfiguration::AddInbound(inbound))?;
        }
        if (inbound, outbound) == (0, 0) {
            return Err(Errno(libc::EINVAL));
        }
        Ok(())
    }

    /// `struct sctp_stream_value`: a priority, or a weight of `wfq`.
    fn scheduler_value(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut fields = Fields::new(given);
        let (id, stream) = (fields.i32()?, fields.u16()?);
        let member = self.member(id)?;
        let is_weighted = crate::lock(&member.settings).scheduler == Some("wfq");
        let asked = member.association.stream_priority_and_weight(StreamId(stream));
        let (priority, weight) = asked.map_err(|error| Errno::of_send(&error))?;
        let number = if is_weighted { weight.get() } else { priority };
        Ok(Build::new().i32(id).u16(stream).u16(number).done())
    }

    /// `struct sctp_stream_value`, see above.
    fn set_scheduler_value(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, stream, number) = (fields.i32()?, StreamId(fields.u16()?), fields.u16()?);
        let set = |member: &Arc<Member>| {
            let scheduler = crate::lock(&member.settings).scheduler;
            let association = &member.association;
            match (scheduler, NonZeroU16::new(number)) {
                (Some("wfq"), Some(weight)) => association.set_stream_weight(stream, weight),
                _ => association.set_stream_priority(stream, number),
            }
        };
        let members = self.present(id)?;
        if members.is_empty() {
            return Err(Errno(libc::EINVAL));
        }
        for member in &members {
            set(member).map_err(|error| Errno::of_send(&error))?;
        }
        Ok(())
    }
}
