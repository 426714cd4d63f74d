//! One run of the demo: two endpoints in this process, with the real sender and receiver, over emulated links.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch::{Association, AssociationConfig, Endpoint};
use tokio::time::interval;

use super::links::Links;
use super::schedule::Run;
use crate::event_log::EventLog;
use crate::failure::Failure;
use crate::keys::SenderKeys;
use crate::network::{self, Guarded};
use crate::output::{Counter, DemoRow, Event, PathReport, Reporter, Role, Summary, observe};
use crate::parse::ShapedPath;
use crate::transfer::{
    Digest, Folder, Pace, Plan, Receiving, Sending, StoredTransfer, conclude_receiving, conclude_sending,
    hear_offer, receive, send,
};

/// Idle timeout of a run, longer than any recovery from a link failure.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval for checking whether half of the file has arrived.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the transfers of the demo.
#[derive(Debug)]
pub(super) struct DemoRunner {
    pub(super) file: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) paths: Vec<ShapedPath>,
    pub(super) config: AssociationConfig,
    /// File for event logs; the number of the run is inserted before its extension.
    pub(super) log: Option<PathBuf>,
    pub(super) reporter: Arc<dyn Reporter>,
}

impl DemoRunner {
    /// Sends the file once.
    pub(super) async fn perform(&self, number: u64, run: &Run) -> Result<DemoRow, Failure> {
        let links = Links::open(&self.paths, &run.over)?;
        let bind = |sockets: &Vec<_>| network::endpoint_on(sockets.clone(), self.config.clone()).insecure();
        let receiver = bind(&links.receiver)
            .listen()
            .bind()
            .await
            .map_err(Failure::work)?;
        let log = self
            .log
            .as_deref()
            .map(|file| EventLog::create(&numbered(file, number), &run.name));
        let log = log.transpose()?;
        let sender = EventLog::of(log.as_ref(), bind(&links.sender));
        let sender = sender.connect_timeout(IDLE_TIMEOUT).bind();
        let sender = sender.await.map_err(Failure::work)?;
        let folder = tempfile::tempdir_in(&self.scratch).map_err(Failure::work)?;
        let receiving = Receiving {
            // The links are measured, not the disk.
            folder: Folder {
                path: folder.path().to_owned(),
                overwrite: false,
                durable: false,
                all_links: false,
                is_output: false,
            },
            max_size: run.size,
            patience: IDLE_TIMEOUT,
            buffer: self.config.receive_buffer,
            word: None,
        };
        let (sent, digest) = tokio::try_join!(
            self.send(number, run, &sender, &receiver, &links),
            receive_all(&receiver, &receiving)
        )?;
        network::close(&sender).await;
        network::close(&receiver).await;
        EventLog::finish(log)?;
        Ok(DemoRow {
            run: run.name.clone(),
            size: sent.size,
            seconds: sent.seconds,
            goodput_bit_s: sent.goodput_bit_s,
            upper_bound_bit_s: run.upper_bound,
            verified: sent.sha256.is_some() && sent.sha256 == digest,
            cut: run.cut.is_some(),
            carried: sent.paths.iter().map(PathReport::carried).collect(),
        })
    }

    async fn send(
        &self,
        number: u64,
        run: &Run,
        sender: &Endpoint,
        receiver: &Endpoint,
        links: &Links,
    ) -> Result<Summary, Failure> {
        let plan = Plan::first_of(&self.file, "demo.bin", run.size).map_err(Failure::work)?;
        let counter = Counter::new(number, Role::Send, plan.size, Instant::now());
        let association = network::connect(
            sender,
            &receiver.local_addrs(),
            IDLE_TIMEOUT,
            &SenderKeys::Insecure,
        )
        .await?;
        let sending = Sending {
            plan: Arc::new(plan),
            patience: IDLE_TIMEOUT,
            pace: Pace::default(),
            word: None,
        };
        let result = tokio::select! {
            result = send(&association, &sending, &counter.bytes, |_| ()) => result,
            never = observe(&association, &counter, &*self.reporter) => match never {},
            never = self.cut_half_way(run, &association, &counter, links) => match never {},
        };
        let summary = result.as_ref().ok().map(|receipt| {
            let contents = crate::verb::Contents {
                name: run.name.clone(),
                peer: network::named(&receiver.local_addrs()),
                files: receipt.files,
                size: receipt.size,
                sha256: receipt.digest,
            };
            crate::verb::summary(&association, &counter, contents)
        });
        conclude_sending(&association, &result).await;
        result.map_err(Failure::work)?;
        summary.ok_or(Failure::Interrupted)
    }

    async fn cut_half_way(
        &self,
        run: &Run,
        association: &Association,
        counter: &Counter,
        links: &Links,
    ) -> std::convert::Infallible {
        let mut ticks = interval(CHECK_INTERVAL);
        if let Some(cut) = run.cut {
            while counter.arrived(association) < run.size / 2 {
                ticks.tick().await;
            }
            links.cut(cut);
            self.reporter.report(&Event::Cut { path: cut as u64 + 1 });
        }
        std::future::pending().await
    }
}

/// Inserts the number of the run: `demo.jsonl` becomes `demo-2.jsonl` for run 2.
fn numbered(file: &Path, number: u64) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(ending) = file.extension() {
        name.push(".");
        name.push(ending);
    }
    file.with_file_name(name)
}

/// Receives the file and returns its digest.
async fn receive_all(receiver: &Endpoint, receiving: &Receiving) -> Result<Option<Digest>, Failure> {
    let association = receiver
        .accept()
        .await
        .ok_or_else(|| Failure::work("the sockets of the endpoint failed"))?;
    let association = Guarded(association);
    let result = match hear_offer(&association, receiving, |_| ()).await {
        Ok(Some(request)) => receive(&association, receiving, request, Arc::default(), |_| (), |_| ()).await,
        Ok(None) => return Err(Failure::work("the sender of the demo offered no file")),
        Err(failure) => Err(failure),
    };
    let digest = result.as_ref().ok().and_then(StoredTransfer::digest);
    let concluded = conclude_receiving(&association, receiving.patience, result).await;
    concluded.map(|()| digest).map_err(Failure::work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_file_names_contain_the_number_of_the_run() {
        for (file, second) in [
            ("demo.jsonl", "demo-2.jsonl"),
            ("logs/run.v2.jsonl", "logs/run.v2-2.jsonl"),
            ("log", "log-2"),
        ] {
            assert_eq!(numbered(Path::new(file), 2), PathBuf::from(second));
        }
    }
}
