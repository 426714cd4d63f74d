//! TUN device: the end of a path at a host. One for each path.
//!
//! Without virtio headers a TUN device offers the kernel no offloads, so packets come out as on a wire: at most the
//! MTU, with complete checksums. The host receives packets one by one.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tun_rs::{DeviceBuilder, SyncDevice};

/// Transmit queue of the device: so long that only links drop packets.
const QUEUE: u32 = 8_192;
/// Maximum length of an IP packet.
pub(super) const MAX_PACKET: usize = 65_535;

/// End of a path at a host.
pub(super) struct Device(SyncDevice);

impl Device {
    /// Creates the device in the namespace of the calling thread, without an address.
    pub(super) fn new(name: &str) -> io::Result<Self> {
        let builder = DeviceBuilder::new().name(name).enable(false);
        let device = builder
            .with(|options| {
                options
                    .packet_information(false)
                    .offload(false)
                    .tx_queue_len(QUEUE);
            })
            .build_sync()?;
        device.set_nonblocking(true)?;
        Ok(Self(device))
    }

    /// Returns the next packet that the host sent, if any.
    pub(super) fn take<'b>(&self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let length = self.0.recv(buffer).ok()?;
        buffer.get(..length)
    }

    /// Delivers a packet to the host; `false` if it was refused.
    pub(super) fn give(&self, packet: &[u8]) -> bool {
        self.0.send(packet).is_ok()
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {:?}", self.0.as_fd())
    }
}
