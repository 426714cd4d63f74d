//! Our own library on both hosts: each end runs in a thread on its host, with its own runtime and sockets.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anabranch::{Association, Endpoint, EndpointBuilder, Message, StreamId};
use anabranch_emu::bed::{Hosts, Side};
use anabranch_netsim::topology;
use anabranch_sim::DataCounters;
use tokio::sync::watch;

use super::payload::TestPayload;
use super::stack::{Stack, StackCounters};
use crate::plan::Setting;
use crate::run::scenario;

/// Port of the UDP encapsulation, if used.
const PORT: u16 = 9_899;

/// Both ends.
pub(super) struct Library {
    near: Arc<Shared>,
    far: Arc<Shared>,
    /// Addresses of the near end, by path.
    paths: Vec<IpAddr>,
    end: Option<watch::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// State that an end shares with the test bed.
#[derive(Default)]
struct Shared {
    association: Mutex<Option<Association>>,
    bytes: AtomicU64,
    messages: AtomicU64,
    damaged: AtomicU64,
    /// Why the end failed.
    error: Mutex<Option<String>>,
}

impl Shared {
    fn association(&self) -> Option<Association> {
        self.association
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn meets(&self, association: &Association) {
        *self.association.lock().unwrap_or_else(PoisonError::into_inner) = Some(association.clone());
    }

    fn error(&self) -> Option<String> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Parameters of one end.
#[derive(Clone)]
struct Part {
    setting: Arc<Setting>,
    shared: Arc<Shared>,
}

impl Library {
    pub(super) fn start(setting: &Setting, hosts: &Hosts) -> io::Result<Self> {
        let setting = Arc::new(setting.clone());
        let (end, is_over) = watch::channel(());
        let numbers = 0..u8::try_from(setting.paths.len()).unwrap_or(u8::MAX);
        let mut library = Self {
            near: Arc::default(),
            far: Arc::default(),
            paths: numbers.map(topology::near_addr).collect(),
            end: Some(end),
            threads: Vec::new(),
        };
        for side in [Side::Far, Side::Near] {
            let part = Part {
                setting: Arc::clone(&setting),
                shared: Arc::clone(if side == Side::Near {
                    &library.near
                } else {
                    &library.far
                }),
            };
            let (hosts, is_over) = (hosts.clone(), is_over.clone());
            let thread = std::thread::Builder::new().name(format!("lab-{side:?}").to_lowercase());
            library
                .threads
                .push(thread.spawn(move || part.perform(side, &hosts, is_over))?);
        }
        Ok(library)
    }

    fn check(&self) -> io::Result<()> {
        match self.near.error().or_else(|| self.far.error()) {
            Some(error) => Err(io::Error::other(error)),
            None => Ok(()),
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.end = None;
        for thread in self.threads.drain(..) {
            // A panic has already been printed; the run then fails because there is no association.
            let _ = thread.join();
        }
    }
}

impl Stack for Library {
    fn is_connected(&mut self) -> io::Result<bool> {
        self.check()?;
        Ok(self.near.association().is_some() && self.far.association().is_some())
    }

    fn bytes_read(&mut self) -> io::Result<u64> {
        self.check()?;
        Ok(self.far.bytes.load(Ordering::Relaxed))
    }

    fn counters(&mut self) -> io::Result<StackCounters> {
        let association = self.near.association();
        let statistics = association.map(|association| association.statistics().paths);
        let statistics = statistics.unwrap_or_default();
        let sum = |local: Option<IpAddr>| {
            let mut sum = DataCounters::default();
            let paths = statistics
                .iter()
                .filter(|path| local.is_none_or(|local| path.addr.local.ip() == local));
            for path in paths {
                sum += DataCounters {
                    timeouts: Some(path.counters.timeouts),
                    fast_retransmits: Some(path.counters.fast_retransmits),
                    sent: Some(path.counters.payload_sent + path.counters.payload_retransmitted),
                    retransmitted: Some(path.counters.payload_retransmitted),
                    ..DataCounters::default()
                };
            }
            sum
        };
        let paths = self.paths.iter().map(|local| sum(Some(*local)));
        self.check()?;
        Ok(StackCounters::new(sum(None), paths.collect()).read(
            self.far.messages.load(Ordering::Relaxed),
            self.far.bytes.load(Ordering::Relaxed),
            self.far.damaged.load(Ordering::Relaxed),
        ))
    }
}

impl Part {
    /// Runs the end in its own thread.
    fn perform(self, side: Side, hosts: &Hosts, mut is_over: watch::Receiver<()>) {
        let shared = Arc::clone(&self.shared);
        let result = hosts.enter(side).and_then(|()| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                tokio::select! {
                    result = self.talk(side) => result,
                    // Nothing is sent on the channel; its sender is dropped at the end of the run.
                    _ = is_over.changed() => Ok(()),
                }
            })
        });
        if let Err(error) = result {
            *shared.error.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(format!("{side:?} end: {error}"));
        }
    }

    async fn talk(self, side: Side) -> io::Result<()> {
        let endpoint = self.builder(side).bind().await.map_err(io::Error::other)?;
        match side {
            Side::Far => {
                let Some(association) = endpoint.accept().await else {
                    return Err(io::ErrorKind::NotConnected.into());
                };
                self.shared.meets(&association);
                self.listen(&association).await
            }
            Side::Near => {
                let port = if self.setting.association.udp { PORT } else { 0 };
                let remotes = self
                    .addresses(Side::Far)
                    .map(|address| SocketAddr::new(address, port));
                let remotes: Vec<SocketAddr> = remotes.collect();
                let association = endpoint.connect(&remotes[..]).await.map_err(io::Error::other)?;
                self.shared.meets(&association);
                self.speak(&association).await
            }
        }
    }

    fn addresses(&self, side: Side) -> impl Iterator<Item = IpAddr> {
        let address = match side {
            Side::Near => topology::near_addr,
            Side::Far => topology::far_addr,
        };
        (0..u8::try_from(self.setting.paths.len()).unwrap_or(u8::MAX)).map(address)
    }

    fn builder(&self, side: Side) -> EndpointBuilder {
        let builder = Endpoint::builder().insecure();
        let builder =
            builder.association_config(scenario::config(self.setting.association, self.setting.policies));
        let builder = if side == Side::Far {
            builder.listen()
        } else {
            builder
        };
        self.addresses(side)
            .fold(builder, |builder, address| match self.setting.association.udp {
                true => builder.local(SocketAddr::new(address, PORT).to_string()),
                false => builder.local_raw(address),
            })
    }

    /// Sends without end, or a limited number of messages.
    async fn speak(&self, association: &Association) -> io::Result<()> {
        let Some((_, app)) = self.setting.apps.iter().next() else {
            return Ok(());
        };
        let streams = u64::from(app.streams.map_or(1, |streams| streams.0));
        let payload = TestPayload::new(app);
        let messages = app.messages.map_or(u64::MAX, |messages| u64::from(messages.0));
        for number in 0..messages {
            let stream = StreamId((number % streams) as u16);
            let message = Message::new(stream, payload.write(number / streams));
            let message = if app.unordered {
                message.unordered()
            } else {
                message
            };
            association.send(message).await.map_err(io::Error::other)?;
        }
        std::future::pending().await
    }

    async fn listen(&self, association: &Association) -> io::Result<()> {
        let mut expected: BTreeMap<StreamId, u64> = BTreeMap::new();
        let app = self.setting.apps.iter().next().map(|(_, app)| app);
        let payload = app.map(TestPayload::new);
        let may_overtake = app.is_some_and(|app| app.unordered);
        loop {
            let Some(message) = association.recv().await.map_err(io::Error::other)? else {
                return Err(io::ErrorKind::ConnectionAborted.into());
            };
            let next = expected.entry(message.stream).or_default();
            let is_good = payload.as_ref().is_some_and(|payload| {
                let number = payload.read(&message.payload);
                number.is_some_and(|number| may_overtake || number == payload.visible(*next))
            });
            *next += 1;
            self.shared
                .damaged
                .fetch_add(u64::from(!is_good), Ordering::Relaxed);
            self.shared.messages.fetch_add(1, Ordering::Relaxed);
            self.shared
                .bytes
                .fetch_add(message.payload.len() as u64, Ordering::Relaxed);
        }
    }
}
