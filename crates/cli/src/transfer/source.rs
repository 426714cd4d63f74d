//! File reader. Where do the bytes to send come from? A file or a pipe, read ahead by a thread that also computes the digest.
//!
//! The digest follows the data. The sender therefore reads the file only once, can send a pipe, and sends the first
//! byte immediately. The receiver loses no time, because it can verify the file only when all data have arrived.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use tokio::sync::mpsc;

use super::digest::{Digest, Hasher};
use super::error::SourceError;
use super::piece::{PIECE, Piece};

/// Number of pieces read ahead, enough to keep sending during a disk access.
const READ_AHEAD: usize = 32;

/// A file or pipe to send.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    reader: Reader,
    /// Size in bytes, if known; exactly this many bytes are sent.
    size: Option<u64>,
}

#[derive(Debug)]
enum Reader {
    File(File),
    Stdin(io::Stdin),
}

/// Items from the reader thread: first the buffers of [`Piece`]s, then one result.
#[derive(Debug)]
pub(super) enum Chunk {
    Piece(Vec<u8>),
    End { size: u64, digest: Digest },
    Failed(SourceError),
}

impl Source {
    /// # Errors
    ///
    /// Fails if the file cannot be opened or is a directory.
    pub(crate) fn file(path: &Path) -> Result<Self, SourceError> {
        let failed = |error| SourceError::Read {
            path: path.to_owned(),
            error,
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        // Virtual files such as those in /proc report size zero but have content.
        let is_known = metadata.is_file() && (metadata.len() > 0 || is_empty(&file));
        let size = is_known.then_some(metadata.len());
        Ok(Self {
            path: path.to_owned(),
            reader: Reader::File(file),
            size,
        })
    }

    pub(crate) fn stdin() -> Self {
        Self {
            path: "standard input".into(),
            reader: Reader::Stdin(io::stdin()),
            size: None,
        }
    }

    /// Limits the source to its first `size` bytes.
    pub(crate) fn first(mut self, size: u64) -> Self {
        self.size = Some(self.size.map_or(size, |known| known.min(size)));
        self
    }

    pub(crate) const fn size(&self) -> Option<u64> {
        self.size
    }

    /// Starts reading. Uses a thread outside the runtime, because the program must be able to exit while a read from a
    /// terminal or pipe blocks.
    pub(super) fn start(self) -> mpsc::Receiver<Chunk> {
        let (chunks, receiver) = mpsc::channel(READ_AHEAD);
        thread::spawn(move || {
            let end = match self.read(&chunks) {
                Ok(Some((size, digest))) => Chunk::End { size, digest },
                Ok(None) => return,
                Err(error) => Chunk::Failed(error),
            };
            // An error means that the receiver of the channel was dropped.
            let _ = chunks.blocking_send(end);
        });
        receiver
    }

    /// Reads the source and returns its size and digest, or `None` if the channel is closed.
    fn read(mut self, chunks: &mpsc::Sender<Chunk>) -> Result<Option<(u64, Digest)>, SourceError> {
        let mut hasher = Hasher::default();
        let mut read = 0;
        loop {
            let wanted = self
                .size
                .map_or(PIECE as u64, |size| (size - read).min(PIECE as u64));
            let mut buffer = Piece::begin(read);
            let header = buffer.len();
            let filled = self.reader.fill(&mut buffer, wanted);
            let filled = filled.map_err(|error| SourceError::Read {
                path: self.path.clone(),
                error,
            })?;
            hasher.update(&buffer[header..]);
            read += filled;
            if filled > 0 && chunks.blocking_send(Chunk::Piece(buffer)).is_err() {
                return Ok(None);
            }
            match self.size {
                Some(size) if read == size => return Ok(Some((read, hasher.finish()))),
                Some(_) if filled < wanted => return Err(SourceError::Shrunk(self.path)),
                None if filled == 0 => return Ok(Some((read, hasher.finish()))),
                _ => {}
            }
        }
    }
}

impl Reader {
    /// Appends up to `wanted` bytes. A file is read up to `wanted` bytes or its end; a pipe only as far as data are
    /// available, so that data are not delayed by a slow writer.
    fn fill(&mut self, buffer: &mut Vec<u8>, wanted: u64) -> io::Result<u64> {
        match self {
            Self::File(file) => file.take(wanted).read_to_end(buffer).map(|read| read as u64),
            Self::Stdin(stdin) => {
                let start = buffer.len();
                buffer.resize(start + wanted as usize, 0);
                let read = read_once(stdin, &mut buffer[start..])?;
                buffer.truncate(start + read);
                Ok(read as u64)
            }
        }
    }
}

/// Whether the first read finds the end of the file.
fn is_empty(file: &File) -> bool {
    matches!(file.read_at(&mut [0], 0), Ok(0))
}

fn read_once(stdin: &mut io::Stdin, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stdin.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests;
