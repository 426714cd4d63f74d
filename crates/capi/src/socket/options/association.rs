//! Options of associations as a whole.

use std::sync::Arc;
use std::time::Duration;

use anabranch::ProtocolParameters;

use super::number as n;
use super::settings::{Init, SACK, milliseconds};
use super::{Asked, assoc_value, int, with_id};
use crate::dialect::Dialect;
use crate::errno::Errno;
use crate::layout::{Build, EVENTS, Fields, Info, SN_TYPE_BASE};
use crate::lock;
use crate::socket::{Settings, Socket, Style};

impl Socket {
    pub(super) fn association_option(&self, name: i32, given: &[u8]) -> Asked<Vec<u8>> {
        let settings = || lock(&self.settings).clone();
        let number = |value: u32| Ok(value.to_ne_bytes().to_vec());
        Some(match name {
            n::RTOINFO => self.with_settings(given, |id, settings| settings.rto_info(id)),
            n::ASSOCINFO => self.assoc_info(given),
            n::INITMSG => Ok(settings().init.bytes()),
            n::NODELAY => number(settings().nodelay),
            n::AUTOCLOSE if self.style == Style::OneToMany => number(settings().autoclose),
            n::AUTOCLOSE => Dialect::current().autoclose_of_one_to_one().0.and_then(number),
            n::ADAPTATION_LAYER => number(settings().adaptation.unwrap_or(0)),
            n::DISABLE_FRAGMENTS => number(settings().disable_fragments.into()),
            n::DEFAULT_SEND_PARAM => self.default_info(given, 28, |info| info.sndrcv()),
            n::DEFAULT_SNDINFO => self.default_info(given, 12, |info| info.snd()),
            n::EVENTS => Ok(settings().subscriptions(given.len())),
            n::EVENT => self.event(given),
            n::MAPPED_V4 => number(settings().mapped_v4),
            n::MAXSEG => with_id(given, |id| Ok(self.settings_of(id)?.maxseg)),
            n::MAX_BURST => with_id(given, |id| Ok(self.settings_of(id)?.max_burst())),
            n::DELAYED_SACK => self.delayed_sack(given),
            n::CONTEXT => with_id(given, |id| Ok(self.settings_of(id)?.context)),
            n::FRAGMENT_INTERLEAVE => number(settings().interleave),
            n::PARTIAL_DELIVERY_POINT => {
                let config = settings().association_config();
                number(u32::try_from(config.partial_delivery_point).unwrap_or(u32::MAX))
            }
            n::RECVRCVINFO => number(settings().receives_rcvinfo.into()),
            n::RECVNXTINFO => number(settings().receives_nxtinfo.into()),
            n::REUSE_PORT => number(0),
            n::ANABRANCH_POLICIES => policies(&settings(), given.len()),
            _ => return None,
        })
    }

    pub(super) fn set_association_option(self: &Arc<Self>, name: i32, value: &[u8]) -> Asked<()> {
        let everywhere = crate::layout::ALL_ASSOC;
        Some(match name {
            n::RTOINFO => self.set_parameters_of(value, |settings, fields| settings.set_rto(fields)),
            n::ASSOCINFO => self.set_assoc_info(value),
            n::INITMSG => Init::read(value).map(|init| lock(&self.settings).init.replace(init)),
            n::NODELAY => int(value).map(|number| lock(&self.settings).nodelay = u32::from(number != 0)),
            n::AUTOCLOSE if self.style == Style::OneToMany => {
                int(value).map(|seconds| lock(&self.settings).autoclose = seconds)
            }
            n::AUTOCLOSE => Err(Dialect::current().autoclose_of_one_to_one().1),
            n::ADAPTATION_LAYER => int(value).map(|code| lock(&self.settings).adaptation = Some(code)),
            n::DISABLE_FRAGMENTS => int(value).and_then(|number| {
                self.set_each(everywhere, |settings| {
                    settings.disable_fragments = number != 0;
                    Ok(())
                })
            }),
            n::DEFAULT_SEND_PARAM => Info::of_sndrcv(value).and_then(|info| self.set_default_info(info)),
            n::DEFAULT_SNDINFO => Info::of_snd(value).and_then(|info| self.set_default_info(info)),
            n::EVENTS => self.set_each(everywhere, |settings| settings.subscribe(value)),
            n::EVENT => self.set_event(value),
            n::MAPPED_V4 => int(value).map(|number| lock(&self.settings).mapped_v4 = u32::from(number != 0)),
            n::MAXSEG => assoc_value(value)
                .and_then(|(id, bytes)| self.set_parameters(id, |settings| settings.set_maxseg(bytes))),
            n::MAX_BURST => assoc_value(value).and_then(|(id, packets)| {
                self.set_parameters(id, |settings| settings.set_max_burst(packets))
            }),
            n::DELAYED_SACK => self.set_delayed_sack(value),
            n::CONTEXT => assoc_value(value).and_then(|(id, context)| {
                self.set_each(id, |settings| {
                    settings.context = context;
                    Ok(())
                })
            }),
            n::FRAGMENT_INTERLEAVE => self.set_interleave(value),
            n::PARTIAL_DELIVERY_POINT => int(value).and_then(|bytes| {
                self.set_parameters(everywhere, |settings| {
                    settings.partial_delivery_point = Some(bytes);
                    Ok(())
                })
            }),
            n::RECVRCVINFO | n::RECVNXTINFO => int(value).and_then(|number| {
                self.set_each(everywhere, |settings| {
                    match name {
                        n::RECVRCVINFO => settings.receives_rcvinfo = number != 0,
                        _ => settings.receives_nxtinfo = number != 0,
                    }
                    Ok(())
                })
            }),
            n::REUSE_PORT if int(value) == Ok(0) => Ok(()),
            n::ANABRANCH_POLICIES => self.set_policies(value),
            n::BINDX_ADD => crate::address::read_all(value).and_then(|all| self.bind(&all, true)),
            n::BINDX_REM => crate::address::read_all(value).and_then(|all| self.unbind(&all)),
            _ => return None,
        })
    }

    /// The answer for a structure that begins with an association, from its settings.
    fn with_settings(
        &self,
        given: &[u8],
        answer: impl FnOnce(i32, &Settings) -> Vec<u8>,
    ) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        Ok(answer(id, &self.settings_of(id)?))
    }

    /// Changes protocol parameters by a structure that begins with an association.
    fn set_parameters_of(
        &self,
        value: &[u8],
        change: impl Fn(&mut Settings, &mut Fields<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let id = Fields::new(value).i32()?;
        self.set_parameters(id, |settings| {
            let mut fields = Fields::new(value);
            fields.i32()?;
            change(settings, &mut fields)
        })
    }

    /// `struct sctp_assocparams`.
    fn assoc_info(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let settings = self.settings_of(id)?;
        let member = self.member(id).ok();
        let (paths, window) = member.map_or((0, 0), |member| {
            let window = member.association.statistics().peer_window;
            (member.peers().len(), window)
        });
        let build = Build::new().i32(id).u16(settings.max_retransmissions);
        let build = build.u16(u16::try_from(paths).unwrap_or(u16::MAX));
        let build = build
            .u32(u32::try_from(window).unwrap_or(u32::MAX))
            .u32(settings.receive_buffer);
        Ok(build.u32(milliseconds(settings.cookie_life)).done())
    }

    fn set_assoc_info(&self, value: &[u8]) -> Result<(), Errno> {
        self.set_parameters_of(value, |settings, fields| {
            let max_retransmissions = fields.u16()?;
            fields.bytes(10)?;
            let cookie_life = fields.u32()?;
            if max_retransmissions != 0 {
                settings.max_retransmissions = max_retransmissions;
            }
            if cookie_life != 0 {
                settings.cookie_life = Duration::from_millis(cookie_life.into());
            }
            Ok(())
        })
    }

    fn default_info(
        &self,
        given: &[u8],
        id_at: usize,
        answer: impl FnOnce(Info) -> Vec<u8>,
    ) -> Result<Vec<u8>, Errno> {
        let mut fields = Fields::new(given);
        fields.bytes(id_at)?;
        let assoc = fields.i32()?;
        let send = self.settings_of(assoc)?.send;
        Ok(answer(Info { assoc, ..send }))
    }

    fn set_default_info(&self, info: Info) -> Result<(), Errno> {
        self.set_each(info.assoc, |settings| {
            settings.send = Info { assoc: 0, ..info };
            Ok(())
        })
    }

    /// `struct sctp_event`.
    fn event(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut fields = Fields::new(given);
        let (id, kind) = (fields.i32()?, fields.u16()?);
        let is_on = self.settings_of(id)?.events[event_index(kind)?];
        Ok(Build::new().i32(id).u16(kind).u8(is_on).pad(8).done())
    }

    fn set_event(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, kind, is_on) = (fields.i32()?, fields.u16()?, fields.u8()?);
        let at = event_index(kind)?;
        self.set_each(id, |settings| {
            settings.events[at] = u8::from(is_on != 0);
            Ok(())
        })
    }

    /// `struct sctp_sack_info`, or its predecessor without the number of packets.
    fn delayed_sack(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let (delay, packets) = self.settings_of(id)?.sack.unwrap_or(SACK);
        let build = Build::new().i32(id).u32(delay);
        Ok(if given.len() < 12 {
            build
        } else {
            build.u32(packets)
        }
        .done())
    }

    fn set_delayed_sack(&self, value: &[u8]) -> Result<(), Errno> {
        self.set_parameters_of(value, |settings, fields| {
            let delay = fields.u32()?;
            let packets = fields.u32().unwrap_or(if delay == 0 { 1 } else { 0 });
            // RFC 9260 §6.2: 500 ms at most.
            if delay > 500 || packets > 1_000 {
                return Err(Errno(libc::EINVAL));
            }
            let before = settings.sack.unwrap_or(SACK);
            let or_before = |new, before| if new == 0 { before } else { new };
            settings.sack = Some((or_before(delay, before.0), or_before(packets, before.1)));
            Ok(())
        })
    }

    /// Text, up to the first zero. Associations that exist take over what is a protocol parameter; anything else is refused if there is one.
    fn set_policies(&self, value: &[u8]) -> Result<(), Errno> {
        let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = str::from_utf8(text).map_err(|_| Errno(libc::EINVAL))?;
        for member in self.all_members() {
            let settings = lock(&member.settings).clone();
            let mut changed = settings.clone();
            changed.set_policies(text)?;
            let parameters = ProtocolParameters::of(&changed.association_config());
            let (before, after) = (settings.association_config(), changed.association_config());
            if !parameters.explain(&before, &after) {
                return Err(Errno(libc::ENOPROTOOPT));
            }
        }
        self.set_parameters(crate::layout::ALL_ASSOC, |settings| settings.set_policies(text))
    }

    fn set_interleave(&self, value: &[u8]) -> Result<(), Errno> {
        let level = int(value)?;
        let mut settings = lock(&self.settings);
        // Level 2 needs I-DATA.
        if level > 2 || level == 2 && !settings.interleaving {
            return Err(Errno(libc::EINVAL));
        }
        settings.interleave = level;
        settings.interleaving &= level != 0;
        Ok(())
    }
}

/// The policies as text that ends with a zero.
fn policies(settings: &Settings, room: usize) -> Result<Vec<u8>, Errno> {
    let mut text = settings.policy_assignments().into_bytes();
    text.push(0);
    if text.len() > room {
        return Err(Errno(libc::EINVAL));
    }
    Ok(text)
}

/// The index of a type of notifications in `sctp_event_subscribe`.
fn event_index(kind: u16) -> Result<usize, Errno> {
    let index = kind.checked_sub(SN_TYPE_BASE).map(usize::from);
    index.filter(|index| *index < EVENTS).ok_or(Errno(libc::EINVAL))
}
