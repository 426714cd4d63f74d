//! File reader. Where do the bytes to send come from? A file or a pipe, read ahead by a thread that also computes the digest.
//!
//! The digest is announced after the data, not before: so nothing is read twice, a pipe can be sent, and the
//! first byte leaves at once. It costs nothing, for the receiver judges when all has arrived in any case.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;

use tokio::sync::mpsc;

use super::digest::{Digest, Hasher};
use super::error::SourceError;
use super::piece::{PIECE, Piece};

/// Pieces read ahead: enough to fill the time in which the disk is asked for more.
const READ_AHEAD: usize = 32;

/// Something to send.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    reader: Reader,
    /// In bytes, if it is known: then exactly so many are sent.
    size: Option<u64>,
}

#[derive(Debug)]
enum Reader {
    File(File),
    Stdin(io::Stdin),
}

/// What the reading thread hands over, in this order: buffers of [`Piece`]s, then how it ended.
#[derive(Debug)]
pub(super) enum Chunk {
    Piece(Vec<u8>),
    End { size: u64, digest: Digest },
    Failed(SourceError),
}

impl Source {
    /// # Errors
    ///
    /// The file cannot be opened, or is a folder.
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
        // Files of the system, such as those in /proc, say zero and have something all the same.
        let size = Some(metadata.len()).filter(|size| metadata.is_file() && *size > 0);
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

    /// Only the first `size` bytes of it.
    pub(crate) fn first(mut self, size: u64) -> Self {
        self.size = Some(self.size.map_or(size, |known| known.min(size)));
        self
    }

    pub(crate) const fn size(&self) -> Option<u64> {
        self.size
    }

    /// Starts to read. A thread of its own, not one of the runtime's: the program must be able to end while a
    /// terminal or a pipe says nothing.
    pub(super) fn start(self) -> mpsc::Receiver<Chunk> {
        let (chunks, receiver) = mpsc::channel(READ_AHEAD);
        thread::spawn(move || {
            let end = match self.read(&chunks) {
                Ok(Some((size, digest))) => Chunk::End { size, digest },
                Ok(None) => return,
                Err(error) => Chunk::Failed(error),
            };
            // An error says that nobody wants to know.
            let _ = chunks.blocking_send(end);
        });
        receiver
    }

    /// Size and digest; `None` if nobody listens any more.
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
    /// Appends up to `wanted` bytes. A file gives all it has; a pipe what it has now, so that nothing waits for
    /// a slow writer.
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
