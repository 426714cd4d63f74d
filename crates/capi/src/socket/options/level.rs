//! Options of `SOL_SOCKET` and IPv6.

use super::{Answer, int};
use crate::errno::Errno;
use crate::layout::{Build, Fields};
use crate::lock;
use crate::socket::{Socket, Style};

impl Socket {
    pub(super) fn other_level(&self, level: i32, name: i32) -> Result<Answer, Errno> {
        let settings = lock(&self.settings).clone();
        let build = Build::new();
        let build = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => build.i32(self.take_error().map_or(0, |error| error.0)),
            (libc::SOL_SOCKET, libc::SO_TYPE) => build.i32(match self.style {
                Style::OneToOne => libc::SOCK_STREAM,
                Style::OneToMany => libc::SOCK_SEQPACKET,
            }),
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => {
                build.i32(if self.is_v6 { libc::AF_INET6 } else { libc::AF_INET })
            }
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => build.i32(libc::IPPROTO_SCTP),
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => build.u32(self.is_listening().into()),
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => build.u32(settings.send_buffer),
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => build.u32(settings.receive_buffer),
            (libc::SOL_SOCKET, libc::SO_LINGER) => build.u32(settings.linger.0).u32(settings.linger.1),
            (libc::SOL_SOCKET, _) => return Ok(Answer::Kernel),
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) if self.is_v6 => build.u32(settings.only_v6.into()),
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        };
        Ok(Answer::Value(build.done()))
    }

    pub(super) fn set_other_level(&self, level: i32, name: i32, value: &[u8]) -> Result<Answer, Errno> {
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let mut fields = Fields::new(value);
                let linger = (fields.u32()?, fields.u32()?);
                lock(&self.settings).linger = linger;
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF | libc::SO_RCVBUF) => {
                self.set_buffer(name == libc::SO_SNDBUF, int(value)?);
            }
            (libc::SOL_SOCKET, _) => return Ok(Answer::Kernel),
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) if self.is_v6 => {
                lock(&self.settings).only_v6 = int(value)? != 0;
            }
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        Ok(Answer::Value(Vec::new()))
    }

    /// Sets the size of a buffer, which each association has for itself. As on Linux, it is twice what the program asks for.
    fn set_buffer(&self, is_send: bool, bytes: u32) {
        let size = bytes.clamp(8 << 10, 512 << 20).saturating_mul(2);
        let mut settings = lock(&self.settings);
        if is_send {
            settings.send_buffer = size;
        } else {
            settings.receive_buffer = size;
        }
        drop(settings);
        for member in self.all_members() {
            // A buffer smaller than the largest message stays as it is.
            let _ = if is_send {
                member.association.set_send_buffer(u64::from(size))
            } else {
                member.association.set_receive_buffer(u64::from(size))
            };
        }
    }
}
