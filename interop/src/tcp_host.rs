//! Our TCP endpoint opposite the kernel's, behind links of the simulator in real time.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant as Wall};

use anabranch_netsim::capture::append_ip_packet;
use anabranch_netsim::{Datagram, Link, LinkConfig, Protocol};
use anabranch_tcp::{AddressPair, ConnectionId, Endpoint, Event};
use anabranch_types::{Ecn, Instant, PathAddr, Seed};

use crate::kernel::Device;

/// Maximum time between two calls of the application.
const TICK: Duration = Duration::from_millis(1);

/// Our TCP endpoint with a clock and the devices to the kernel.
#[derive(Debug)]
pub struct TcpHost {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Its events, in order.
    pub events: Vec<(ConnectionId, Event)>,
    start: Wall,
    devices: Vec<ShapedDevice>,
}

/// A device with a simulated link in each direction.
#[derive(Debug)]
struct ShapedDevice {
    socket: UnixDatagram,
    ours: Ipv4Addr,
    there: Link<Vec<u8>>,
    back: Link<Vec<u8>>,
}

impl TcpHost {
    /// Creates an endpoint at the end of `devices`, each behind `link` in both directions.
    ///
    /// # Errors
    ///
    /// Those of the sockets.
    pub fn new(devices: &[Device], link: &LinkConfig, seed: Seed) -> io::Result<Self> {
        let shaped = devices.iter().zip(0..).map(|(device, number)| {
            device.socket.set_nonblocking(true)?;
            let seed = seed.nth(number);
            Ok(ShapedDevice {
                socket: device.socket.try_clone()?,
                ours: device.ours,
                there: Link::new(link.clone(), seed.split("there")),
                back: Link::new(link.clone(), seed.split("back")),
            })
        });
        Ok(Self {
            endpoint: Endpoint::new(seed),
            events: Vec::new(),
            start: Wall::now(),
            devices: shaped.collect::<io::Result<_>>()?,
        })
    }

    /// Now, as the endpoint sees it.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.start.elapsed()
    }

    /// Runs until `act`, the application, returns `true`, at most for `patience`. Returns whether it did.
    ///
    /// # Errors
    ///
    /// Those of the sockets.
    pub fn talk(&mut self, patience: Duration, mut act: impl FnMut(&mut Self) -> bool) -> io::Result<bool> {
        let end = Wall::now() + patience;
        while Wall::now() < end {
            let done = act(self);
            let now = self.now();
            self.hear(now)?;
            if self
                .endpoint
                .poll_timeout()
                .is_some_and(|deadline| deadline <= now)
            {
                self.endpoint.handle_timeout(now);
            }
            self.events
                .extend(std::iter::from_fn(|| self.endpoint.poll_event()));
            self.say(now)?;
            if done {
                return Ok(true);
            }
            self.sleep();
        }
        Ok(false)
    }

    /// Moves packets from the devices into the links, and from the links to the endpoint.
    fn hear(&mut self, now: Instant) -> io::Result<()> {
        let mut packet = [0; 1 << 16];
        for device in &mut self.devices {
            loop {
                match device.socket.recv(&mut packet) {
                    Ok(length) => {
                        device.back.offer(now, packet[..length].to_vec(), length as u32);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            while device.back.deadline().is_some_and(|deadline| deadline <= now) {
                let Some(packet) = device.back.take_due(now) else {
                    continue;
                };
                if let Some((addresses, segment)) = segment(&packet) {
                    self.endpoint.handle_segment(now, addresses, segment);
                }
            }
        }
        Ok(())
    }

    /// Moves packets from the endpoint into the links, and from the links to the devices.
    fn say(&mut self, now: Instant) -> io::Result<()> {
        let mut segment = Vec::new();
        while let Some(addresses) = self.endpoint.poll_transmit(now, &mut segment) {
            let packet = packet(addresses, std::mem::take(&mut segment));
            if let Some(device) = self
                .devices
                .iter_mut()
                .find(|device| device.ours == addresses.source)
            {
                let length = packet.len() as u32;
                device.there.offer(now, packet, length);
            }
        }
        for device in &mut self.devices {
            while device.there.deadline().is_some_and(|deadline| deadline <= now) {
                let Some(packet) = device.there.take_due(now) else {
                    continue;
                };
                match device.socket.send(&packet) {
                    // A full socket counts as packet loss.
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Waits until the next deadline, at most one tick.
    fn sleep(&self) {
        let links = self
            .devices
            .iter()
            .flat_map(|device| [device.there.deadline(), device.back.deadline()]);
        let next = links.chain([self.endpoint.poll_timeout()]).flatten().min();
        let wait = next.map_or(TICK, |next| (next - self.now()).min(TICK));
        std::thread::sleep(wait.min(Duration::from_micros(300)));
    }
}

/// The TCP segment in an IPv4 packet.
fn segment(packet: &[u8]) -> Option<(AddressPair, &[u8])> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let is_tcp = packet[0] >> 4 == 4 && *packet.get(9)? == Protocol::TCP.0;
    let address = |at: usize| {
        let octets: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
        Some(IpAddr::V4(octets.into()))
    };
    let addresses = AddressPair {
        source: address(12)?,
        destination: address(16)?,
    };
    is_tcp.then_some((addresses, packet.get(header..)?))
}

fn packet(addresses: AddressPair, payload: Vec<u8>) -> Vec<u8> {
    let datagram = Datagram {
        path: PathAddr {
            local: SocketAddr::new(addresses.source, 0),
            remote: SocketAddr::new(addresses.destination, 0),
        },
        protocol: Protocol::TCP,
        ecn: Ecn::NotCapable,
        may_fragment: false,
        payload,
    };
    let mut packet = Vec::new();
    append_ip_packet(&datagram, &mut packet);
    packet
}
