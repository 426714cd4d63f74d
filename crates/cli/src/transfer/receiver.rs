//! Receiver. How are files received? Check the offer, answer each entry, pass everything to the writer, and send the verdict.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use anabranch::{Association, BufferSize};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, sleep, timeout};

use super::control::{Control, Heard, VERSION};
use super::error::{Lost, ReceiveFailure, StoreError, Violation};
use super::file_name::FileName;
use super::liveness::silence;
use super::piece::{Hole, Piece};
use super::staging::Staging;
use super::store::{Folder, StoredTransfer};
use super::storing::{Announced, Order, Reply, Storing};
use super::word::{Blinded, Challenge, GuardedWord};
use super::writer::Writer;
use crate::network;

/// Maximum time for the sender to end the association after the verdict.
const FAREWELL: Duration = Duration::from_secs(5);

/// Maximum time for a former session of the same transfer to end.
const HANDOVER: Duration = Duration::from_secs(10);

/// Interval at which a former session is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Limits and options of a receiver.
#[derive(Clone, Debug)]
pub(crate) struct Receiving {
    pub(crate) folder: Folder,
    /// Maximum size of a transfer in bytes.
    pub(crate) max_size: u64,
    /// Maximum time without a packet from the peer.
    pub(crate) patience: Duration,
    /// Receive buffer after the offer is accepted.
    pub(crate) buffer: BufferSize,
    /// What senders have to know.
    pub(crate) word: Option<Arc<GuardedWord>>,
}

/// An offer.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// The name of what is sent, for users. Nobody has checked it.
    pub(crate) title: String,
    pub(crate) entries: u64,
    /// Bytes of all files; absent if the sender does not know it yet.
    pub(crate) size: Option<u64>,
    /// Bytes that it takes on the disk; zero if that is not known.
    space: u64,
    /// Identifies the transfer, if it can be resumed.
    pub(crate) id: Option<String>,
}

/// A sender that may send as soon as the receiver accepts.
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
/// `on_offer` gets the title, which nobody has checked yet.
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
    let mut first = next_within(association, receiving.patience).await?;
    if let Heard::Control(Control::Check { version: VERSION }) = first {
        answer_check(association, receiving.patience).await?;
        return Ok(None);
    }
    if let Heard::Control(Control::Prove { version, spake }) = first {
        if version != VERSION {
            return Err(ReceiveFailure::Version(version));
        }
        let word = receiving.word.as_ref().ok_or(ReceiveFailure::WordUnasked)?;
        challenge(association, word, spake, receiving.patience).await?;
        first = next_within(association, receiving.patience).await?;
    } else if receiving.word.is_some() {
        return Err(ReceiveFailure::NoWord);
    }
    if let Heard::Control(Control::Offer { name, .. }) = &first {
        on_offer(name);
    }
    let offer = judge(first, receiving)?;
    check_space(&offer, receiving).await?;
    Ok(Some(Request { offer, early: None }))
}

async fn next_within(association: &Association, patience: Duration) -> Result<Heard, ReceiveFailure> {
    let next = timeout(patience, next(association)).await;
    next.map_err(|_| Lost::Silent(patience))?
}

/// Proves to the sender that we know the word, and demands the same of it.
async fn challenge(
    association: &Association,
    word: &GuardedWord,
    sender: Blinded,
    patience: Duration,
) -> Result<(), ReceiveFailure> {
    let attempt = word.begin().ok_or(ReceiveFailure::WordSpent)?;
    let session = association.peer_identity().map(|peer| *peer.exporter.as_bytes());
    let session = session.ok_or(ReceiveFailure::WordUnasked)?;
    let challenge = Challenge::new(attempt.word(), session, sender);
    let (challenge, spake, proof) = challenge.ok_or(ReceiveFailure::OtherWord)?;
    let answer = Control::Proven { spake, proof };
    answer.send(association).await.map_err(Lost::from)?;
    match next_within(association, patience).await? {
        Heard::Control(Control::Proof { proof }) if challenge.is_met_by(proof) => {
            attempt.succeeded();
            Ok(())
        }
        Heard::Control(Control::Proof { .. }) => Err(ReceiveFailure::OtherWord),
        _ => Err(Violation::OutOfTurn.into()),
    }
}

/// Sends the peer its address as seen here, and waits until the peer ends the association.
async fn answer_check(association: &Association, patience: Duration) -> Result<(), ReceiveFailure> {
    let address = association.peer_addr().ok_or(Lost::Ended)?;
    Control::Checked { address }
        .send(association)
        .await
        .map_err(Lost::from)?;
    if timeout(patience, network::ended(association)).await.is_err() {
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

/// Receives the transfer of an association. Call [`conclude_receiving`] afterwards, whatever the result.
///
/// `received` counts the bytes that have arrived, now or in an earlier session. `on_begin` is called when they can be stored, and
/// `on_note` with everything that users may want to know.
///
/// # Errors
///
/// See [`ReceiveFailure`]; what arrived has been deleted by then, unless the sender can go on with it.
pub(crate) async fn receive(
    association: &Association,
    receiving: &Receiving,
    request: Request,
    received: Arc<AtomicU64>,
    on_begin: impl FnOnce(&Offer),
    on_note: impl Fn(Reply),
) -> Result<StoredTransfer, ReceiveFailure> {
    let Request { offer, early } = request;
    let staging = staging_of(receiving, &offer).await?;
    on_begin(&offer);
    let announced = Announced {
        entries: offer.entries,
        size: offer.size,
        max_size: receiving.max_size,
    };
    let (tell, replies) = mpsc::unbounded_channel();
    let storing = Storing::begin(receiving.folder.clone(), staging, announced, tell, received);
    let mut writer = Writer::start(storing);
    let result = tokio::select! {
        result = transfer(association, receiving, early, (&mut writer, replies), on_note) => result,
        lost = silence(association, receiving.patience) => Err(lost.into()),
    };
    match result {
        // The writer has ended before the failure is reported. If everything was stored already, the transfer is complete.
        Err(failure) => writer.abandon().await.ok_or(failure),
        stored => stored,
    }
}

/// Opens the staging folder. A former session of the same transfer, whose sender was killed, is about to end.
async fn staging_of(receiving: &Receiving, offer: &Offer) -> Result<Staging, ReceiveFailure> {
    let until = Instant::now() + HANDOVER;
    loop {
        let (folder, id) = (receiving.folder.clone(), offer.id.clone());
        match on_disk(move || Staging::open(&folder, id.as_deref())).await? {
            Err(StoreError::InUse) if Instant::now() < until => sleep(LOOK).await,
            opened => return Ok(opened?),
        }
    }
}

/// Works on the disk, which may be slow, on a thread that is made for that: others of the runtime serve the network.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| StoreError::Abandoned)
}

/// Sends the verdict while the peer is reachable, then waits for the peer to end the association, which confirms the
/// verdict. After a protocol violation, aborts the association without a verdict.
pub(crate) async fn conclude_receiving(
    association: &Association,
    patience: Duration,
    result: Result<StoredTransfer, ReceiveFailure>,
) -> Result<(), ReceiveFailure> {
    let verdict = match &result {
        Ok(stored) => Control::Stored {
            files: stored.files,
            size: stored.size,
            sha256: stored.digest(),
        },
        Err(failure) if failure.ends_at_once() => {
            association.abort(&failure.told());
            return result.map(drop);
        }
        Err(failure) => Control::rejected(failure.told()),
    };
    let told = async { verdict.send(association).await.is_ok() && association.flushed().await.is_ok() };
    let told = tokio::select! {
        told = told => told,
        _ = silence(association, patience) => false,
    };
    let result = match result {
        // The sender knows: nothing has to be remembered for another attempt.
        Ok(stored) if told => Ok(on_disk(|| stored.staging.discard()).await?),
        other => other.map(drop),
    };
    if !told || timeout(FAREWELL, network::ended(association)).await.is_err() {
        association.abort("the transfer is over");
    }
    result
}

async fn transfer(
    association: &Association,
    receiving: &Receiving,
    mut early: Option<Heard>,
    (writer, mut replies): (&mut Writer, UnboundedReceiver<Reply>),
    on_note: impl Fn(Reply),
) -> Result<StoredTransfer, ReceiveFailure> {
    // If the association has ended, the next send reports the reason.
    let _ = association.set_receive_buffer(receiving.buffer);
    Control::Accept { version: VERSION }
        .send(association)
        .await
        .map_err(Lost::from)?;
    loop {
        let heard = match early.take() {
            Some(heard) => heard,
            None => tokio::select! {
                // The writer tells everything before it ends.
                biased;
                Some(reply) = replies.recv() => {
                    match reply {
                        // A sender that does not read its answers is not read either.
                        Reply::Say(control) => control.send(association).await.map_err(Lost::from)?,
                        note => on_note(note),
                    }
                    continue;
                }
                ended = writer.end() => {
                    while let Ok(reply) = replies.try_recv() {
                        on_note(reply);
                    }
                    return Ok(ended?);
                }
                heard = next(association) => heard?,
            },
        };
        if let Some(order) = order_of(heard)? {
            writer.order(order).await?;
        }
    }
}

/// What the writer is to do with a message; `None` for a keep-alive.
fn order_of(heard: Heard) -> Result<Option<Order>, Violation> {
    Ok(Some(match heard {
        Heard::Data(payload) => Order::Piece(Piece::parse(payload)?),
        Heard::Hole(payload) => Order::Hole(Hole::parse(payload)?),
        Heard::Control(Control::Entry(entry)) => Order::Entry(entry),
        Heard::Control(Control::End { file, size, sha256 }) => Order::End { file, size, sha256 },
        Heard::Control(Control::Done) => Order::Done,
        Heard::Control(Control::Alive) => return Ok(None),
        Heard::Control(_) => return Err(Violation::OutOfTurn),
    }))
}

/// Validates the first message and returns the offer.
fn judge(first: Heard, receiving: &Receiving) -> Result<Offer, ReceiveFailure> {
    let Heard::Control(Control::Offer {
        version,
        name,
        entries,
        size,
        space,
        id,
    }) = first
    else {
        return Err(Violation::OutOfTurn.into());
    };
    if version != VERSION {
        return Err(ReceiveFailure::Version(version));
    }
    let entries = entries.ok_or(Violation::UnknownControl)?;
    if id.as_ref().is_some_and(|id| !(16..=64).contains(&id.len())) {
        return Err(Violation::UnknownControl.into());
    }
    if let Some(size) = size.filter(|size| *size > receiving.max_size) {
        let limit = receiving.max_size;
        return Err(StoreError::TooLarge { size, limit }.into());
    }
    if entries == 1 {
        // Other names are checked when they come, because there may be any number.
        FileName::parse(&name)?;
    }
    Ok(Offer {
        title: name,
        entries,
        size,
        space: space.or(size).unwrap_or(0),
        id,
    })
}

/// Checks that the disk has room for what is missing.
async fn check_space(offer: &Offer, receiving: &Receiving) -> Result<(), ReceiveFailure> {
    let (folder, id, space) = (receiving.folder.clone(), offer.id.clone(), offer.space);
    let checked = on_disk(move || {
        let staged = id.as_deref().map_or(0, |id| folder.staged(id));
        folder.check_space(space.saturating_sub(staged))
    });
    Ok(checked.await??)
}

async fn next(association: &Association) -> Result<Heard, ReceiveFailure> {
    let message = association.recv().await.map_err(Lost::from)?.ok_or(Lost::Ended)?;
    Ok(Heard::parse(message)?)
}
