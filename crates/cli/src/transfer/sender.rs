//! Sender. How is a file sent? Offer it, send pieces and the digest, and believe only the receiver's verdict.

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

/// What the receiver has confirmed.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub(crate) size: u64,
    pub(crate) digest: Digest,
}

/// Sends a file over an association that has carried nothing else. To be followed by [`conclude_sending`].
///
/// `handed_over` counts bytes of the file that were given to the association: those in its send buffer are not
/// acknowledged yet.
///
/// # Errors
///
/// See [`SendFailure`]; the receiver has then not confirmed that the file is stored.
pub(crate) async fn send_file(
    association: &Association,
    sending: Sending,
    handed_over: &AtomicU64,
) -> Result<Receipt, SendFailure> {
    let patience = sending.patience;
    tokio::select! {
        result = transfer(association, sending, handed_over) => result,
        lost = silence(association, patience) => Err(lost.into()),
    }
}

/// Ends the association.
pub(crate) async fn conclude_sending(association: &Association, result: &Result<Receipt, SendFailure>) {
    match result {
        // If the peer vanishes at this point, it has the file all the same.
        Ok(_) => drop(timeout(FAREWELL, association.shutdown()).await),
        Err(failure) => association.abort(&failure.told()),
    }
}

async fn transfer(
    association: &Association,
    sending: Sending,
    handed_over: &AtomicU64,
) -> Result<Receipt, SendFailure> {
    let Sending { name, source, .. } = sending;
    let offer = Control::Offer {
        version: VERSION,
        name: name.to_string(),
        size: source.size(),
    };
    say(association, &offer).await?;
    // The receiver may be busy with others for long.
    let first = tokio::select! {
        first = answer(association) => first?,
        Err(lost) = pulse(association) => return Err(lost.into()),
    };
    match first {
        Control::Accept { version: VERSION } => {}
        _ => return Err(Violation::OutOfTurn.into()),
    }
    let verdict = answer(association);
    tokio::pin!(verdict);
    // A verdict before the end is an early no; it must not wait until everything is sent in vain.
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
            // Its thread is gone without a word.
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

/// What the receiver says next; a no is an error.
async fn answer(association: &Association) -> Result<Control, SendFailure> {
    let message = association.recv().await.map_err(Lost::from)?.ok_or(Lost::Ended)?;
    match Heard::parse(message)? {
        Heard::Control(Control::Rejected { reason }) => Err(SendFailure::Rejected(reason)),
        Heard::Control(control) => Ok(control),
        Heard::Data(_) => Err(Violation::OutOfTurn.into()),
    }
}

/// How many bytes of the file the peer has acknowledged at least, of `handed_over`: what the send buffer holds
/// besides the file, offsets and control messages, is a few bytes that count as not acknowledged.
pub(crate) const fn acknowledged(handed_over: u64, in_send_buffer: u64) -> u64 {
    handed_over.saturating_sub(in_send_buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_in_the_send_buffer_is_not_acknowledged() {
        assert_eq!(acknowledged(100_000, 0), 100_000);
        assert_eq!(acknowledged(100_000, 65_544), 34_456);
        // Nothing but a control message waits, and nothing was handed over.
        assert_eq!(acknowledged(11, 16), 0);
    }
}
