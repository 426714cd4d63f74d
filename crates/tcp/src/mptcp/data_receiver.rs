//! Receive buffer at data level, shared by all subflows.

use alloc::vec::Vec;
use core::ops::Range;

use bytes::Bytes;

use super::initial_dsn::InitialDsn;
use crate::TcpConfig;
use crate::buffer::Reassembly;
use crate::sequence::Position;
use crate::tcb::OwnWindow;
use crate::wire::{DataAck, Dsn, Kind, Mapping, NrSackForm, NrSacks, RelativeBlock};

/// Reassembly of the data.
#[derive(Debug)]
pub(super) struct DataReceiver {
    /// Known once the peer's key is known.
    pub(super) idsn: Option<InitialDsn>,
    row: Reassembly,
    pub(super) window: OwnWindow,
    /// Position of DATA_FIN, once it was received.
    end: Option<Position>,
    /// The peer sends 64-bit data sequence numbers, so we do too.
    long: bool,
    /// Duplicate bytes received.
    pub(super) duplicate_bytes: u64,
}

impl DataReceiver {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            idsn: None,
            row: Reassembly::new(1),
            window: OwnWindow::new(config.receive_buffer, config.window_scaling),
            end: None,
            long: false,
            duplicate_bytes: 0,
        }
    }

    /// Bytes that wait for a gap before them.
    pub(super) const fn out_of_order_bytes(&self) -> u64 {
        self.row.beyond_bytes()
    }

    /// Position of `number`.
    pub(super) fn place(&mut self, number: Dsn) -> Option<Position> {
        let position = self.idsn?.position(number, self.row.next());
        self.long |= matches!(number, Dsn::Long(_));
        position
    }

    /// The mapping of the first data, which is carried in MP_CAPABLE.
    pub(super) fn first(&self, length: u16, checksum: Option<u16>) -> Mapping {
        let number = self.idsn.map_or(0, |idsn| idsn.number(1));
        Mapping {
            dsn: Dsn::Long(number),
            ssn: 1,
            length,
            fin: false,
            checksum,
        }
    }

    /// Adds data; bytes that became readable are appended to `ready`. Data outside the advertised window is dropped.
    pub(super) fn take(&mut self, start: Position, mut bytes: Bytes, ready: &mut Vec<(u64, Bytes)>) {
        let limit = self.end.unwrap_or(Position::MAX).min(self.window.edge());
        bytes.truncate(limit.saturating_sub(start).min(bytes.len() as u64) as usize);
        let arrived = self.row.insert_shared(start, &bytes, ready);
        self.duplicate_bytes += bytes.len() as u64 - arrived.new;
    }

    /// Records DATA_FIN at `end`. Returns whether that is valid.
    pub(super) fn ends_at(&mut self, end: Position) -> bool {
        let can_be = match self.end {
            Some(told) => told == end,
            None => end >= self.row.next(),
        };
        if can_be {
            self.end = Some(end);
        }
        can_be
    }

    /// Whether everything has just become complete. DATA_FIN takes one data sequence number.
    pub(super) fn finish(&mut self) -> bool {
        let finished = self.end == Some(self.row.next());
        if finished {
            self.row.insert(self.row.next(), &[0], &mut Vec::new());
        }
        finished
    }

    /// Window field of a segment on a subflow with window scale `scale`.
    pub(super) fn field(&mut self, kind: Kind, unread: u64, segment: u64, scale: u8) -> u16 {
        self.window.set_scale(scale);
        match kind {
            Kind::Syn => self.window.initial_field(),
            _ => self.window.field(self.row.next(), unread, segment),
        }
    }

    /// Whether a window update is worth a segment.
    pub(super) fn has_window_to_tell(&self, unread: u64, segment: u64) -> bool {
        self.end.is_none() && self.window.is_worth_telling(self.row.next(), unread, segment)
    }

    /// The data acknowledgement to send.
    pub(super) fn ack(&self) -> Option<DataAck> {
        let number = self.idsn?.wire(self.row.next(), self.long);
        Some(DataAck::cumulative(number))
    }

    /// The NR-SACK blocks that can be reported, the latest arrival first.
    pub(super) fn nr_sacks(&self, form: NrSackForm, most: usize) -> NrSacks {
        let next = self.row.next();
        let relative = |block: Range<u64>| {
            let start = u32::try_from(block.start - next).ok()?;
            let end = u32::try_from(block.end - next).ok()?;
            RelativeBlock::new(start, end)
        };
        NrSacks::new(form, self.row.blocks().filter_map(relative).take(most))
    }

    pub(super) fn has_gaps(&self) -> bool {
        self.row.has_gaps()
    }
}
