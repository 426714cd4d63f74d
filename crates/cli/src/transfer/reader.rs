//! File reader. Where do the bytes to send come from? Files and pipes, read ahead by a thread that also computes the digests.
//!
//! The digest follows the data. The sender therefore reads a file only once, can send a pipe, and sends the first
//! byte immediately. The receiver loses no time, because it can verify the file only when all data have arrived.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::{Arc, mpsc as threads};
use std::thread;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use tokio::sync::mpsc;

use super::digest::{Digest, Hasher};
use super::error::SourceError;
use super::piece::{HEADER, PIECE, Piece};
use super::plan::{Plan, Source};

/// Number of pieces read ahead, enough to keep sending during a disk access.
const READ_AHEAD: usize = 32;

/// What a hole reads as.
static ZEROS: [u8; PIECE] = [0; PIECE];

/// A file to read, from an offset that the receiver has reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) file: u64,
    pub(super) from: u64,
}

/// Items from the reader thread: for each job pieces and holes, then its end.
#[derive(Debug)]
pub(super) enum Chunk {
    Piece(Vec<u8>),
    Hole { file: u64, range: Range<u64> },
    End { job: Job, size: u64, digest: Digest },
    Failed(SourceError),
}

/// The receiver of the chunks is gone.
struct Gone;

/// Why a file was not read to its end.
enum Unread {
    Gone,
    Failed(SourceError),
}

impl From<Gone> for Unread {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

impl From<SourceError> for Unread {
    fn from(error: SourceError) -> Self {
        Self::Failed(error)
    }
}

/// Starts reading. Uses a thread outside the runtime, because the program must be able to exit while a read from a
/// terminal or pipe blocks.
pub(super) fn start(plan: Arc<Plan>) -> (threads::Sender<Job>, mpsc::Receiver<Chunk>) {
    let (jobs, queue) = threads::channel::<Job>();
    let (chunks, receiver) = mpsc::channel(READ_AHEAD);
    thread::spawn(move || {
        for job in queue {
            let Some(planned) = usize::try_from(job.file)
                .ok()
                .and_then(|file| plan.entries.get(file))
            else {
                return;
            };
            let reading = Reading {
                job,
                hasher: Hasher::default(),
                offset: 0,
                chunks: &chunks,
            };
            let read = match &planned.source {
                Source::Path(path) => reading.file(path, planned.entry.size.unwrap_or(0)),
                Source::Opened(path, file) => reading.stream(path, &mut &**file),
                Source::Stdin => reading.stream(Path::new("standard input"), &mut io::stdin()),
                Source::Nothing => return,
            };
            match read {
                Ok(()) => {}
                Err(Unread::Gone) => return,
                Err(Unread::Failed(error)) => {
                    // An error means that the receiver of the channel was dropped.
                    let _ = chunks.blocking_send(Chunk::Failed(error));
                    return;
                }
            }
        }
    });
    (jobs, receiver)
}

/// A file that is being read.
struct Reading<'c> {
    job: Job,
    hasher: Hasher,
    offset: u64,
    chunks: &'c mpsc::Sender<Chunk>,
}

impl Reading<'_> {
    /// Reads exactly `size` bytes of a file.
    fn file(mut self, path: &Path, size: u64) -> Result<(), Unread> {
        let failed = |error| SourceError::of(path, error);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let is_sparse = metadata.blocks().saturating_mul(512) < size;
        while self.offset < size {
            let (is_hole, end) = match is_sparse {
                true => run_at(&file, self.offset, size).map_err(failed)?,
                false => (false, size),
            };
            match is_hole {
                true => self.hole(end)?,
                false => self.data(&file, path, end)?,
            }
        }
        self.end()
    }

    fn data(&mut self, file: &File, path: &Path, end: u64) -> Result<(), Unread> {
        while self.offset < end {
            // The receiver has what lies before this offset: it is only hashed.
            let has = self.job.from > self.offset;
            let limit = if has { self.job.from.min(end) } else { end };
            let wanted = (limit - self.offset).min(PIECE as u64) as usize;
            let mut buffer = Piece::begin(self.job.file, self.offset);
            buffer.resize(HEADER + wanted, 0);
            let read = file.read_exact_at(&mut buffer[HEADER..], self.offset);
            read.map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => SourceError::Shrunk(path.to_owned()),
                _ => SourceError::of(path, error),
            })?;
            self.hasher.update(&buffer[HEADER..]);
            self.offset += wanted as u64;
            if !has {
                self.put(Chunk::Piece(buffer))?;
            }
        }
        Ok(())
    }

    fn hole(&mut self, end: u64) -> Result<(), Unread> {
        let range = self.job.from.clamp(self.offset, end)..end;
        if !range.is_empty() {
            let file = self.job.file;
            self.put(Chunk::Hole { file, range })?;
        }
        while self.offset < end {
            let zeros = &ZEROS[..(end - self.offset).min(PIECE as u64) as usize];
            self.hasher.update(zeros);
            self.offset += zeros.len() as u64;
            if self.chunks.is_closed() {
                return Err(Unread::Gone);
            }
        }
        Ok(())
    }

    /// Reads to the end, as far as data are available each time, so that data are not delayed by a slow writer.
    fn stream(mut self, path: &Path, input: &mut impl Read) -> Result<(), Unread> {
        loop {
            let mut buffer = Piece::begin(self.job.file, self.offset);
            buffer.resize(HEADER + PIECE, 0);
            let read =
                read_once(input, &mut buffer[HEADER..]).map_err(|error| SourceError::of(path, error))?;
            if read == 0 {
                return self.end();
            }
            buffer.truncate(HEADER + read);
            self.hasher.update(&buffer[HEADER..]);
            self.offset += read as u64;
            self.put(Chunk::Piece(buffer))?;
        }
    }

    fn end(self) -> Result<(), Unread> {
        let (job, size, digest) = (self.job, self.offset, self.hasher.finish());
        Ok(put(self.chunks, Chunk::End { job, size, digest })?)
    }

    fn put(&self, chunk: Chunk) -> Result<(), Gone> {
        put(self.chunks, chunk)
    }
}

fn put(chunks: &mpsc::Sender<Chunk>, chunk: Chunk) -> Result<(), Gone> {
    chunks.blocking_send(chunk).map_err(|_| Gone)
}

/// Whether there is a hole at `offset`, and where it or the data there end.
fn run_at(file: &File, offset: u64, size: u64) -> io::Result<(bool, u64)> {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) if data > offset => Ok((true, data.min(size))),
        Ok(_) => {
            let hole = seek(file, SeekFrom::Hole(offset))?;
            // A file that grows or shrinks meanwhile must not stop the reader.
            Ok((false, hole.clamp(offset + 1, size)))
        }
        // There are no more data.
        Err(Errno::NXIO) => Ok((true, size)),
        // The file system does not know holes.
        Err(_) => Ok((false, size)),
    }
}

fn read_once(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests;
