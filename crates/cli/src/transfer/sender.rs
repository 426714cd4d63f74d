//! Sender. How are files sent? Announce the entries, send what the receiver wants of them, and wait for its verdict.
//!
//! Four tasks run at once: one announces, one listens, one sends, and one keeps the association alive.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc as threads};
use std::time::Duration;

use anabranch::Association;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::control::{Control, Heard, VERSION};
use super::digest::Digest;
use super::entry::Kind;
use super::error::{Lost, SendFailure, SourceError, Violation};
use super::liveness::{pulse, silence};
use super::pace::Pace;
use super::piece::{HEADER, Hole, Piece};
use super::plan::Plan;
use super::reader::{self, Chunk, Job};
use super::word::{Claim, Word};

/// How long the association may take to end after the verdict.
const FAREWELL: Duration = Duration::from_secs(5);

/// Number of entries that may be announced before the first of them is sent completely.
const WINDOW: usize = 1_024;

/// A transfer to send.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    pub(crate) plan: Arc<Plan>,
    /// How long the peer may be silent.
    pub(crate) patience: Duration,
    /// Limit of the rate.
    pub(crate) pace: Pace,
    /// What the receiver's user has told.
    pub(crate) word: Option<Word>,
}

/// Confirmation of the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub(crate) size: u64,
    pub(crate) files: u64,
    /// Digest of the only file.
    pub(crate) digest: Option<Digest>,
}

/// What users may want to know about a transfer.
#[derive(Debug)]
pub(crate) enum Note<'n> {
    /// The receiver knows the word.
    Proven,
    /// This many senders wait before this one.
    Waiting(u64),
    /// A file was sent from this offset on; it is not confirmed yet.
    Sent {
        path: &'n str,
        size: u64,
        from: u64,
        sha256: Digest,
    },
    /// What the receiver had of a file, up to this offset, was wrong: the file is sent again from its beginning.
    Damaged { path: &'n str, from: u64 },
    /// The receiver has the file from an earlier session.
    Known { path: &'n str, size: u64 },
    /// The receiver does not store an entry.
    Skipped { path: &'n str, reason: &'n str },
}

/// Sends the transfer over an association that has carried no other data. Call [`conclude_sending`] afterwards.
///
/// `handed_over` counts the bytes that the receiver has already and those passed to the association, including those in its send
/// buffer that are not yet acknowledged.
///
/// # Errors
///
/// See [`SendFailure`]. On an error, the receiver has not confirmed that everything is stored.
pub(crate) async fn send(
    association: &Association,
    sending: &Sending,
    handed_over: &AtomicU64,
    on_note: impl Fn(Note<'_>),
) -> Result<Receipt, SendFailure> {
    let session = Session {
        association,
        sending,
        handed_over,
        window: Semaphore::new(WINDOW),
        digest: Mutex::new(None),
    };
    tokio::select! {
        result = session.run(on_note) => result,
        lost = silence(association, sending.patience) => Err(lost.into()),
    }
}

/// Shuts the association down after success and aborts it after a failure.
pub(crate) async fn conclude_sending(association: &Association, result: &Result<Receipt, SendFailure>) {
    match result {
        // The receiver has already stored everything, so a failed shutdown is not an error.
        Ok(_) => drop(timeout(FAREWELL, association.shutdown()).await),
        Err(failure) => association.abort(&failure.told()),
    }
}

struct Session<'s> {
    association: &'s Association,
    sending: &'s Sending,
    handed_over: &'s AtomicU64,
    /// A permit for each entry that may be announced.
    window: Semaphore,
    /// Digest of the file that was sent last.
    digest: Mutex<Option<Digest>>,
}

impl Session<'_> {
    async fn run(&self, on_note: impl Fn(Note<'_>)) -> Result<Receipt, SendFailure> {
        let plan = &self.sending.plan;
        if let Some(word) = &self.sending.word {
            prove(self.association, word).await?;
            on_note(Note::Proven);
        }
        let offer = Control::Offer {
            version: VERSION,
            name: plan.title.clone(),
            entries: Some(plan.entries.len() as u64),
            size: plan.size,
            space: Some(plan.space).filter(|space| plan.size.is_some_and(|size| *space < size)),
            id: plan.id.clone(),
        };
        say(self.association, &offer).await?;
        let work = async {
            // The receiver may be busy with other transfers for a long time.
            let first = accepted(self.association, |ahead| on_note(Note::Waiting(ahead))).await?;
            if first != (Control::Accept { version: VERSION }) {
                return Err(Violation::OutOfTurn.into());
            }
            let (jobs, chunks) = reader::start(Arc::clone(plan));
            tokio::select! {
                receipt = self.listen(&jobs, &on_note) => receipt,
                Err(failure) = self.announce() => Err(failure),
                Err(failure) = self.send(chunks, &on_note) => Err(failure),
            }
        };
        tokio::select! {
            result = work => result,
            Err(lost) = pulse(self.association) => Err(lost.into()),
        }
    }

    /// Announces all entries, as fast as the receiver takes them.
    async fn announce(&self) -> Result<Infallible, SendFailure> {
        for planned in &self.sending.plan.entries {
            // An error means that the semaphore is closed, which it never is.
            if let Ok(permit) = self.window.acquire().await {
                permit.forget();
            }
            say(self.association, &Control::Entry(planned.entry.clone())).await?;
        }
        say(self.association, &Control::Done).await?;
        pending().await
    }

    /// Acts on the receiver's answers until it has stored everything.
    async fn listen(
        &self,
        jobs: &threads::Sender<Job>,
        on_note: &impl Fn(Note<'_>),
    ) -> Result<Receipt, SendFailure> {
        let entries = &self.sending.plan.entries;
        let entry = |file: u64| {
            let planned = usize::try_from(file).ok().and_then(|file| entries.get(file));
            planned.map(|planned| &planned.entry).ok_or(Violation::OutOfTurn)
        };
        let (mut requested, mut resumed) = (BTreeSet::new(), BTreeMap::new());
        loop {
            match answer(self.association).await? {
                Control::Want { file, from } => {
                    let wanted = entry(file)?;
                    // What the receiver had was wrong: it wants all.
                    let damaged = if from == 0 { resumed.remove(&file) } else { None };
                    let may_want = requested.insert(file) || damaged.is_some();
                    if wanted.kind != Kind::File || from > wanted.size.unwrap_or(0) || !may_want {
                        return Err(Violation::OutOfTurn.into());
                    }
                    self.handed_over.fetch_add(from, Ordering::Relaxed);
                    if from > 0 {
                        resumed.insert(file, from);
                    } else if let Some(from) = damaged {
                        self.handed_over
                            .fetch_sub(wanted.size.unwrap_or(0), Ordering::Relaxed);
                        let path = &wanted.path;
                        on_note(Note::Damaged { path, from });
                    }
                    // The thread has ended if a file could not be read; its last item says why.
                    let _ = jobs.send(Job { file, from });
                }
                Control::Have { file } => {
                    let known = entry(file)?;
                    if let (Kind::File, size) = (known.kind, known.size.unwrap_or(0)) {
                        let path = &known.path;
                        self.handed_over.fetch_add(size, Ordering::Relaxed);
                        on_note(Note::Known { path, size });
                    }
                    self.window.add_permits(1);
                }
                Control::Skipped { file, reason } => {
                    let path = &entry(file)?.path;
                    on_note(Note::Skipped {
                        path,
                        reason: &reason,
                    });
                    self.window.add_permits(1);
                }
                Control::Stored { files, size, sha256 } => return self.receipt(files, size, sha256),
                _ => return Err(Violation::OutOfTurn.into()),
            }
        }
    }

    /// Checks that what is stored is what was sent.
    fn receipt(&self, files: u64, size: u64, sha256: Option<Digest>) -> Result<Receipt, SendFailure> {
        let plan = &self.sending.plan;
        let sent = *self.digest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_alone = plan.entries.len() == 1;
        if is_alone && sent.is_some() && sent != sha256 {
            return Err(SendFailure::OtherDigest);
        }
        if files != plan.files || plan.size.is_some_and(|planned| planned != size) {
            return Err(Violation::OtherSize.into());
        }
        let digest = sha256.filter(|_| is_alone);
        Ok(Receipt { size, files, digest })
    }

    /// Sends what the reader reads.
    async fn send(
        &self,
        mut chunks: mpsc::Receiver<Chunk>,
        on_note: &impl Fn(Note<'_>),
    ) -> Result<Infallible, SendFailure> {
        let mut pace = self.sending.pace;
        loop {
            let (message, bytes) = match chunks.recv().await {
                Some(Chunk::Piece(buffer)) => {
                    let bytes = (buffer.len() - HEADER) as u64;
                    pace.wait(bytes).await;
                    (Piece::message(buffer), bytes)
                }
                Some(Chunk::Hole { file, range }) => {
                    let length = range.end - range.start;
                    (Hole::message(file, range.start, length), length)
                }
                Some(Chunk::End { job, size, digest }) => {
                    self.end(job, size, digest, on_note).await?;
                    continue;
                }
                Some(Chunk::Failed(error)) => return Err(error.into()),
                // The reader thread ended without sending a result.
                None => return Err(SourceError::Vanished.into()),
            };
            self.association.send(message).await.map_err(Lost::from)?;
            self.handed_over.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    async fn end(
        &self,
        Job { file, from }: Job,
        size: u64,
        sha256: Digest,
        on_note: &impl Fn(Note<'_>),
    ) -> Result<(), SendFailure> {
        *self.digest.lock().unwrap_or_else(PoisonError::into_inner) = Some(sha256);
        say(self.association, &Control::End { file, size, sha256 }).await?;
        let planned = &self.sending.plan.entries[file as usize];
        let path = &planned.entry.path;
        on_note(Note::Sent {
            path,
            size,
            from,
            sha256,
        });
        self.window.add_permits(1);
        Ok(())
    }
}

/// Proves to the receiver that we know the word, if it does the same.
async fn prove(association: &Association, word: &Word) -> Result<(), SendFailure> {
    let session = association.peer_identity().map(|peer| *peer.exporter.as_bytes());
    let (claim, spake) = Claim::new(word, session.ok_or(SendFailure::NoWord)?);
    let version = VERSION;
    say(association, &Control::Prove { version, spake }).await?;
    let Control::Proven { spake, proof } = answer(association).await? else {
        return Err(Violation::OutOfTurn.into());
    };
    let proof = claim.check(spake, proof).ok_or(SendFailure::OtherWord)?;
    say(association, &Control::Proof { proof }).await
}

async fn say(association: &Association, control: &Control) -> Result<(), SendFailure> {
    control
        .send(association)
        .await
        .map_err(|error| Lost::from(error).into())
}

/// The address of this end as the receiver sees it, from its answer to [`Control::Check`]; `None` if it does not answer.
pub(crate) async fn address_seen(association: &Association) -> Option<SocketAddr> {
    say(association, &Control::Check { version: VERSION })
        .await
        .ok()?;
    match answer(association).await {
        Ok(Control::Checked { address }) => Some(address),
        Ok(_) | Err(_) => None,
    }
}

/// Returns the receiver's first control message that does not tell the sender to wait.
async fn accepted(association: &Association, on_wait: impl Fn(u64)) -> Result<Control, SendFailure> {
    let mut known = None;
    loop {
        match answer(association).await? {
            Control::Waiting { ahead } if known.replace(ahead) != Some(ahead) => on_wait(ahead),
            Control::Waiting { .. } => {}
            other => return Ok(other),
        }
    }
}

/// Returns the receiver's next control message; a rejection is an error.
async fn answer(association: &Association) -> Result<Control, SendFailure> {
    let message = association.recv().await.map_err(Lost::from)?.ok_or(Lost::Ended)?;
    match Heard::parse(message)? {
        Heard::Control(Control::Rejected { reason }) => Err(SendFailure::Rejected(reason)),
        Heard::Control(control) => Ok(control),
        Heard::Data(_) | Heard::Hole(_) => Err(Violation::OutOfTurn.into()),
    }
}

/// Lower bound on the acknowledged bytes of the files, out of `handed_over`. The send buffer also holds offsets and
/// control messages, so a few acknowledged bytes count as unacknowledged.
pub(crate) const fn acknowledged(handed_over: u64, in_send_buffer: u64) -> u64 {
    handed_over.saturating_sub(in_send_buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queued_bytes_are_not_acknowledged() {
        assert_eq!(acknowledged(100_000, 0), 100_000);
        assert_eq!(acknowledged(100_000, 65_544), 34_456);
        // The send buffer also holds control messages, so it can exceed `handed_over`.
        assert_eq!(acknowledged(11, 16), 0);
    }
}
