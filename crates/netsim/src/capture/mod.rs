//! Packet capture at hosts and links, as pcapng files.

mod ip;
mod pcapng;
mod shared_buffer;

use std::io;

use anabranch_types::Instant;
pub use pcapng::{Direction, InterfaceId, PcapngWriter};
pub use shared_buffer::SharedBuffer;

use crate::{Datagram, HostId, LinkId};

/// Appends the IP packet of `datagram` to `out`, with the IP and UDP headers that its path implies.
pub fn append_ip_packet(datagram: &Datagram, out: &mut Vec<u8>) {
    ip::append(datagram, out);
}

type Sink = Box<dyn io::Write + Send>;

/// The captures of a network.
#[derive(Default)]
pub(crate) struct Captures {
    hosts: Vec<HostCapture>,
    links: Vec<LinkCapture>,
    error: Option<io::Error>,
}

struct HostCapture {
    host: HostId,
    name: String,
    /// One interface for each address of the host, in order of first use.
    interfaces: Vec<(core::net::IpAddr, InterfaceId)>,
    writer: PcapngWriter<Sink>,
}

struct LinkCapture {
    link: LinkId,
    interface: InterfaceId,
    writer: PcapngWriter<Sink>,
}

impl Captures {
    pub(crate) fn of_host(&mut self, host: HostId, name: &str, sink: Sink) {
        let writer = PcapngWriter::new(sink);
        match writer {
            Ok(writer) => {
                self.hosts.push(HostCapture {
                    host,
                    name: name.to_owned(),
                    interfaces: Vec::new(),
                    writer,
                });
            }
            Err(error) => self.keep_error(error),
        }
    }

    pub(crate) fn of_link(&mut self, link: LinkId, name: &str, sink: Sink) {
        let opened = PcapngWriter::new(sink).and_then(|mut writer| {
            let interface = writer.add_interface(name)?;
            Ok(LinkCapture {
                link,
                interface,
                writer,
            })
        });
        match opened {
            Ok(capture) => self.links.push(capture),
            Err(error) => self.keep_error(error),
        }
    }

    #[inline]
    pub(crate) fn at_host(&mut self, now: Instant, host: HostId, direction: Direction, datagram: &Datagram) {
        let Self { hosts, error, .. } = self;
        if hosts.is_empty() {
            return;
        }
        hosts.retain_mut(|capture| {
            capture.host != host || still_open(error, capture.write(now, direction, datagram))
        });
    }

    #[inline]
    pub(crate) fn at_link(&mut self, now: Instant, link: LinkId, datagram: &Datagram) {
        let Self { links, error, .. } = self;
        if links.is_empty() {
            return;
        }
        links.retain_mut(
            |LinkCapture {
                 link: captured,
                 interface,
                 writer,
             }| {
                *captured != link
                    || still_open(error, writer.write(now, *interface, Direction::Unknown, datagram))
            },
        );
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let hosts = self.hosts.drain(..).map(|capture| capture.writer);
        let links = self.links.drain(..).map(|capture| capture.writer);
        let results: Vec<io::Result<()>> = hosts.chain(links).map(PcapngWriter::finish).collect();
        self.error.take().map_or(Ok(()), Err)?;
        results.into_iter().collect()
    }

    fn keep_error(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }
}

/// Keeps the first error; `true` if there was none.
fn still_open(first_error: &mut Option<io::Error>, written: io::Result<()>) -> bool {
    let Err(error) = written else {
        return true;
    };
    first_error.get_or_insert(error);
    false
}

impl HostCapture {
    fn write(&mut self, now: Instant, direction: Direction, datagram: &Datagram) -> io::Result<()> {
        let own = match direction {
            Direction::In => datagram.path.remote.ip(),
            Direction::Out | Direction::Unknown => datagram.path.local.ip(),
        };
        let interface = match self.interfaces.iter().find(|(address, _)| *address == own) {
            Some((_, interface)) => *interface,
            None => {
                let interface = self.writer.add_interface(&format!("{} {own}", self.name))?;
                self.interfaces.push((own, interface));
                interface
            }
        };
        self.writer.write(now, interface, direction, datagram)
    }
}
