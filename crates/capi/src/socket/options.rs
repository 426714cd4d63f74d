//! Socket options (RFC 6458 §8), by their numbers on Linux. Others fail with `ENOPROTOOPT`.

use std::time::Duration;

use anabranch::AssociationConfig;

use super::{Connection, Socket};
use crate::errno::Errno;
use crate::layout::{ASSOC_ID, EVENTS, Info, SN_TYPE_BASE, u16_at, u32_at};
use crate::{address, lock};

const SCTP: i32 = libc::IPPROTO_SCTP;
const RTOINFO: i32 = 0;
const INITMSG: i32 = 2;
const NODELAY: i32 = 3;
const DISABLE_FRAGMENTS: i32 = 8;
const DEFAULT_SEND_PARAM: i32 = 10;
const SUBSCRIBE: i32 = 11;
const MAPPED_V4: i32 = 12;
const MAXSEG: i32 = 13;
const STATUS: i32 = 14;
const RECVRCVINFO: i32 = 32;
const DEFAULT_SNDINFO: i32 = 34;
const EVENT: i32 = 127;

/// `SCTP_ACTIVE` of `spinfo_state`.
const ACTIVE: u32 = 2;
/// Bytes of a packet before the data of its one chunk: IPv4, UDP, the common header and DATA.
const HEADERS: u16 = 20 + 8 + 12 + 16;

/// The answer to `getsockopt` or `setsockopt`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The value, empty after `setsockopt`.
    Value(Vec<u8>),
    /// The kernel's answer for the socket pair is right.
    Kernel,
}

/// Options of a socket, which accepted sockets inherit.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) only_v6: bool,
    /// `l_onoff` and `l_linger`.
    pub(crate) linger: (u32, u32),
    /// `struct sctp_initmsg`.
    init: [u16; 4],
    nodelay: u32,
    maxseg: u32,
    mapped_v4: u32,
    events: [u8; EVENTS],
    pub(crate) receives_rcvinfo: bool,
    pub(crate) send: Info,
    send_buffer: u32,
    receive_buffer: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            only_v6: false,
            linger: (0, 0),
            init: [10, u16::MAX, 8, 60_000],
            nodelay: 0,
            maxseg: 0,
            mapped_v4: 1,
            events: [0; EVENTS],
            receives_rcvinfo: false,
            send: Info::default(),
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
        }
    }
}

impl Settings {
    /// Whether the program wants notifications of this type.
    pub(crate) fn subscribes(&self, kind: u16) -> bool {
        self.events[usize::from(kind - SN_TYPE_BASE)] != 0
    }

    /// Whether received messages come with `struct sctp_sndrcvinfo`.
    pub(crate) const fn receives_sndrcvinfo(&self) -> bool {
        self.events[0] != 0
    }

    pub(crate) fn association_config(&self) -> AssociationConfig {
        let [outbound, inbound, attempts, _] = self.init;
        AssociationConfig {
            outbound_streams: outbound,
            max_inbound_streams: inbound,
            max_init_retransmits: attempts,
            send_buffer: self.send_buffer.into(),
            receive_buffer: self.receive_buffer.into(),
            partial_reliability: true,
            ..AssociationConfig::default()
        }
    }
}

impl Socket {
    /// `getsockopt`.
    pub(crate) fn option(&self, level: i32, name: i32, given: &[u8]) -> Result<Answer, Errno> {
        let settings = lock(&self.settings).clone();
        let number = |value: u32| value.to_ne_bytes().to_vec();
        let with_id = |value: u32| [ASSOC_ID.to_ne_bytes(), value.to_ne_bytes()].concat();
        let value = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => {
                number(self.take_error().map_or(0, |error| error.0.cast_unsigned()))
            }
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => {
                number((if self.is_v6 { libc::AF_INET6 } else { libc::AF_INET }).cast_unsigned())
            }
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => number(SCTP.cast_unsigned()),
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => number(self.is_listening().into()),
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => number(settings.send_buffer),
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => number(settings.receive_buffer),
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                [settings.linger.0.to_ne_bytes(), settings.linger.1.to_ne_bytes()].concat()
            }
            (libc::SOL_SOCKET, _) => return Ok(Answer::Kernel),
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) if self.is_v6 => number(settings.only_v6.into()),
            (SCTP, INITMSG) => settings.init.map(u16::to_ne_bytes).concat(),
            (SCTP, NODELAY) => number(settings.nodelay),
            (SCTP, DISABLE_FRAGMENTS) => number(0),
            (SCTP, MAPPED_V4) => number(settings.mapped_v4),
            (SCTP, MAXSEG) if given.len() >= 8 => with_id(settings.maxseg),
            (SCTP, MAXSEG) => number(settings.maxseg),
            (SCTP, SUBSCRIBE) => settings.events[..given.len().min(EVENTS)].to_vec(),
            (SCTP, EVENT) => {
                let kind = u16_at(given, 4).ok_or(Errno(libc::EINVAL))?;
                let at = event_index(kind)?;
                [&given[..6], &[settings.events[at], 0]].concat()
            }
            (SCTP, RECVRCVINFO) => number(settings.receives_rcvinfo.into()),
            (SCTP, DEFAULT_SEND_PARAM) => settings.send.sndrcv(),
            (SCTP, DEFAULT_SNDINFO) => settings.send.snd(),
            (SCTP, RTOINFO) => {
                let rto = settings.association_config().rto();
                let times = [rto.initial, rto.max, rto.min].map(milliseconds);
                [
                    number(ASSOC_ID.cast_unsigned()),
                    times.map(u32::to_ne_bytes).concat(),
                ]
                .concat()
            }
            (SCTP, STATUS) => self
                .connection()
                .map_err(|_| Errno(libc::EINVAL))?
                .status(self.is_v6),
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        };
        Ok(Answer::Value(value))
    }

    /// `setsockopt`.
    pub(crate) fn set_option(&self, level: i32, name: i32, value: &[u8]) -> Result<Answer, Errno> {
        let short = Errno(libc::EINVAL);
        let number = u32_at(value, 0).ok_or(short);
        let mut settings = lock(&self.settings);
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                settings.linger = (number?, u32_at(value, 4).ok_or(short)?);
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF | libc::SO_RCVBUF) => {
                let size = number?.clamp(8 << 10, 512 << 20).saturating_mul(2);
                let connection = self.connection.get();
                if name == libc::SO_SNDBUF {
                    settings.send_buffer = size;
                    connection.map(|connection| connection.association.set_send_buffer(size.into()));
                } else {
                    settings.receive_buffer = size;
                    // A buffer smaller than the largest message stays as it is.
                    connection.map(|connection| connection.association.set_receive_buffer(size.into()));
                }
            }
            (libc::SOL_SOCKET, _) => return Ok(Answer::Kernel),
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) if self.is_v6 => settings.only_v6 = number? != 0,
            (SCTP, INITMSG) => {
                for (at, field) in settings.init.iter_mut().enumerate() {
                    // 0 leaves a field as it is.
                    *field = Some(u16_at(value, 2 * at).ok_or(short)?)
                        .filter(|new| *new != 0)
                        .unwrap_or(*field);
                }
            }
            (SCTP, NODELAY) => settings.nodelay = number?,
            (SCTP, MAPPED_V4) => settings.mapped_v4 = number?,
            (SCTP, DISABLE_FRAGMENTS) if number? == 0 => {}
            (SCTP, MAXSEG) => {
                settings.maxseg = if value.len() >= 8 {
                    u32_at(value, 4).ok_or(short)?
                } else {
                    number?
                }
            }
            (SCTP, SUBSCRIBE) if value.len() <= EVENTS => {
                settings.events[..value.len()].copy_from_slice(value);
            }
            (SCTP, EVENT) => {
                let at = event_index(u16_at(value, 4).ok_or(short)?)?;
                settings.events[at] = *value.get(6).ok_or(short)?;
            }
            (SCTP, RECVRCVINFO) => settings.receives_rcvinfo = number? != 0,
            (SCTP, DEFAULT_SEND_PARAM) => settings.send = Info::of_sndrcv(value).ok_or(short)?,
            (SCTP, DEFAULT_SNDINFO) => settings.send = Info::of_snd(value).ok_or(short)?,
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        Ok(Answer::Value(Vec::new()))
    }
}

/// The index of a type of notifications in `sctp_event_subscribe`.
fn event_index(kind: u16) -> Result<usize, Errno> {
    let index = kind.checked_sub(SN_TYPE_BASE).map(usize::from);
    index.filter(|index| *index < EVENTS).ok_or(Errno(libc::EINVAL))
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

impl Connection {
    /// `struct sctp_status`.
    fn status(&self, is_v6: bool) -> Vec<u8> {
        let statistics = self.association.statistics();
        let (outbound, inbound) = self.association.streams();
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
        let id = ASSOC_ID.cast_unsigned();
        let mut bytes = [id, state, window].map(u32::to_ne_bytes).concat();
        bytes.extend([0, 0, inbound, outbound].map(u16::to_ne_bytes).concat());
        let primary = statistics.paths.iter().find(|path| path.primary);
        let mtu = primary.map_or(0, |path| path.mtu);
        bytes.extend(u32::from(mtu.saturating_sub(HEADERS)).to_ne_bytes());
        bytes.extend(id.to_ne_bytes());
        let mut storage = address::write(self.peer, is_v6);
        storage.resize(128, 0);
        bytes.extend(storage);
        let cwnd = primary.map_or(0, |path| u32::try_from(path.cwnd).unwrap_or(u32::MAX));
        let srtt = primary.and_then(|path| path.srtt).map_or(0, milliseconds);
        let rto = primary.map_or(0, |path| milliseconds(path.rto));
        bytes.extend(
            [ACTIVE, cwnd, srtt, rto, mtu.into()]
                .map(u32::to_ne_bytes)
                .concat(),
        );
        bytes
    }
}
