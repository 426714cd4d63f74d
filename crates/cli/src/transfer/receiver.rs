//! Receiver. How is a file received? Check the offer, write each piece at its offset, and send the verdict.

use std::future::Future;
use std::pin::pin;
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

/// A sender that may send its file as soon as the receiver accepts.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) offer: Offer,
    /// A message that arrived before the offer was accepted.
    early: Option<Heard>,
}

/// A place in the queue of a receiver.
pub(crate) trait Queued {
    /// How many senders wait before this one; `None` if it is its turn.
    fn ahead(&mut self) -> Option<u64>;

    /// Waits for a change.
    fn changed(&mut self) -> impl Future<Output = ()> + Send;
}

/// Receives the offer of a sender; `None` if the sender only checks whether it reaches this host, and was answered.
///
/// `on_offer` gets the name, which nobody has checked yet.
///
/// # Errors
///
/// See [`ReceiveFailure`]. Call [`conclude_receiving`] then.
pub(crate) async fn hear_offer(
    association: &Association,
    receiving: &Receiving,
    on_offer: impl FnOnce(&str),
) -> Result<Option<Request>, ReceiveFailure> {
    // Keep-alives do not extend this timeout, or peers that never send an offer could fill the queue.
    let first = timeout(receiving.patience, next(association)).await;
    let first = first.map_err(|_| Lost::Silent(receiving.patience))??;
    if let Heard::Control(Control::Check { version: VERSION }) = first {
        answer_check(association, receiving.patience).await?;
        return Ok(None);
    }
    if let Heard::Control(Control::Offer { name, .. }) = &first {
        on_offer(name);
    }
    let offer = judge(first, receiving)?;
    Ok(Some(Request { offer, early: None }))
}

/// Sends the peer its address as seen here, and waits until the peer ends the association.
async fn answer_check(association: &Association, patience: Duration) -> Result<(), ReceiveFailure> {
    let paths = association.statistics().paths;
    let path = paths.first().ok_or(Lost::Ended)?;
    let address = path.addr.remote;
    Control::Checked { address }
        .send(association)
        .await
        .map_err(Lost::from)?;
    let ended = async {
        while let Ok(Some(_)) = association.recv().await {}
        association.closed().await;
    };
    if timeout(patience, ended).await.is_err() {
        association.abort("the check is over");
    }
    Ok(())
}

/// Waits for the sender's turn, and sends it the number of senders before it.
///
/// # Errors
///
/// See [`ReceiveFailure`]. Call [`conclude_receiving`] then.
pub(crate) async fn wait_for_turn(
    association: &Association,
    receiving: &Receiving,
    request: &mut Request,
    place: &mut impl Queued,
) -> Result<(), ReceiveFailure> {
    let waiting = async {
        while let Some(ahead) = place.ahead() {
            let told = Control::Waiting { ahead }.send(association).await;
            told.map_err(Lost::from)?;
            let mut changed = pin!(place.changed());
            loop {
                tokio::select! {
                    () = &mut changed => break,
                    // The first message other than a keep-alive is kept, and all later ones stay unread.
                    heard = next(association), if request.early.is_none() => match heard? {
                        Heard::Control(Control::Alive) => {}
                        other => request.early = Some(other),
                    },
                }
            }
        }
        Ok(())
    };
    tokio::select! {
        result = waiting => result,
        lost = silence(association, receiving.patience) => Err(lost.into()),
    }
}

/// Receives the one file of an association. Call [`conclude_receiving`] afterwards, whatever the result.
///
/// `received` counts the received bytes of the file; `on_begin` is called when it can be stored.
///
/// # Errors
///
/// See [`ReceiveFailure`]; the partial file has been deleted by then.
pub(crate) async fn receive_file(
    association: &Association,
    receiving: &Receiving,
    request: Request,
    received: &AtomicU64,
    on_begin: impl FnOnce(&Offer),
) -> Result<StoredFile, ReceiveFailure> {
    let mut writer = None;
    let result = tokio::select! {
        result = transfer(association, receiving, request, (received, on_begin), &mut writer) => result,
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
        Err(failure @ (ReceiveFailure::Violation(_) | ReceiveFailure::Lost(_) | ReceiveFailure::Idle(_))) => {
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
    request: Request,
    (received, on_begin): (&AtomicU64, impl FnOnce(&Offer)),
    writer: &mut Option<Writer>,
) -> Result<StoredFile, ReceiveFailure> {
    let Request { offer, mut early } = request;
    let part = PartFile::create(receiving.folder.clone(), offer.name.clone())?;
    on_begin(&offer);
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
        let heard = match early.take() {
            Some(heard) => heard,
            None => tokio::select! {
                heard = next(association) => heard?,
                error = writer.failure() => return Err(error.into()),
            },
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
    receiving.folder.check_space(size.unwrap_or(0))?;
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
