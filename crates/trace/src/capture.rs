//! Reader of pcap and pcapng files. Which frames are in a capture, up to its end or first error?

use std::io::Read;

use pcap_parser::{Block, InterfaceDescriptionBlock, Linktype, PcapBlockOwned, PcapError, create_reader};
use thiserror::Error;

/// Larger than any frame with its header.
const BUFFER: usize = 1 << 20;

/// Type of a pcapng section header block, a palindrome: the same in both byte orders.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Bytes of the shortest pcapng block: type and two lengths.
const MIN_BLOCK: u32 = 12;

/// One captured frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Nanoseconds since the epoch of the capture.
    pub at: u64,
    /// Its link-layer header.
    pub link: Link,
    /// The captured bytes.
    pub bytes: Vec<u8>,
}

/// Link-layer header of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Ethernet.
    Ethernet,
    /// None: raw IP.
    Ip,
    /// Linux cooked capture (device "any"), version 1.
    LinuxCooked,
    /// Linux cooked capture, version 2.
    LinuxCooked2,
    /// BSD loopback, four bytes.
    Loopback,
    /// Any other link type, by its number.
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

/// Content of a capture file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Its complete frames.
    pub frames: Vec<Frame>,
    /// Why reading stopped before the end of the file, for example because the file is still being written.
    pub error: Option<CaptureError>,
}

/// Why a file is not a capture, or not a complete one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CaptureError {
    /// Neither pcap nor pcapng.
    #[error("this is no pcap or pcapng file")]
    NotACapture,
    /// The file ends within a frame.
    #[error("the capture is truncated after frame {frames} (byte {offset})")]
    Truncated {
        /// Whole frames before.
        frames: usize,
        /// Where the whole ones end.
        offset: u64,
    },
    /// A block is malformed.
    #[error("the capture is damaged behind frame {frames} (byte {offset}): {problem}")]
    Damaged {
        /// Whole frames before.
        frames: usize,
        /// Where the damage begins.
        offset: u64,
        /// Description of the problem.
        problem: String,
    },
    /// Reading the file failed.
    #[error("cannot read on behind frame {frames}")]
    Unreadable {
        /// Whole frames before.
        frames: usize,
    },
}

/// Reads the frames of a capture, up to its end or to the first error.
///
/// # Errors
///
/// [`CaptureError::NotACapture`]. Other errors are in [`Capture::error`], beside the frames before them.
pub fn frames(file: impl Read + Send) -> Result<Capture, CaptureError> {
    let mut reader = create_reader(BUFFER, file).map_err(|_| CaptureError::NotACapture)?;
    let mut state = ReaderState::default();
    let mut frames = Vec::new();
    let error = loop {
        if state.block_is_too_short(reader.data()) {
            break Some(state.damaged("a block is too short for its own length", frames.len()));
        }
        match reader.next() {
            Ok((length, block)) => {
                frames.extend(state.frame(&block));
                state.offset += length as u64;
                reader.consume(length);
            }
            Err(PcapError::Eof) => break None,
            Err(PcapError::Incomplete(_)) => {
                if reader.refill().is_err() {
                    break Some(CaptureError::Unreadable { frames: frames.len() });
                }
            }
            Err(PcapError::HeaderNotRecognized) => return Err(CaptureError::NotACapture),
            Err(error) => break Some(state.error(&error, frames.len())),
        }
    };
    Ok(Capture { frames, error })
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

/// Byte order of numbers.
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

/// State from earlier blocks that later blocks depend on.
#[derive(Default)]
struct ReaderState {
    offset: u64,
    /// Byte order of the current pcapng section.
    order: Option<ByteOrder>,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Interface {
    link: Link,
    /// Timestamp units per second.
    resolution: u64,
    /// Seconds to add to timestamps.
    offset: i64,
}

impl ReaderState {
    /// Converts an error of the parser after `frames` frames.
    fn error(&self, error: &PcapError<&[u8]>, frames: usize) -> CaptureError {
        let offset = self.offset;
        match error {
            PcapError::UnexpectedEof => CaptureError::Truncated { frames, offset },
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

    /// Whether the next pcapng block is shorter than its type and two lengths. The parser does not check this everywhere.
    fn block_is_too_short(&self, data: &[u8]) -> bool {
        let (Some(order), Some((kind, rest))) = (self.order, data.split_first_chunk::<4>()) else {
            return false;
        };
        // A section may change the byte order; the parser handles section headers itself.
        let length = rest.first_chunk().filter(|_| *kind != SECTION_HEADER);
        length.is_some_and(|length| order.read(*length) < MIN_BLOCK)
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
            // Interface numbers restart in each section.
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
