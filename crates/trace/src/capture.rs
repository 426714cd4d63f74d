//! Which frames are in a file? Those of a pcap or pcapng capture, in the order of the file, as far as it can be read.

use std::io::Read;

use pcap_parser::{Block, InterfaceDescriptionBlock, Linktype, PcapBlockOwned, PcapError, create_reader};
use thiserror::Error;

/// More than the largest frame with its header that any tool writes.
const BUFFER: usize = 1 << 20;

/// The type of the block that begins a section of a pcapng file, the same in both orders of bytes.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Type, length and length: bytes of the shortest block of a pcapng file.
const LEAST_BLOCK: u32 = 12;

/// One captured frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Nanoseconds since the epoch of the capture.
    pub at: u64,
    /// What it begins with.
    pub link: Link,
    /// Its bytes, as far as they were captured.
    pub bytes: Vec<u8>,
}

/// What a frame begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Ip,
    /// The header of Linux' device "any", version 1.
    LinuxCooked,
    /// The same, version 2.
    LinuxCooked2,
    /// The four bytes of BSD's loopback.
    Loopback,
    /// Something else, by its number in the registry of link types.
    Other(i32),
}

impl Link {
    const fn of(linktype: Linktype) -> Self {
        match linktype {
            Linktype::ETHERNET => Self::Ethernet,
            Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) => Self::Ip,
            Linktype::LINUX_SLL => Self::LinuxCooked,
            Linktype::LINUX_SLL2 => Self::LinuxCooked2,
            Linktype::NULL | Linktype::LOOP => Self::Loopback,
            Linktype(other) => Self::Other(other),
        }
    }
}

/// What a file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Its whole frames.
    pub frames: Vec<Frame>,
    /// Why there are no more of them, where that is not the end of the file: whoever wrote it was killed, say, or still
    /// writes.
    pub broken: Option<CaptureError>,
}

/// Why a file is no capture, or not a whole one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CaptureError {
    /// It begins like neither format.
    #[error("this is no pcap or pcapng file")]
    NotACapture,
    /// It ends within a frame.
    #[error("the capture is cut off after frame {frames} (byte {offset})")]
    CutOff {
        /// Whole frames before.
        frames: usize,
        /// Where the whole ones end.
        offset: u64,
    },
    /// A block makes no sense.
    #[error("the capture is damaged behind frame {frames} (byte {offset}): {problem}")]
    Damaged {
        /// Whole frames before.
        frames: usize,
        /// Where the damage begins.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// The system refused to read on.
    #[error("cannot read on behind frame {frames}")]
    Unreadable {
        /// Whole frames before.
        frames: usize,
    },
}

/// The frames of a capture, up to the end or to the place from which on it cannot be read.
///
/// # Errors
///
/// [`CaptureError::NotACapture`]; the other errors stand in [`Capture::broken`], beside the frames before them.
pub fn frames(file: impl Read + Send) -> Result<Capture, CaptureError> {
    let mut reader = create_reader(BUFFER, file).map_err(|_| CaptureError::NotACapture)?;
    let mut place = Place::default();
    let mut frames = Vec::new();
    let broken = loop {
        if place.begins_too_short_a_block(reader.data()) {
            break Some(place.damaged("a block is too short for its own length", frames.len()));
        }
        match reader.next() {
            Ok((length, block)) => {
                frames.extend(place.frame(&block));
                place.offset += length as u64;
                reader.consume(length);
            }
            Err(PcapError::Eof) => break None,
            Err(PcapError::Incomplete(_)) => {
                if reader.refill().is_err() {
                    break Some(CaptureError::Unreadable { frames: frames.len() });
                }
            }
            Err(PcapError::HeaderNotRecognized) => return Err(CaptureError::NotACapture),
            Err(error) => break Some(place.broken(&error, frames.len())),
        }
    };
    Ok(Capture { frames, broken })
}

fn problem(error: &PcapError<&[u8]>) -> String {
    match error {
        PcapError::NomError(_, kind) | PcapError::OwnedNomError(_, kind) => {
            format!("unexpected content, {kind:?}")
        }
        PcapError::BufferTooSmall => "a block is longer than a megabyte".to_owned(),
        PcapError::Eof
        | PcapError::UnexpectedEof
        | PcapError::ReadError
        | PcapError::Incomplete(_)
        | PcapError::HeaderNotRecognized => error.to_string(),
    }
}

/// Which byte of a number comes first.
#[derive(Clone, Copy)]
enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    const fn read(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }
}

/// What earlier blocks said about later ones.
#[derive(Default)]
struct Place {
    offset: u64,
    /// Of numbers in the section of a pcapng file.
    order: Option<ByteOrder>,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Interface {
    link: Link,
    /// Of the timestamps, per second.
    resolution: u64,
    /// Seconds to add to them.
    offset: i64,
}

impl Place {
    /// What is wrong behind so many frames.
    fn broken(&self, error: &PcapError<&[u8]>, frames: usize) -> CaptureError {
        let offset = self.offset;
        match error {
            PcapError::UnexpectedEof => CaptureError::CutOff { frames, offset },
            error => self.damaged(problem(error), frames),
        }
    }

    fn damaged(&self, problem: impl Into<String>, frames: usize) -> CaptureError {
        CaptureError::Damaged {
            frames,
            offset: self.offset,
            problem: problem.into(),
        }
    }

    /// Every block of pcapng holds its type and, twice, its length. The parser takes that for granted in some of them.
    fn begins_too_short_a_block(&self, data: &[u8]) -> bool {
        let (Some(order), Some((kind, rest))) = (self.order, data.split_first_chunk::<4>()) else {
            return false;
        };
        // A section may have another order of bytes than the last one; of its header the parser thinks itself.
        let length = rest.first_chunk().filter(|_| *kind != SECTION_HEADER);
        length.is_some_and(|length| order.read(*length) < LEAST_BLOCK)
    }

    fn frame(&mut self, block: &PcapBlockOwned<'_>) -> Option<Frame> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() {
                    1_000_000_000
                } else {
                    1_000_000
                };
                self.interfaces = vec![Interface {
                    link: Link::of(header.network),
                    resolution,
                    offset: 0,
                }];
                None
            }
            PcapBlockOwned::Legacy(packet) => {
                let interface = self.interfaces.first()?;
                let fraction = u64::from(packet.ts_usec) * (1_000_000_000 / interface.resolution);
                Some(Frame {
                    at: u64::from(packet.ts_sec) * 1_000_000_000 + fraction,
                    link: interface.link,
                    bytes: packet.data.to_vec(),
                })
            }
            PcapBlockOwned::NG(block) => self.next_generation(block),
        }
    }

    fn next_generation(&mut self, block: &Block<'_>) -> Option<Frame> {
        match block {
            // Interfaces are numbered anew in each section.
            Block::SectionHeader(header) => {
                self.interfaces.clear();
                self.order = Some(match header.big_endian() {
                    true => ByteOrder::Big,
                    false => ByteOrder::Little,
                });
            }
            Block::InterfaceDescription(interface) => self.interfaces.push(describe(interface)),
            Block::EnhancedPacket(packet) => {
                let interface = *self.interfaces.get(packet.if_id as usize)?;
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let captured = packet.data.len().min(packet.caplen as usize);
                return Some(Frame {
                    at: interface.nanoseconds(units),
                    link: interface.link,
                    bytes: packet.data[..captured].to_vec(),
                });
            }
            Block::SimplePacket(packet) => {
                let interface = self.interfaces.first()?;
                let captured = packet.data.len().min(packet.origlen as usize);
                return Some(Frame {
                    at: 0,
                    link: interface.link,
                    bytes: packet.data[..captured].to_vec(),
                });
            }
            _ => {}
        }
        None
    }
}

impl Interface {
    fn nanoseconds(self, units: u64) -> u64 {
        let nanoseconds = u128::from(units) * 1_000_000_000 / u128::from(self.resolution.max(1));
        let shifted =
            i128::try_from(nanoseconds).unwrap_or(i128::MAX) + i128::from(self.offset) * 1_000_000_000;
        u64::try_from(shifted).unwrap_or(0)
    }
}

fn describe(interface: &InterfaceDescriptionBlock<'_>) -> Interface {
    Interface {
        link: Link::of(interface.linktype),
        resolution: interface.ts_resolution().unwrap_or(1_000_000),
        offset: interface.ts_offset(),
    }
}

#[cfg(test)]
mod tests;
