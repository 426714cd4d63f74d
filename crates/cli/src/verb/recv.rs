//! `anabranch recv`: receives files until stopped.

use std::fs::File;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anabranch::Endpoint;
use anabranch::io::Socket;
use tokio::task::JoinSet;

use crate::arguments::RecvArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network::{self, Guarded};
use crate::output::{Counter, Event, Reporter, Role, observe};
use crate::parse::LocalAddresses;
use crate::transfer::{Folder, Receiving, conclude_receiving, receive_file};

/// Default port (RFC 6951 §5.1).
const PORT: u16 = 9899;

/// Maximum number of concurrent transfers; further senders wait.
const MAX_TRANSFERS: usize = 64;

/// Receive buffer in bytes before an offer is accepted: many unverified senders may be waiting.
const UNACCEPTED_BUFFER: u64 = 64 << 10;

/// Receives files.
pub(crate) async fn run(
    arguments: RecvArguments,
    reporter: &Arc<dyn Reporter>,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    check_folder(&arguments.folder)?;
    let mut config = arguments.settings.association_config()?;
    let buffer = mem::replace(&mut config.receive_buffer, UNACCEPTED_BUFFER);
    let sockets = sockets(arguments.listen.as_ref())?;
    let endpoint = network::endpoint_on(sockets, config)
        .listen()
        .bind()
        .await
        .map_err(Failure::work)?;
    reporter.report(&Event::Listening {
        addresses: &endpoint.local_addrs(),
        folder: &arguments.folder,
    });
    let receiving = Receiving {
        folder: Folder {
            path: arguments.folder,
            overwrite: arguments.force,
            durable: true,
        },
        max_size: arguments.max_size.unwrap_or(i64::MAX as u64),
        patience: arguments.timeout,
        buffer,
    };
    let (reporter, once) = (Arc::clone(reporter), arguments.once);
    let mut server = Server {
        receiving,
        reporter,
        once,
        transfers: JoinSet::new(),
        count: 0,
    };
    let result = interrupt.or(server.serve(&endpoint)).await;
    // Dropped transfers abort their associations and remove their files.
    server.transfers.shutdown().await;
    network::close(&endpoint).await;
    result
}

/// Runs concurrent transfers.
#[derive(Debug)]
struct Server {
    receiving: Receiving,
    reporter: Arc<dyn Reporter>,
    once: bool,
    transfers: JoinSet<Result<(), Failure>>,
    count: u64,
}

impl Server {
    async fn serve(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let limit = if self.once { 1 } else { MAX_TRANSFERS };
        loop {
            tokio::select! {
                association = endpoint.accept(), if self.transfers.len() < limit => {
                    let association = association.ok_or_else(|| Failure::work("the sockets of the endpoint failed"))?;
                    self.begin(Guarded(association));
                }
                Some(ended) = self.transfers.join_next() => {
                    let result = ended.unwrap_or_else(|panic| Err(Failure::work(panic)));
                    if self.once {
                        return result;
                    }
                }
            }
        }
    }

    fn begin(&mut self, association: Guarded) {
        self.count += 1;
        let counter = Counter::new(self.count, Role::Receive, None, Instant::now());
        let (receiving, reporter, once) = (self.receiving.clone(), Arc::clone(&self.reporter), self.once);
        self.transfers.spawn(async move {
            let result = receive(&association, &receiving, &counter, &*reporter).await;
            // With --once, the program reports the error when it exits.
            if let Some(failure) = result.as_ref().err().filter(|_| !once) {
                let message = failure.to_string();
                reporter.report(&Event::Error {
                    transfer: Some(counter.transfer),
                    message: &message,
                    exit_code: None,
                });
            }
            result
        });
    }
}

async fn receive(
    association: &Guarded,
    receiving: &Receiving,
    counter: &Counter,
    reporter: &dyn Reporter,
) -> Result<(), Failure> {
    let transfer = counter.transfer;
    let received = receive_file(association, receiving, &counter.bytes, |offer| {
        counter.set_size(offer.size);
        reporter.report(&Event::Offered {
            transfer,
            name: offer.name.as_str(),
            size: offer.size,
        });
    });
    // Biased, so that the connection is reported before the transfer.
    let result = tokio::select! {
        biased;
        never = observe(association, counter, reporter) => match never {},
        result = received => result,
    };
    if let Ok(stored) = &result {
        let (name, size, sha256) = (stored.name.as_str(), stored.size, stored.digest);
        reporter.report(&Event::Stored {
            transfer,
            name,
            file: &stored.path,
            size,
            sha256,
        });
        let summary = super::summary(association, counter, name.to_owned(), size, sha256);
        reporter.report(&Event::Summary(&summary));
    }
    conclude_receiving(association, receiving.patience, &result).await;
    result.map(|_| ()).map_err(Failure::work)
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

fn sockets(listen: Option<&LocalAddresses>) -> Result<Vec<Arc<dyn Socket>>, Failure> {
    match listen {
        Some(locals) => locals.0.iter().map(|local| network::open(*local)).collect(),
        None => network::open_everywhere(PORT),
    }
}
