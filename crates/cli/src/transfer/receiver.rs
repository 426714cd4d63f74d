//! Receiver. How is a file received? Check the offer, write each piece at its offset, and send the verdict.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch::Association;
use tokio::time::timeout;

use super::control::{Control, Heard, VERSION};
use super::digest::Digest;
use super::error::{Lost, ReceiveFailure, Violation};
use super::file_name::FileName;
use super::liveness::silence;
use super::piece::Piece;
use super::store::{Folder, PartFile, StoredFile};
use super::writer::Writer;

/// Maximum time for the sender to end the association after the verdict.
const FAREWELL: Duration = Duration::from_secs(5);

/// Limits and options of a receiver.
#[derive(Clone, Debug)]
pub(crate) struct Receiving {
    pub(crate) folder: Folder,
    /// Maximum file size in bytes.
    pub(crate) max_size: u64,
    /// Maximum time without a packet from the peer.
    pub(crate) patience: Duration,
    /// Receive buffer after the offer is accepted, in bytes.
    pub(crate) buffer: u64,
}

/// An accepted offer.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) name: FileName,
    /// Size in bytes; absent if the sender does not know it yet.
    pub(crate) size: Option<u64>,
}

/// Receives the one file of an association. Call [`conclude_receiving`] afterwards, whatever the result.
///
/// `received` counts the received bytes of the file; `on_offer` is called with the accepted offer.
///
/// # Errors
///
/// See [`ReceiveFailure`]; the partial file has been deleted by then.
pub(crate) async fn receive_file(
    association: &Association,
    receiving: &Receiving,
    received: &AtomicU64,
    on_offer: impl FnOnce(&Offer),
) -> Result<StoredFile, ReceiveFailure> {
    let mut writer = None;
    let result = tokio::select! {
        result = transfer(association, receiving, received, on_offer, &mut writer) => result,
        lost = silence(association, receiving.patience) => Err(lost.into()),
    };
    match (result, writer) {
        // The partial file is deleted before the failure is reported. If the file was already being finished, it counts
        // as stored.
        (Err(failure), Some(writer)) => writer.abandon().await.ok_or(failure),
        (result, _) => result,
    }
}

/// Sends the verdict while the peer is reachable, then waits for the peer to end the association, which confirms the
/// verdict. After a protocol violation, aborts the association without a verdict.
pub(crate) async fn conclude_receiving(
    association: &Association,
    patience: Duration,
    result: &Result<StoredFile, ReceiveFailure>,
) {
    let verdict = match result {
        Ok(stored) => Control::Stored {
            name: stored.name.to_string(),
            sha256: stored.digest,
        },
        Err(failure @ (ReceiveFailure::Violation(_) | ReceiveFailure::Lost(_))) => {
            association.abort(&failure.told());
            return;
        }
        Err(failure) => Control::rejected(failure.told()),
    };
    let told = async { verdict.send(association).await.is_ok() && association.flushed().await.is_ok() };
    let told = tokio::select! {
        told = told => told,
        _ = silence(association, patience) => false,
    };
    let farewell = async {
        // Discard data that still arrive.
        while let Ok(Some(_)) = association.recv().await {}
        association.closed().await;
    };
    if !told || timeout(FAREWELL, farewell).await.is_err() {
        association.abort("the transfer is over");
    }
}

async fn transfer(
    association: &Association,
    receiving: &Receiving,
    received: &AtomicU64,
    on_offer: impl FnOnce(&Offer),
    writer: &mut Option<Writer>,
) -> Result<StoredFile, ReceiveFailure> {
    // Keep-alives do not extend this timeout, or a few peers that never send an offer could block all others.
    let first = timeout(receiving.patience, next(association)).await;
    let offer = judge(first.map_err(|_| Lost::Silent(receiving.patience))??, receiving)?;
    let part = PartFile::create(receiving.folder.clone(), offer.name.clone())?;
    on_offer(&offer);
    // If the association has ended, the next send reports the reason.
    let _ = association.set_receive_buffer(receiving.buffer);
    Control::Accept { version: VERSION }
        .send(association)
        .await
        .map_err(Lost::from)?;
    let writer = writer.insert(Writer::start(part));
    let mut end: Option<(u64, Digest)> = None;
    let mut arrived = 0;
    loop {
        if let Some((size, digest)) = end.filter(|(size, _)| *size == arrived) {
            return Ok(writer.finish(size, digest).await?);
        }
        let heard = tokio::select! {
            heard = next(association) => heard?,
            error = writer.failure() => return Err(error.into()),
        };
        match heard {
            Heard::Data(payload) => {
                let piece = Piece::parse(payload)?;
                let limit = end
                    .map(|(size, _)| size)
                    .or(offer.size)
                    .unwrap_or(receiving.max_size);
                check_end(&piece, limit, receiving.max_size)?;
                arrived += piece.len();
                received.store(arrived, Ordering::Relaxed);
                writer.write(piece).await?;
            }
            Heard::Control(Control::End { size, sha256 }) if end.is_none() => {
                if offer.size.is_some_and(|offered| offered != size) || size < arrived {
                    return Err(Violation::OtherSize.into());
                }
                if size > receiving.max_size {
                    let limit = receiving.max_size;
                    return Err(ReceiveFailure::TooLarge { size, limit });
                }
                end = Some((size, sha256));
            }
            Heard::Control(Control::Alive) => {}
            Heard::Control(_) => return Err(Violation::OutOfTurn.into()),
        }
    }
}

/// Validates the first message and returns the offer.
fn judge(first: Heard, receiving: &Receiving) -> Result<Offer, ReceiveFailure> {
    let Heard::Control(Control::Offer { version, name, size }) = first else {
        return Err(Violation::OutOfTurn.into());
    };
    if version != VERSION {
        return Err(ReceiveFailure::Version(version));
    }
    let name = FileName::parse(&name)?;
    if let Some(size) = size.filter(|size| *size > receiving.max_size) {
        return Err(ReceiveFailure::TooLarge {
            size,
            limit: receiving.max_size,
        });
    }
    receiving.folder.check(&name)?;
    Ok(Offer { name, size })
}

/// A piece beyond the announced end is a protocol violation; one beyond our own limit is rejected as too large.
fn check_end(piece: &Piece, announced: u64, max_size: u64) -> Result<(), ReceiveFailure> {
    match piece.range().end {
        end if end <= announced => Ok(()),
        end if announced == max_size => Err(ReceiveFailure::TooLarge {
            size: end,
            limit: max_size,
        }),
        _ => Err(Violation::PieceBeyondEnd.into()),
    }
}

async fn next(association: &Association) -> Result<Heard, ReceiveFailure> {
    let message = association.recv().await.map_err(Lost::from)?.ok_or(Lost::Ended)?;
    Ok(Heard::parse(message)?)
}
