//! Socket options (RFC 6458 §8 and later standards), by their numbers on Linux. Others fail with `ENOPROTOOPT`.
//!
//! | file | options |
//! |---|---|
//! | `settings` | values that associations take over |
//! | `level` | of `SOL_SOCKET` and IPv6 |
//! | `association` | of associations as a whole |
//! | `paths` | of paths and addresses |
//! | `streams` | of streams and partial reliability |
//! | `keys` | of authentication |
//! | `encryption` | of encryption |
//! | `status` | read only |

mod association;
mod encryption;
mod keys;
mod level;
mod paths;
mod settings;
mod status;
mod streams;

use std::sync::{Arc, Mutex};

use anabranch::ProtocolParameters;

use super::{Member, Socket, Style};
use crate::errno::Errno;
use crate::layout::{ALL_ASSOC, Build, CURRENT_ASSOC, FUTURE_ASSOC, Fields};
use crate::lock;
pub(crate) use settings::{Init, Settings};

/// Bytes of a packet before the data of its one chunk: IPv4, UDP, the common header and DATA.
pub(super) const HEADERS: u16 = 20 + 8 + 12 + 16;

/// Numbers of options of `IPPROTO_SCTP`.
pub(crate) mod number {
    pub(crate) const RTOINFO: i32 = 0;
    pub(crate) const ASSOCINFO: i32 = 1;
    pub(crate) const INITMSG: i32 = 2;
    pub(crate) const NODELAY: i32 = 3;
    pub(crate) const AUTOCLOSE: i32 = 4;
    pub(crate) const SET_PEER_PRIMARY_ADDR: i32 = 5;
    pub(crate) const PRIMARY_ADDR: i32 = 6;
    pub(crate) const ADAPTATION_LAYER: i32 = 7;
    pub(crate) const DISABLE_FRAGMENTS: i32 = 8;
    pub(crate) const PEER_ADDR_PARAMS: i32 = 9;
    pub(crate) const DEFAULT_SEND_PARAM: i32 = 10;
    pub(crate) const EVENTS: i32 = 11;
    pub(crate) const MAPPED_V4: i32 = 12;
    pub(crate) const MAXSEG: i32 = 13;
    pub(crate) const STATUS: i32 = 14;
    pub(crate) const GET_PEER_ADDR_INFO: i32 = 15;
    pub(crate) const DELAYED_SACK: i32 = 16;
    pub(crate) const CONTEXT: i32 = 17;
    pub(crate) const FRAGMENT_INTERLEAVE: i32 = 18;
    pub(crate) const PARTIAL_DELIVERY_POINT: i32 = 19;
    pub(crate) const MAX_BURST: i32 = 20;
    pub(crate) const AUTH_CHUNK: i32 = 21;
    pub(crate) const HMAC_IDENT: i32 = 22;
    pub(crate) const AUTH_KEY: i32 = 23;
    pub(crate) const AUTH_ACTIVE_KEY: i32 = 24;
    pub(crate) const AUTH_DELETE_KEY: i32 = 25;
    pub(crate) const PEER_AUTH_CHUNKS: i32 = 26;
    pub(crate) const LOCAL_AUTH_CHUNKS: i32 = 27;
    pub(crate) const GET_ASSOC_NUMBER: i32 = 28;
    pub(crate) const GET_ASSOC_ID_LIST: i32 = 29;
    pub(crate) const AUTO_ASCONF: i32 = 30;
    pub(crate) const PEER_ADDR_THLDS: i32 = 31;
    pub(crate) const RECVRCVINFO: i32 = 32;
    pub(crate) const RECVNXTINFO: i32 = 33;
    pub(crate) const DEFAULT_SNDINFO: i32 = 34;
    pub(crate) const AUTH_DEACTIVATE_KEY: i32 = 35;
    pub(crate) const REUSE_PORT: i32 = 36;
    pub(crate) const PEER_ADDR_THLDS_V2: i32 = 37;
    pub(crate) const BINDX_ADD: i32 = 100;
    pub(crate) const BINDX_REM: i32 = 101;
    pub(crate) const PEELOFF: i32 = 102;
    pub(crate) const CONNECTX_OLD: i32 = 107;
    pub(crate) const GET_PEER_ADDRS: i32 = 108;
    pub(crate) const GET_LOCAL_ADDRS: i32 = 109;
    pub(crate) const CONNECTX: i32 = 110;
    pub(crate) const CONNECTX3: i32 = 111;
    pub(crate) const GET_ASSOC_STATS: i32 = 112;
    pub(crate) const PR_SUPPORTED: i32 = 113;
    pub(crate) const DEFAULT_PRINFO: i32 = 114;
    pub(crate) const PR_ASSOC_STATUS: i32 = 115;
    pub(crate) const PR_STREAM_STATUS: i32 = 116;
    pub(crate) const RECONFIG_SUPPORTED: i32 = 117;
    pub(crate) const ENABLE_STREAM_RESET: i32 = 118;
    pub(crate) const RESET_STREAMS: i32 = 119;
    pub(crate) const RESET_ASSOC: i32 = 120;
    pub(crate) const ADD_STREAMS: i32 = 121;
    pub(crate) const PEELOFF_FLAGS: i32 = 122;
    pub(crate) const STREAM_SCHEDULER: i32 = 123;
    pub(crate) const STREAM_SCHEDULER_VALUE: i32 = 124;
    pub(crate) const INTERLEAVING_SUPPORTED: i32 = 125;
    pub(crate) const EVENT: i32 = 127;
    pub(crate) const ASCONF_SUPPORTED: i32 = 128;
    pub(crate) const AUTH_SUPPORTED: i32 = 129;
    pub(crate) const ECN_SUPPORTED: i32 = 130;
    pub(crate) const EXPOSE_PF_STATE: i32 = 131;
    pub(crate) const REMOTE_UDP_ENCAPS_PORT: i32 = 132;
    /// Ours, beyond the numbers of Linux (`crates/capi/install/anabranch_sctp.h`).
    pub(crate) const ANABRANCH_POLICIES: i32 = 0x414e;
    pub(crate) const ANABRANCH_ENCRYPTION: i32 = 0x414f;
    pub(crate) const ANABRANCH_PEER_KEY: i32 = 0x4150;
    pub(crate) const SQINFO: i32 = 0x4151;
}

/// The answer to `getsockopt` or `setsockopt`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The value, empty after `setsockopt`.
    Value(Vec<u8>),
    /// The kernel's answer for the socket pair is right.
    Kernel,
}

/// What a file of this folder does with an option: the value, or nothing if the option is another one's.
type Asked<T> = Option<Result<T, Errno>>;

impl Socket {
    /// `getsockopt`. `given` is the structure of the program, which names the association.
    ///
    /// # Errors
    ///
    /// `ENOPROTOOPT` for unknown options, `EINVAL` for invalid values.
    pub(crate) fn option(&self, level: i32, name: i32, given: &[u8]) -> Result<Answer, Errno> {
        if level != libc::IPPROTO_SCTP {
            return self.other_level(level, name);
        }
        let asked = self
            .association_option(name, given)
            .or_else(|| self.path_option(name, given))
            .or_else(|| self.stream_option(name, given))
            .or_else(|| self.key_option(name, given))
            .or_else(|| self.encryption_option(name, given))
            .or_else(|| self.status_option(name, given));
        asked.unwrap_or(Err(Errno(libc::ENOPROTOOPT))).map(Answer::Value)
    }

    /// `setsockopt`.
    ///
    /// # Errors
    ///
    /// As [`option`](Self::option).
    pub(crate) fn set_option(self: &Arc<Self>, level: i32, name: i32, value: &[u8]) -> Result<Answer, Errno> {
        if level != libc::IPPROTO_SCTP {
            return self.set_other_level(level, name, value);
        }
        let asked = self
            .set_association_option(name, value)
            .or_else(|| self.set_path_option(name, value))
            .or_else(|| self.set_stream_option(name, value))
            .or_else(|| self.set_key_option(name, value))
            .or_else(|| self.set_encryption_option(name, value));
        asked.unwrap_or(Err(Errno(libc::ENOPROTOOPT)))?;
        if let Some(hub) = self.hub().filter(|hub| hub.is_listener(self)) {
            let config = lock(&self.settings).association_config();
            hub.reconfigure(self, config);
        }
        Ok(Answer::Value(Vec::new()))
    }

    /// The settings of the association that `id` names, or of the socket.
    pub(super) fn settings_of(&self, id: i32) -> Result<Settings, Errno> {
        let settings = match (self.style, id) {
            (Style::OneToOne, _) | (Style::OneToMany, FUTURE_ASSOC) => Arc::clone(&self.settings),
            (Style::OneToMany, _) => Arc::clone(&self.member(id)?.settings),
        };
        let settings = lock(&settings).clone();
        Ok(settings)
    }

    /// The associations that exist and that `id` names, if it may name some.
    fn present(&self, id: i32) -> Result<Vec<Arc<Member>>, Errno> {
        Ok(match (self.style, id) {
            (Style::OneToOne, _) => self.all_members(),
            (Style::OneToMany, FUTURE_ASSOC) => Vec::new(),
            (Style::OneToMany, CURRENT_ASSOC | ALL_ASSOC) => self.all_members(),
            (Style::OneToMany, _) => vec![self.member(id)?],
        })
    }

    /// Whether `id` names associations to come.
    const fn names_future(&self, id: i32) -> bool {
        matches!(self.style, Style::OneToOne) || matches!(id, FUTURE_ASSOC | ALL_ASSOC)
    }

    /// Changes settings that take effect at once, of all associations that `id` names.
    fn set_each(
        &self,
        id: i32,
        mut change: impl FnMut(&mut Settings) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let members = self.present(id)?;
        let mut all: Vec<&Arc<Mutex<Settings>>> = Vec::new();
        if self.names_future(id) {
            all.push(&self.settings);
        }
        if self.style == Style::OneToMany {
            all.extend(members.iter().map(|member| &member.settings));
        }
        for settings in all {
            change(&mut lock(settings))?;
        }
        members.iter().for_each(Member::watch);
        Ok(())
    }

    /// Changes protocol parameters, of associations that exist too.
    fn set_parameters(
        &self,
        id: i32,
        change: impl FnMut(&mut Settings) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        self.set_each(id, change)?;
        for member in self.present(id)? {
            let config = lock(&member.settings).association_config();
            let parameters = ProtocolParameters::of(&config);
            member.association.set_protocol_parameters(&parameters);
        }
        Ok(())
    }

    /// Changes settings that only associations to come take over.
    ///
    /// # Errors
    ///
    /// `ENOPROTOOPT` if there is an association that would have to change.
    fn set_future(
        &self,
        id: i32,
        change: impl FnOnce(&mut Settings) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if !self.present(id)?.is_empty() || !self.names_future(id) {
            return Err(Errno(libc::ENOPROTOOPT));
        }
        change(&mut lock(&self.settings))
    }
}

/// An `int` of the program.
fn int(value: &[u8]) -> Result<u32, Errno> {
    Fields::new(value).u32()
}

/// `struct sctp_assoc_value` of the program, or an `int` for the socket.
fn assoc_value(value: &[u8]) -> Result<(i32, u32), Errno> {
    let mut fields = Fields::new(value);
    if value.len() < 8 {
        return Ok((FUTURE_ASSOC, fields.u32()?));
    }
    Ok((fields.i32()?, fields.u32()?))
}

/// The answer for [`assoc_value`], of the length that the program gave.
fn with_id(given: &[u8], value: impl FnOnce(i32) -> Result<u32, Errno>) -> Result<Vec<u8>, Errno> {
    if given.len() < 8 {
        return Ok(value(FUTURE_ASSOC)?.to_ne_bytes().to_vec());
    }
    let id = Fields::new(given).i32()?;
    Ok(Build::new().i32(id).u32(value(id)?).done())
}
