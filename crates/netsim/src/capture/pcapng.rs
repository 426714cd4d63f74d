//! Writer of pcapng files: a section header, a block per interface, a block per packet.
//!
//! Format: draft-ietf-opsawg-pcapng. Blocks are little-endian and padded to four bytes; each carries its length at
//! both ends. Packets are raw IP (link type 101), without a link-layer header.

use std::io::{self, Write};

use anabranch_types::Instant;

use super::ip;
use crate::Datagram;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const LINKTYPE_RAW: u16 = 101;

const OPTION_END: u16 = 0;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_TIMESTAMP_RESOLUTION: u16 = 9;
const OPTION_PACKET_FLAGS: u16 = 2;

/// Timestamps count units of 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Number of an interface in one pcapng file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterfaceId(u32);

/// Direction of a packet at the interface. The values are those of the packet flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Not known.
    Unknown = 0,
    /// Received.
    In = 1,
    /// Sent.
    Out = 2,
}

/// Writer of a pcapng file. Its timestamps have the epoch of [`Instant`].
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    sink: W,
    interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header. Each packet is one write to the sink, so wrap a file in a [`std::io::BufWriter`].
    ///
    /// # Errors
    ///
    /// I/O errors of the sink.
    pub fn new(sink: W) -> io::Result<Self> {
        const VERSION: [u16; 2] = [1, 0];
        const LENGTH_UNKNOWN: u64 = u64::MAX;
        let mut writer = Self {
            sink,
            interfaces: 0,
            block: Vec::with_capacity(2_048),
        };
        writer.write_block(SECTION_HEADER, |block| {
            block.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
            VERSION
                .iter()
                .for_each(|part| block.extend_from_slice(&part.to_le_bytes()));
            block.extend_from_slice(&LENGTH_UNKNOWN.to_le_bytes());
        })?;
        Ok(writer)
    }

    /// Adds an interface, at any time.
    ///
    /// # Errors
    ///
    /// I/O errors of the sink.
    pub fn add_interface(&mut self, name: &str) -> io::Result<InterfaceId> {
        const NO_SNAP_LENGTH: u32 = 0;
        self.write_block(INTERFACE_DESCRIPTION, |block| {
            block.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
            block.extend_from_slice(&[0; 2]);
            block.extend_from_slice(&NO_SNAP_LENGTH.to_le_bytes());
            append_option(block, OPTION_INTERFACE_NAME, name.as_bytes());
            append_option(block, OPTION_TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
            append_option(block, OPTION_END, &[]);
        })?;
        let id = InterfaceId(self.interfaces);
        self.interfaces += 1;
        Ok(id)
    }

    /// Writes a datagram with the IP and UDP headers that its path implies.
    ///
    /// # Errors
    ///
    /// I/O errors of the sink.
    pub fn write(
        &mut self,
        at: Instant,
        interface: InterfaceId,
        direction: Direction,
        datagram: &Datagram,
    ) -> io::Result<()> {
        let nanos = at.as_nanos();
        let length = datagram.ip_bytes().to_le_bytes();
        self.write_block(ENHANCED_PACKET, |block| {
            block.extend_from_slice(&interface.0.to_le_bytes());
            block.extend_from_slice(&((nanos >> 32) as u32).to_le_bytes());
            block.extend_from_slice(&(nanos as u32).to_le_bytes());
            block.extend_from_slice(&length);
            block.extend_from_slice(&length);
            ip::append(datagram, block);
            pad(block);
            append_option(block, OPTION_PACKET_FLAGS, &(direction as u32).to_le_bytes());
            append_option(block, OPTION_END, &[]);
        })
    }

    /// Flushes the sink.
    ///
    /// # Errors
    ///
    /// I/O errors of the sink.
    pub fn finish(mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn write_block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let block = &mut self.block;
        block.clear();
        block.extend_from_slice(&kind.to_le_bytes());
        block.extend_from_slice(&[0; 4]);
        body(block);
        let length = (block.len() as u32 + 4).to_le_bytes();
        block.extend_from_slice(&length);
        block[4..8].copy_from_slice(&length);
        self.sink.write_all(block)
    }
}

fn append_option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend_from_slice(&code.to_le_bytes());
    block.extend_from_slice(&(value.len() as u16).to_le_bytes());
    block.extend_from_slice(value);
    pad(block);
}

/// Pads to a multiple of four bytes, as every field of a block requires.
fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests;
