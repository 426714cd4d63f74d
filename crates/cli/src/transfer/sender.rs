//! Sender. How is a file sent? Send the offer, the data messages and the digest, then wait for the receiver's verdict.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch::Association;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::control::{Control, Heard, VERSION};
use super::digest::Digest;
use super::error::{Lost, SendFailure, SourceError, Violation};
use super::file_name::FileName;
use super::liveness::{PULSE, pulse, silence};
use super::piece::{HEADER, Piece};
use super::source::{Chunk, Source};

/// How long the association may take to end after the verdict.
const FAREWELL: Duration = Duration::from_secs(5);

/// A file to send.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) name: FileName,
    pub(crate) source: Source,
    /// How long the peer may be silent.
    pub(crate) patience: Duration,
}

/// Confirmation of the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub(crate) size: u64,
    pub(crate) digest: Digest,
}

/// Sends a file over an association that has carried no other data. Call [`conclude_sending`] afterwards.
///
/// `handed_over` counts the bytes of the file passed to the association, including those in its send buffer that are
/// not yet acknowledged. `on_wait` is called with the number of senders that wait before this one, whenever that changes.
///
/// # Errors
///
/// See [`SendFailure`]. On an error, the receiver has not confirmed that the file is stored.
pub(crate) async fn send_file(
    association: &Association,
    sending: Sending,
    handed_over: &AtomicU64,
    on_wait: impl Fn(u64),
) -> Result<Receipt, SendFailure> {
    let patience = sending.patience;
    tokio::select! {
        result = transfer(association, sending, handed_over, on_wait) => result,
        lost = silence(association, patience) => Err(lost.into()),
    }
}

/// Shuts the association down after success and aborts it after a failure.
pub(crate) async fn conclude_sending(association: &Association, result: &Result<Receipt, SendFailure>) {
    match result {
        // The receiver has already stored the file, so a failed shutdown is not an error.
        Ok(_) => drop(timeout(FAREWELL, association.shutdown()).await),
        Err(failure) => association.abort(&failure.told()),
    }
}

async fn transfer(
    association: &Association,
    sending: Sending,
    handed_over: &AtomicU64,
    on_wait: impl Fn(u64),
) -> Result<Receipt, SendFailure> {
    let Sending { name, source, .. } = sending;
    let offer = Control::Offer {
        version: VERSION,
        name: name.to_string(),
        size: source.size(),
    };
    say(association, &offer).await?;
    // The receiver may be busy with other transfers for a long time.
    let first = tokio::select! {
        first = accepted(association, on_wait) => first?,
        Err(lost) = pulse(association) => return Err(lost.into()),
    };
    match first {
        Control::Accept { version: VERSION } => {}
        _ => return Err(Violation::OutOfTurn.into()),
    }
    let verdict = answer(association);
    tokio::pin!(verdict);
    // A verdict before the end of the file is an early rejection: stop sending at once.
    let receipt = tokio::select! {
        early = &mut verdict => return Err(early.map_or_else(|failure| failure, |_| Violation::OutOfTurn.into())),
        sent = send_pieces(association, source.start(), handed_over) => sent?,
    };
    let verdict = tokio::select! {
        verdict = verdict => verdict?,
        Err(lost) = pulse(association) => return Err(lost.into()),
    };
    match verdict {
        Control::Stored { sha256, .. } if sha256 == receipt.digest => Ok(receipt),
        Control::Stored { .. } => Err(SendFailure::OtherDigest),
        _ => Err(Violation::OutOfTurn.into()),
    }
}

async fn send_pieces(
    association: &Association,
    mut chunks: mpsc::Receiver<Chunk>,
    handed_over: &AtomicU64,
) -> Result<Receipt, SendFailure> {
    loop {
        match timeout(PULSE, chunks.recv()).await {
            Ok(Some(Chunk::Piece(buffer))) => {
                let message = Piece::message(buffer);
                let bytes = (message.payload.len() - HEADER) as u64;
                association.send(message).await.map_err(Lost::from)?;
                handed_over.fetch_add(bytes, Ordering::Relaxed);
            }
            Ok(Some(Chunk::End { size, digest })) => {
                say(association, &Control::End { size, sha256: digest }).await?;
                return Ok(Receipt { size, digest });
            }
            Ok(Some(Chunk::Failed(error))) => return Err(error.into()),
            // The reader thread ended without sending a result.
            Ok(None) => return Err(SourceError::Vanished.into()),
            Err(_slow_source) => say(association, &Control::Alive).await?,
        }
    }
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
        Heard::Data(_) => Err(Violation::OutOfTurn.into()),
    }
}

/// Lower bound on the acknowledged bytes of the file, out of `handed_over`. The send buffer also holds offsets and
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
