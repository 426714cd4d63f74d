//! `anabranch recv`: receives files until stopped.

mod slots;
mod takeover;

use std::fs::File;
use std::future::pending;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anabranch::{BufferSize, Endpoint};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::arguments::RecvArguments;
use crate::certificates;
use crate::failure::Failure;
use crate::interrupt::{Interrupt, on_thread};
use crate::keys::ReceiverKeys;
use crate::listening::{UNACCEPTED_BUFFER, listen, listening_sockets, receiver_keys};
use crate::network::{self, Guarded};
use crate::output::{Counter, Event, Reporter, Role, StoredReport, observe};
use crate::transfer::{
    Folder, GuardedWord, Offer, ReceiveFailure, Receiving, Reply, Request, StoredTransfer, Word,
    conclude_receiving, hear_offer, receive, remove_old, wait_for_turn,
};
use slots::{Limits, Place, Slots, Source, WAITING_PER_SOURCE};
use takeover::{Hold, Takeovers};

/// Default port (RFC 6951 §5.1).
const PORT: u16 = 9899;

/// Maximum number of senders that transfer or wait; further ones are not accepted until others have ended.
const MAX_SENDERS: usize = 1_024;

/// Interval at which the progress of transfers is checked.
const LOOK: Duration = Duration::from_secs(1);

/// The address of a sender that is gone already.
const UNKNOWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Receives files.
pub(crate) async fn run(
    arguments: RecvArguments,
    reporter: &Arc<dyn Reporter>,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let output = Scratch::of(&arguments)?;
    let folder = output
        .as_ref()
        .map_or(&*arguments.folder, Scratch::path)
        .to_owned();
    interrupt
        .or(prepare(folder.clone(), arguments.keep_partial))
        .await?;
    let once = arguments.once || output.is_some();
    let mut config = arguments.settings.association_config()?;
    let buffer = mem::replace(&mut config.receive_buffer, BufferSize::Fixed(UNACCEPTED_BUFFER));
    let sockets = listening_sockets(arguments.listen.as_ref(), PORT)?;
    let keys = keys(&arguments, &**reporter)?;
    let word = arguments.word.clone().map(word).transpose()?;
    let endpoint = listen(sockets, config, &keys).await?;
    let addresses = endpoint.local_addrs();
    let to = keys.address(&addresses);
    reporter.report(&Event::Listening {
        addresses: &addresses,
        to: to.as_deref(),
        word: word.as_ref(),
        folder: &arguments.folder,
    });
    let receiving = Receiving {
        folder: folder_of(&arguments, folder, output.is_some()),
        max_size: arguments.max_size.unwrap_or(i64::MAX as u64),
        patience: arguments.timeout,
        buffer,
        word: word.map(|word| Arc::new(GuardedWord::new(word))),
    };
    let limits = Limits {
        slots: if once { 1 } else { arguments.max_transfers.get() },
        per_source: arguments.max_per_source.get(),
        idle: arguments.idle_timeout,
    };
    let mut server = Server {
        receiving,
        reporter: Arc::clone(reporter),
        once,
        takeovers: Arc::default(),
        slots: Arc::new(Slots::new(limits)),
        sessions: JoinSet::new(),
        count: 0,
    };
    let result = interrupt.or(server.serve(&endpoint)).await;
    // Dropped transfers abort their associations, and remove their files unless the senders can go on with them.
    server.sessions.shutdown().await;
    network::close(&endpoint).await;
    result
}

/// With what this host proves who it is.
fn keys(arguments: &RecvArguments, reporter: &dyn Reporter) -> Result<ReceiverKeys, Failure> {
    let key = arguments.key.as_deref();
    match (&arguments.certificate, key) {
        (Some(file), Some(key)) => certificates::server_config(file, key).map(ReceiverKeys::Certified),
        _ => receiver_keys(arguments.insecure, key, arguments.allow.clone(), reporter),
    }
}

/// Where and how everything is stored.
const fn folder_of(arguments: &RecvArguments, path: PathBuf, is_output: bool) -> Folder {
    Folder {
        path,
        overwrite: arguments.force,
        durable: !is_output,
        all_links: arguments.all_links,
        is_output,
    }
}

/// The word that the user has made up, or a new one.
fn word(given: Option<Word>) -> Result<Word, Failure> {
    given.map_or_else(|| Word::generate().map_err(Failure::work), Ok)
}

/// A temporary folder for a file that goes to standard output.
#[derive(Debug)]
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn of(arguments: &RecvArguments) -> Result<Option<Self>, Failure> {
        if !arguments.is_to_output() {
            return Ok(None);
        }
        if arguments.output.is_json() {
            let text = "--json prints on standard output, where the file goes with -; leave out one of them";
            return Err(Failure::usage(text));
        }
        let folder = tempfile::tempdir();
        let folder =
            folder.map_err(|error| Failure::Work(format!("cannot make a temporary folder: {error}")))?;
        Ok(Some(Self(folder)))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Serves senders.
#[derive(Debug)]
struct Server {
    receiving: Receiving,
    reporter: Arc<dyn Reporter>,
    once: bool,
    slots: Arc<Slots>,
    takeovers: Arc<Takeovers>,
    sessions: JoinSet<Ended>,
    count: u64,
}

/// How the session with a sender ended.
#[derive(Debug)]
struct Ended {
    transfer: u64,
    result: Result<(), Failure>,
    /// Whether the sender had a slot that no other sender took over.
    was_served: bool,
}

impl Server {
    async fn serve(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let mut looks = interval(LOOK);
        loop {
            tokio::select! {
                association = endpoint.accept(), if self.sessions.len() < MAX_SENDERS => {
                    let association = association.ok_or_else(|| Failure::work("the sockets of the endpoint failed"))?;
                    self.begin(Guarded(association));
                }
                Some(ended) = self.sessions.join_next() => {
                    let ended = ended.map_err(Failure::work)?;
                    if self.receiving.word.as_ref().is_some_and(|word| word.is_spent()) {
                        let text = "too many senders did not know the word; start again, with another word";
                        return Err(Failure::work(text));
                    }
                    // With `--once`, a sender that gives up in the queue or makes no valid offer ends the program only if
                    // no transfer runs.
                    if self.once && (ended.was_served || ended.result.is_err() && !self.slots.are_used()) {
                        return ended.result;
                    }
                    self.report(&ended);
                }
                _ = looks.tick() => self.slots.take_over_idle(Instant::now()),
            }
        }
    }

    fn begin(&mut self, association: Guarded) {
        self.count += 1;
        let session = Session {
            peer: association.peer_addr().unwrap_or(UNKNOWN),
            association,
            transfer: self.count,
            name: OnceLock::new(),
            takeovers: Arc::clone(&self.takeovers),
            receiving: self.receiving.clone(),
            slots: Arc::clone(&self.slots),
            reporter: Arc::clone(&self.reporter),
        };
        self.sessions.spawn(session.run());
    }

    fn report(&self, ended: &Ended) {
        if let Err(failure) = &ended.result {
            let message = failure.to_string();
            self.reporter.report(&Event::Error {
                transfer: Some(ended.transfer),
                message: &message,
                exit_code: None,
            });
        }
    }
}

/// The session with one sender.
#[derive(Debug)]
struct Session {
    association: Guarded,
    transfer: u64,
    /// Where the sender's packets come from at first.
    peer: SocketAddr,
    /// The name that the sender offers, as it is.
    name: OnceLock<String>,
    takeovers: Arc<Takeovers>,
    receiving: Receiving,
    slots: Arc<Slots>,
    reporter: Arc<dyn Reporter>,
}

impl Session {
    async fn run(self) -> Ended {
        let ended = |result, was_served| Ended {
            transfer: self.transfer,
            result,
            was_served,
        };
        let (result, was_served, hold) = match self.queue().await {
            Ok(None) => return ended(Ok(()), false),
            Ok(Some((request, place, hold))) => {
                let result = tokio::select! {
                    result = self.receive(request, place) => result,
                    () = hold.lost() => Err(ReceiveFailure::Superseded),
                };
                let is_taken = matches!(result, Err(ReceiveFailure::Idle(_) | ReceiveFailure::Superseded));
                (result, !is_taken, Some(hold))
            }
            Err(failure) => (Err(failure), false, None),
        };
        let concluding = conclude_receiving(&self.association, self.receiving.patience, result);
        let superseded = async {
            match &hold {
                Some(hold) if was_served => hold.lost().await,
                _ => pending().await,
            }
        };
        tokio::select! {
            concluded = concluding => {
                ended(concluded.map_err(|failure| self.failure(&failure)), was_served)
            }
            // The sender was killed before it learned that everything is stored, and asks again.
            () = superseded => ended(Ok(()), false),
        }
    }

    /// The failure, with the file and the peer that it concerns.
    fn failure(&self, failure: &ReceiveFailure) -> Failure {
        Failure::Work(self.words(failure))
    }

    /// What is said of this transfer.
    fn words(&self, said: impl std::fmt::Display) -> String {
        let peer = self.peer;
        match self.name.get() {
            Some(name) => format!("{name} from {peer}: {said}"),
            None => format!("{peer}: {said}"),
        }
    }

    /// Receives the offer and waits for a slot; `None` if the sender only checks its uplinks.
    async fn queue(&self) -> Result<Option<(Request, Place, Hold)>, ReceiveFailure> {
        let (association, receiving) = (&self.association, &self.receiving);
        let on_offer = |name: &str| drop(self.name.set(name.to_owned()));
        let Some(mut request) = hear_offer(association, receiving, on_offer).await? else {
            return Ok(None);
        };
        // A sender that begins again after it was killed does not wait for its former self.
        let hold = self.takeovers.take(request.offer.id.as_deref());
        let place = self.slots.join(Source::of(self.peer.ip()), Instant::now());
        let mut place = place.ok_or(ReceiveFailure::Crowded(WAITING_PER_SOURCE))?;
        tokio::select! {
            turn = wait_for_turn(association, receiving, &mut request, &mut place) => turn?,
            () = hold.lost() => return Err(ReceiveFailure::Superseded),
        }
        Ok(Some((request, place, hold)))
    }

    async fn receive(&self, request: Request, mut place: Place) -> Result<StoredTransfer, ReceiveFailure> {
        let (association, transfer, reporter) = (&self.association, self.transfer, &*self.reporter);
        let counter = Counter::new(transfer, Role::Receive, request.offer.size, Instant::now());
        let counter = Arc::new(counter);
        place.measure(&counter);
        let title = request.offer.title.clone();
        let bytes = Arc::clone(&counter.bytes);
        let on_begin = |offer: &Offer| {
            reporter.report(&Event::Offered {
                transfer,
                name: &offer.title,
                peer: self.peer,
                size: offer.size,
                entries: offer.entries,
            });
        };
        let on_note = |note| self.note(note, &counter);
        let received = receive(association, &self.receiving, request, bytes, on_begin, on_note);
        // Biased, so that the connection is reported before the transfer.
        let result = tokio::select! {
            biased;
            never = observe(association, &counter, reporter) => match never {},
            result = received => result,
            () = place.taken_over() => Err(ReceiveFailure::Idle(self.slots.limits().idle)),
        };
        if let Ok(stored) = &result {
            self.report_stored(title, stored, &counter);
        }
        result
    }

    fn report_stored(&self, name: String, stored: &StoredTransfer, counter: &Counter) {
        let entries = stored.entries.iter().map(|entry| StoredReport {
            name: entry.name.clone(),
            file: entry.path.display().to_string(),
            kind: entry.kind,
            sha256: entry.sha256,
        });
        let entries: Vec<StoredReport> = entries.collect();
        let contents = super::Contents {
            name,
            peer: self.peer.to_string(),
            files: stored.files,
            size: stored.size,
            sha256: stored.digest(),
        };
        self.reporter.report(&Event::Stored {
            transfer: self.transfer,
            name: &contents.name,
            peer: self.peer,
            files: contents.files,
            size: contents.size,
            file: match &entries[..] {
                [only] => Some(&only.file),
                _ => None,
            },
            sha256: contents.sha256,
            entries: &entries,
        });
        let summary = super::summary(&self.association, counter, contents);
        self.reporter.report(&Event::Summary(&summary));
    }

    fn note(&self, note: Reply, counter: &Counter) {
        let transfer = Some(self.transfer);
        match note {
            Reply::Say(_) => {}
            Reply::Complete {
                path,
                size,
                from,
                sha256,
            } => {
                counter.resumed.fetch_add(from, Ordering::Relaxed);
                self.reporter.report(&Event::File {
                    transfer: self.transfer,
                    path: &path,
                    size,
                    from,
                    sha256: Some(sha256),
                });
            }
            Reply::Note(message) => self.reporter.report(&Event::Warning {
                transfer,
                path: None,
                message: &self.words(&message),
            }),
        }
    }
}

/// Checks that files can be stored in a folder, and removes what was left there longer ago than `age`.
async fn prepare(folder: PathBuf, age: Duration) -> Result<(), Failure> {
    on_thread(move || {
        check_folder(&folder)?;
        remove_old(&folder, age);
        Ok(())
    })
    .await
}

/// Checks that files can be stored.
fn check_folder(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            return Err(Failure::Usage(format!(
                "{shown} is not a folder; give an existing folder"
            )));
        }
        Err(error) => {
            let text = format!("{shown}: {error}; give an existing folder");
            return Err(Failure::Usage(text));
        }
    }
    // New names are durable only after a sync of the folder, which must be opened for that.
    match tempfile::tempfile_in(folder).and_then(|_| File::open(folder)) {
        Ok(_) => Ok(()),
        Err(error) => {
            let kind = error.kind();
            Err(Failure::Usage(format!(
                "cannot write to {shown}: {kind}; give another folder"
            )))
        }
    }
}
