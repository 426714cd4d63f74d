//! Soak host: an endpoint with an application on each association that sends, pauses, resizes, ends and reconnects.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_netsim::{Datagram, Host, Protocol};
use anabranch_proto::{
    Association, AssociationConfig, BufferSize, CloseReason, Endpoint, EndpointConfig, Event, Message,
};
use anabranch_sim::app::pattern;
use anabranch_types::{AssociationId, Instant, PathId, Ppid, Rng, Seed, StreamId};

use crate::checksums::{Reader, Sums};

/// Streams of each association.
const STREAMS: u16 = 4;
/// Maximum message size.
const MAX_MESSAGE: u64 = 20_000;
/// Maximum time between actions of an application; the mean is half of it.
const MAX_INTERVAL: Duration = Duration::from_secs(1);
/// How long an ended association is kept to answer its peer.
const LINGER: Duration = Duration::from_secs(5);

pub(crate) fn config() -> AssociationConfig {
    AssociationConfig {
        send_buffer: BufferSize::Fixed(64_000),
        receive_buffer: BufferSize::Fixed(32_000),
        max_message: MAX_MESSAGE as usize,
        outbound_streams: STREAMS,
        max_inbound_streams: STREAMS,
        // All paths may fail by chance for as long as eight timeouts; no association may end because of that.
        max_init_retransmits: 30,
        ..AssociationConfig::default()
    }
}

/// Totals of ended associations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Ended by a graceful shutdown.
    pub(crate) finished: u64,
    /// Of these, ended by timeout on the accepting side: the last packet was lost, then the NAT rebound, and the initiator,
    /// with nothing more to send, could not be reached.
    pub(crate) one_sided: u64,
    /// Aborted by one side.
    pub(crate) aborted: u64,
    /// Messages sent on those that finished.
    pub(crate) sent: Sums,
    /// Messages read on those that finished.
    pub(crate) read: Sums,
}

/// An endpoint with an application on each association.
pub(crate) struct SoakHost {
    endpoint: Endpoint,
    apps: BTreeMap<AssociationId, App>,
    wakes: BTreeSet<(Instant, AssociationId)>,
    rng: Rng,
    /// Whom to connect to, and how long associations live on average; `None` on the accepting side.
    calls: Option<(Vec<SocketAddr>, Duration)>,
    /// Nobody sends, dawdles or ends.
    pub(crate) quiet: bool,
    /// Ended associations are not replaced.
    pub(crate) closing: bool,
    /// Ended associations are replaced later.
    pub(crate) connects_later: bool,
    pub(crate) totals: Totals,
}

/// The application on one association.
struct App {
    /// The local addresses that the peer was told, in the handshake or since.
    announced: Vec<SocketAddr>,
    next_number: u32,
    sent: Sums,
    reader: Reader,
    pauses_until: Option<Instant>,
    /// When it ends its association; never on the side that is called.
    ends_at: Option<Instant>,
    peer_shuts_down: bool,
    closed: bool,
}

impl SoakHost {
    pub(crate) fn new(
        local: Vec<SocketAddr>,
        seed: Seed,
        calls: Option<(Vec<SocketAddr>, Duration)>,
    ) -> Self {
        let endpoint = EndpointConfig {
            local,
            accept: calls.is_none().then(config),
            ..EndpointConfig::default()
        };
        Self {
            endpoint: Endpoint::new(endpoint, seed.split("endpoint")),
            apps: BTreeMap::new(),
            wakes: BTreeSet::new(),
            rng: seed.split("crowd").rng(),
            calls,
            quiet: false,
            closing: false,
            connects_later: false,
            totals: Totals::default(),
        }
    }

    /// Opens one more association.
    pub(crate) fn connect(&mut self, now: Instant) {
        let (remotes, life) = self.calls.as_ref().expect("only who calls connects");
        let id = self.endpoint.connect(now, remotes, &config());
        let life = life.mul_f64(2.0 * self.rng.unit());
        self.start_app(now, id.expect("a free port"), Some(now + life));
    }

    fn start_app(&mut self, now: Instant, id: AssociationId, ends_at: Option<Instant>) {
        let app = App {
            announced: self.endpoint.local().to_vec(),
            next_number: 0,
            sent: Sums::default(),
            reader: Reader::new(STREAMS),
            pauses_until: None,
            ends_at,
            peer_shuts_down: false,
            closed: false,
        };
        self.apps.insert(id, app);
        self.wakes.insert((now, id));
    }

    pub(crate) fn associations(&self) -> impl ExactSizeIterator<Item = &Association> {
        self.endpoint.associations()
    }

    /// The host has `address` instead of `former` from now on.
    pub(crate) fn renumber(&mut self, former: SocketAddr, address: SocketAddr) {
        // The order stays, because the handshake pairs the addresses of both ends by it.
        for known in self.endpoint.local().to_vec() {
            self.endpoint.remove_local(known);
            self.endpoint
                .add_local(if known == former { address } else { known });
        }
        let ids: Vec<AssociationId> = self.apps.keys().copied().collect();
        ids.into_iter().for_each(|id| self.follow(id));
    }

    /// Later associations are set up to `address` instead of `former`.
    pub(crate) fn call_instead(&mut self, former: SocketAddr, address: SocketAddr) {
        let (remotes, _) = self.calls.as_mut().expect("only who calls connects");
        for remote in remotes.iter_mut().filter(|remote| **remote == former) {
            *remote = address;
        }
    }

    /// Tells the peer which addresses have come and gone, as a driver does.
    fn follow(&mut self, id: AssociationId) {
        let present = self.endpoint.local().to_vec();
        let (Some(app), Some(mut association)) = (self.apps.get_mut(&id), self.endpoint.association_mut(id))
        else {
            return;
        };
        if !association.is_connected() {
            return;
        }
        app.announced.retain(|address| present.contains(address));
        for address in &present {
            if !app.announced.contains(address) && association.add_local_address(*address).is_ok() {
                app.announced.push(*address);
            }
        }
        let mut gone: Vec<SocketAddr> = association
            .path_addresses()
            .iter()
            .map(|path| path.local)
            .filter(|local| !present.contains(local))
            .collect();
        gone.dedup();
        for address in gone {
            // What is refused is repeated when the application wakes up.
            let _ = association.remove_local_address(address);
        }
    }

    /// Reads all data and shuts down all initiated associations, without replacing them.
    pub(crate) fn end(&mut self, now: Instant) {
        self.closing = true;
        for (id, app) in &mut self.apps {
            app.pauses_until = None;
            let mut association = self
                .endpoint
                .association_mut(*id)
                .expect("every association has an app");
            app.read(&mut association);
            if self.calls.is_some() {
                association.shutdown();
            }
        }
        self.serve(now);
    }

    fn wake(&mut self, now: Instant, id: AssociationId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if app.closed && self.connects_later && !self.closing {
            self.wakes.insert((now + MAX_INTERVAL, id));
            return;
        }
        if app.closed {
            self.apps.remove(&id);
            self.endpoint.forget(id);
            if self.calls.is_some() && !self.closing {
                self.connect(now);
            }
            return;
        }
        self.follow(id);
        let app = self.apps.get_mut(&id).expect("it was there");
        let mut association = self
            .endpoint
            .association_mut(id)
            .expect("every association has an app");
        app.act(now, &mut association, &mut self.rng, self.quiet || self.closing);
        let pause = MAX_INTERVAL.mul_f64(self.rng.unit());
        self.wakes.insert((now + pause, id));
    }

    fn serve(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected { incoming: true } => self.start_app(now, id, None),
                Event::Readable => self.read(id),
                Event::Closed(reason) => self.close(now, id, &reason),
                Event::PeerShutdown => {
                    let app = self.apps.get_mut(&id).expect("events follow the first one");
                    app.peer_shuts_down = true;
                }
                Event::PeerError(what) => panic!("{id:?}: the peer reports an error: {what}"),
                _ => {}
            }
        }
    }

    fn read(&mut self, id: AssociationId) {
        let app = self.apps.get_mut(&id).expect("events follow the first one");
        let mut association = self
            .endpoint
            .association_mut(id)
            .expect("every association has an app");
        if app.pauses_until.is_none() {
            app.read(&mut association);
        }
    }

    fn close(&mut self, now: Instant, id: AssociationId, reason: &CloseReason) {
        let app = self.apps.get_mut(&id).expect("events follow the first one");
        let mut association = self
            .endpoint
            .association_mut(id)
            .expect("every association has an app");
        app.read(&mut association);
        app.closed = true;
        self.wakes.insert((now + LINGER, id));
        let (calls, finishing) = (self.calls.is_some(), app.peer_shuts_down);
        match reason {
            CloseReason::Finished => self.totals.finish(app),
            CloseReason::ShutdownTimeout | CloseReason::PeerUnreachable if finishing && !calls => {
                self.totals.one_sided += 1;
                self.totals.finish(app);
            }
            // T5-shutdown-guard expires if impairments delay the shutdown for too long.
            CloseReason::Aborted | CloseReason::ShutdownTimeout if calls => self.totals.aborted += 1,
            // If the ABORT is lost, the peer turns out to be unreachable.
            CloseReason::AbortedByPeer { .. } | CloseReason::PeerUnreachable if !calls => {
                self.totals.aborted += 1;
            }
            _ => panic!("at {now}: {id:?} ended without a cause: {reason}"),
        }
    }
}

impl Totals {
    fn finish(&mut self, app: &App) {
        self.finished += 1;
        self.sent.add(app.sent);
        self.read.add(app.reader.sums);
    }
}

impl App {
    fn act(&mut self, now: Instant, association: &mut Association, rng: &mut Rng, quiet: bool) {
        if quiet || self.pauses_until.is_some_and(|until| until <= now) {
            self.pauses_until = None;
            self.read(association);
        }
        if quiet || !association.is_connected() {
            return;
        }
        if self.ends_at.take_if(|end| *end <= now).is_some() {
            if rng.chance(1, 10) {
                association.abort(b"enough");
            } else {
                association.shutdown();
            }
            return;
        }
        match rng.below(100) {
            0 => self.pauses_until = Some(now + Duration::from_secs(1 + rng.below(20))),
            1 => association.set_primary(PathId(rng.below(3) as u8)),
            2 => {
                let size = MAX_MESSAGE + rng.below(50_000);
                association.set_send_buffer(size).expect("large enough");
                // Refused once the peer has started a shutdown.
                let _ = association.set_receive_buffer(size);
            }
            _ => self.send(association, rng),
        }
    }

    /// Skips the message if there is no room for it.
    fn send(&mut self, association: &mut Association, rng: &mut Rng) {
        let bytes = match rng.below(10) {
            0 => 1 + rng.below(MAX_MESSAGE),
            1..4 => 1_000,
            _ => 1 + rng.below(200),
        } as usize;
        let (number, stream) = (self.next_number, StreamId(rng.below(STREAMS.into()) as u16));
        let message = Message::new(stream, pattern(number, bytes)).with_ppid(Ppid(number));
        let unordered = rng.chance(1, 4);
        let message = if unordered { message.unordered() } else { message };
        if association.send(message).is_ok() {
            self.next_number += 1;
            self.sent.add_message(number, bytes, stream, unordered);
        }
    }

    fn read(&mut self, association: &mut Association) {
        while let Some(message) = association.receive() {
            self.reader.take(&message);
        }
    }
}

impl Host for SoakHost {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        let path = datagram.path.reversed();
        self.endpoint
            .handle_datagram(now, path, datagram.ecn, &datagram.payload);
        self.serve(now);
    }

    fn on_deadline(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        while self.wakes.first().is_some_and(|(at, _)| *at <= now) {
            let (_, id) = self.wakes.pop_first().expect("the first was looked at");
            self.wake(now, id);
        }
        self.serve(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        let mut payload = Vec::new();
        let transmit = self.endpoint.poll_transmit(now, &mut payload, 1)?;
        self.serve(now);
        Some(Datagram {
            path: transmit.path,
            protocol: Protocol::SCTP,
            ecn: transmit.ecn,
            may_fragment: transmit.may_fragment,
            payload,
        })
    }

    fn deadline(&self) -> Option<Instant> {
        let wake = self.wakes.first().map(|(at, _)| *at);
        wake.into_iter().chain(self.endpoint.poll_timeout()).min()
    }
}
