//! TUN device with offloads: the kernel passes up to 64 KiB of a TCP connection in one packet, and takes as much.
//!
//! A header before each packet says how it is to be segmented, and whether its checksum is still to be completed (`struct virtio_net_hdr`). Rewritten packets go
//! back with the header that they came with.

use std::fmt;
use std::io;
use std::os::fd::AsFd as _;

use tokio::io::Interest;
use tokio::net::UdpSocket;
use tun_rs::{DeviceBuilder, ExpandBuffer, GROTable, SyncDevice, VIRTIO_NET_HDR_LEN, VirtioNetHdr};

/// The checksum is to be completed (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
const NEEDS_CHECKSUM: u8 = 1;

/// One segment (`VIRTIO_NET_HDR_GSO_NONE`).
const WHOLE: u8 = 0;

/// Packets that wait to be read. Programs wait before they fill it.
const QUEUE: u32 = 1_000;

/// Longest packet, with its header.
const LONGEST: usize = VIRTIO_NET_HDR_LEN + 65_535;

/// A TUN device, which vanishes with its routes when this is dropped, or the process ends in whatever way.
pub struct TunDevice {
    device: SyncDevice,
    /// A second descriptor of the device, of which tokio watches the readiness only.
    readiness: UdpSocket,
}

/// That packets wait, or that the device was deleted.
const READABLE: Interest = Interest::READABLE.add(Interest::ERROR);

/// A buffer for packets.
#[derive(Debug)]
pub(super) struct Buffer(Vec<u8>);

/// Packets that are given to the kernel together. Those of one flow that follow one another become one packet with many segments (GSO), which
/// the kernel handles once, and which takes little more room in a receive buffer than its data.
#[derive(Default)]
pub(super) struct Batch {
    packets: Vec<GsoPacket>,
    table: GROTable,
}

/// A packet with room for its header before it. Further segments may follow.
struct GsoPacket(Vec<u8>);

/// A packet in a buffer, and how the kernel has passed it.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) length: usize,
    /// The checksum of the transport is that of the pseudo-header alone.
    pub(super) is_partial: bool,
    /// It has many segments of this size, each of which was a datagram.
    pub(super) segment: Option<usize>,
}

impl TunDevice {
    /// Creates a device. It needs `CAP_NET_ADMIN`, and has no address and is down at first.
    ///
    /// # Errors
    ///
    /// The system refuses it, or has a device of this name already.
    pub fn create(name: &str) -> io::Result<Self> {
        let builder = DeviceBuilder::new().name(name).enable(false);
        let device = builder
            .with(|options| {
                options
                    .packet_information(false)
                    .offload(true)
                    .tx_queue_len(QUEUE);
            })
            .build_sync()?;
        device.set_nonblocking(true)?;
        let descriptor = device.as_fd().try_clone_to_owned()?;
        let readiness = UdpSocket::from_std(descriptor.into())?;
        Ok(Self { device, readiness })
    }

    /// Waits for a packet.
    pub(super) async fn read(&self, buffer: &mut Buffer) -> io::Result<Read> {
        let read = || self.device.recv(&mut buffer.0);
        let length = self.readiness.async_io(READABLE, read).await?;
        buffer.read(length)
    }

    /// The next packet, if there is one.
    pub(super) fn try_read(&self, buffer: &mut Buffer) -> io::Result<Read> {
        let length = self.device.recv(&mut buffer.0)?;
        buffer.read(length)
    }

    /// Gives a packet back to the kernel, with the header that it came with.
    pub(super) fn write_back(&self, buffer: &Buffer, length: usize) {
        if let Some(packet) = buffer.0.get(..VIRTIO_NET_HDR_LEN + length) {
            // What the kernel does not take is lost, as on any link.
            let _ = self.device.send(packet);
        }
    }

    /// Gives packets to the kernel, and leaves the batch empty.
    pub(super) fn write_batch(&self, batch: &mut Batch) {
        // What the kernel does not take is lost, as on any link.
        let _ = self
            .device
            .send_multiple(&mut batch.table, &mut batch.packets, VIRTIO_NET_HDR_LEN);
        batch.packets.clear();
    }

    /// Gives a packet to the kernel.
    pub(super) fn write(&self, packet: &[u8]) {
        let _ = self.device.send(&with_header(packet));
    }
}

impl Batch {
    pub(super) fn push(&mut self, packet: &[u8]) {
        self.packets.push(GsoPacket(with_header(packet)));
    }
}

/// A packet behind a header of one segment, whose checksum is complete.
fn with_header(packet: &[u8]) -> Vec<u8> {
    [&[0; VIRTIO_NET_HDR_LEN], packet].concat()
}

impl AsRef<[u8]> for GsoPacket {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for GsoPacket {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl ExpandBuffer for GsoPacket {
    /// How long it may become. It grows when it does.
    fn buf_capacity(&self) -> usize {
        LONGEST
    }

    fn buf_resize(&mut self, length: usize, value: u8) {
        self.0.resize(length, value);
    }

    fn buf_extend_from_slice(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch of {} packets", self.packets.len())
    }
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self(vec![0; LONGEST])
    }

    /// The packet that was read into it.
    pub(super) fn packet(&mut self, read: &Read) -> &mut [u8] {
        let end = VIRTIO_NET_HDR_LEN + read.length;
        self.0.get_mut(VIRTIO_NET_HDR_LEN..end).unwrap_or_default()
    }

    fn read(&mut self, length: usize) -> io::Result<Read> {
        let header = VirtioNetHdr::decode(&self.0)?;
        let is_partial = header.flags & NEEDS_CHECKSUM != 0;
        let is_whole = header.gso_type == WHOLE;
        // What else the kernel says of the packet is for readers alone.
        if let Some(flags) = self.0.first_mut() {
            *flags &= NEEDS_CHECKSUM;
        }
        Ok(Read {
            length: length.saturating_sub(VIRTIO_NET_HDR_LEN),
            is_partial,
            segment: (!is_whole && header.gso_size != 0).then(|| usize::from(header.gso_size)),
        })
    }
}

impl fmt::Debug for TunDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {:?}", self.device.as_fd())
    }
}
