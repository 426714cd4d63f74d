//! Where do a host's packets come out, and others go in? At a TUN device, one for each path.
//!
//! A TUN device without the header of virtio offers the kernel no offload, so what comes out is what would be on a wire:
//! segments of at most the MTU, with finished checksums. What goes in is received packet by packet.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tun_rs::{DeviceBuilder, SyncDevice};

/// Packets that wait at most until the forwarder takes them: more than it ever misses, so that links alone drop any.
const QUEUE: u32 = 8_192;
/// The longest packet that there is.
pub(super) const LONGEST: usize = 65_535;

/// The end of a path at a host.
pub(super) struct Device(SyncDevice);

impl Device {
    /// Makes the device in the namespace of the calling thread, and without an address.
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

    /// The next packet that the host sent; `None` if there is none.
    pub(super) fn take<'b>(&self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let length = self.0.recv(buffer).ok()?;
        buffer.get(..length)
    }

    /// Lets the host receive a packet; `false` if it does not.
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
