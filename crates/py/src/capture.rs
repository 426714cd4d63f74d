//! Captures for Python. Which conversations are in a file, and which packets does each have?

use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anabranch_lab::results::Table as LabTable;
use anabranch_trace::conversation::{Direction, Row};
use anabranch_trace::{Conversation as Traced, KeyLog, Segments, conversations, frames};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::table::Table;

/// An SCTP association or TCP connection in a capture.
#[pyclass(frozen, module = "anabranch")]
pub(crate) struct Conversation(Traced);

/// Reads a capture.
///
/// Parameters
/// ----------
/// file : path-like
///     A pcap or pcapng file, such as ``tcpdump`` and ``anabranch lab run --capture`` write.
/// keys : path-like, optional
///     A file with the secrets of sealed datagrams, as ``SSLKEYLOGFILE`` names it.
///
/// Returns
/// -------
/// list of Conversation
///     In the order of their first packets. Of a truncated file, what stands before the end.
///
/// Raises
/// ------
/// OSError
///     A file cannot be read.
/// ValueError
///     A file is no capture, or has no keys.
#[pyfunction]
#[pyo3(signature = (file, *, keys=None))]
pub(crate) fn read_capture(
    py: Python<'_>,
    file: PathBuf,
    keys: Option<PathBuf>,
) -> PyResult<Vec<Conversation>> {
    py.detach(|| {
        let refused =
            |file: &Path, text: String| PyValueError::new_err(format!("{}: {text}", file.display()));
        let unread = |file: &Path, text: String| PyOSError::new_err(format!("{}: {text}", file.display()));
        let log = keys.map(|keys| {
            let text = std::fs::read_to_string(&keys).map_err(|error| unread(&keys, error.to_string()))?;
            KeyLog::parse(&text).map_err(|error| refused(&keys, error.to_string()))
        });
        let log = log.transpose()?;
        let opened = File::open(&file).map_err(|error| unread(&file, error.to_string()))?;
        let capture = frames(opened).map_err(|error| refused(&file, error.to_string()))?;
        let mut reader = log.map_or_else(Segments::default, Segments::opened_by);
        let read = |(number, frame)| reader.read(number, frame);
        let found = conversations((1..).zip(&capture.frames).filter_map(read).collect());
        Ok(found.into_iter().map(Conversation).collect())
    })
}

#[pymethods]
impl Conversation {
    /// ``SCTP`` or ``TCP``.
    #[getter]
    const fn protocol(&self) -> &'static str {
        self.0.protocol
    }

    /// Ports of the first packet: source and destination.
    #[getter]
    const fn ports(&self) -> (u16, u16) {
        self.0.ports
    }

    /// Addresses of each path: those of the sender of the first packet come first.
    #[getter]
    fn paths(&self) -> Vec<(String, String)> {
        let text = |(ours, theirs): &(IpAddr, IpAddr)| (ours.to_string(), theirs.to_string());
        self.0.paths.iter().map(text).collect()
    }

    /// One row for each packet.
    ///
    /// Columns: ``number`` in the capture; ``time`` in seconds since the first packet; ``direction``, ``forward`` or ``reverse``; ``path``;
    /// ``length`` in bytes of data; ``label``, what it is; ``first`` and ``last`` sequence number (TSN) that it carries;
    /// ``retransmission``, 1 if all of its data was sent before; ``acknowledges``, the sequence number before which everything is acknowledged, and
    /// ``gap_blocks``, the number of blocks above. Sequence numbers begin with the conversation and do not wrap.
    #[getter]
    fn packets(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::of(packets(&self.0.rows)))
    }

    /// Number of packets.
    fn __len__(&self) -> usize {
        self.0.rows.len()
    }

    fn __repr__(&self) -> String {
        let Traced {
            protocol,
            paths,
            rows,
            ..
        } = &self.0;
        let (packets, paths) = (rows.len(), paths.len());
        format!("<anabranch.Conversation: {protocol}, {packets} packets on {paths} paths>")
    }
}

fn packets(rows: &[Row]) -> LabTable {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut table = LabTable::default();
    table.whole("number", rows.iter().map(|row| whole(row.number as u64)));
    table.numbers("time", rows.iter().map(|row| row.at as f64 / 1e9));
    let direction = |row: &Row| match row.direction {
        Direction::Forward => "forward".to_owned(),
        Direction::Reverse => "reverse".to_owned(),
    };
    table.words("direction", rows.iter().map(direction));
    table.whole("path", rows.iter().map(|row| whole(row.path as u64)));
    table.whole("length", rows.iter().map(|row| whole(row.length as u64)));
    table.words("label", rows.iter().map(|row| row.label.clone()));
    let first = |row: &Row| row.carries.iter().map(|range| whole(range.start)).min();
    let last = |row: &Row| row.carries.iter().map(|range| whole(range.end) - 1).max();
    table.whole("first", rows.iter().map(first));
    table.whole("last", rows.iter().map(last));
    table.whole(
        "retransmission",
        rows.iter().map(|row| i64::from(row.retransmission)),
    );
    let acknowledged = |row: &Row| row.acknowledges.as_ref().map(|it| whole(it.before));
    let blocks = |row: &Row| row.acknowledges.as_ref().map(|it| whole(it.blocks.len() as u64));
    table.whole("acknowledges", rows.iter().map(acknowledged));
    table.whole("gap_blocks", rows.iter().map(blocks));
    table
}
