//! What do a thousand applications on one host do? They talk, dawdle, change their minds, end, and begin anew.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_netsim::{Datagram, Host, Protocol};
use anabranch_proto::{
    Association, AssociationConfig, CloseReason, Endpoint, EndpointConfig, Event, Message,
};
use anabranch_sim::app::pattern;
use anabranch_types::{AssociationId, Instant, PathId, Ppid, Rng, Seed, StreamId};

use crate::ledger::{Reader, Sums};

/// Streams of each association.
const STREAMS: u16 = 4;
/// The longest message.
const LONGEST: u64 = 20_000;
/// From one deed of an application to its next, at most; half of it on average.
const PACE: Duration = Duration::from_secs(1);
/// How long an ended association is kept for its peer's last words.
const AFTERLIFE: Duration = Duration::from_secs(5);

pub(crate) fn config() -> AssociationConfig {
    AssociationConfig {
        send_buffer: 64_000,
        receive_buffer: 32_000,
        max_message: LONGEST as usize,
        outbound_streams: STREAMS,
        max_inbound_streams: STREAMS,
        // Fate may mislead every path at once, for as long as eight timeouts take. Nobody is to die of bad luck.
        max_init_retransmits: 30,
        ..AssociationConfig::default()
    }
}

/// What ended associations came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// That both sides finished in peace.
    pub(crate) finished: u64,
    /// Of these, on the side that is called, that did not hear of it: the last packet was lost, and then a translator
    /// forgot where the other side is, which has nothing more to say and so cannot be found again.
    pub(crate) unheard: u64,
    /// That one side aborted.
    pub(crate) aborted: u64,
    /// Of those that finished.
    pub(crate) sent: Sums,
    /// Of those that finished.
    pub(crate) read: Sums,
}

/// An endpoint, and an application on each of its associations.
pub(crate) struct Crowd {
    endpoint: Endpoint,
    guests: BTreeMap<AssociationId, Guest>,
    wakes: BTreeSet<(Instant, AssociationId)>,
    rng: Rng,
    /// Whom to connect to, and how long associations live on average; `None` on the side that is called.
    calls: Option<(Vec<SocketAddr>, Duration)>,
    /// Nobody sends, dawdles or ends.
    pub(crate) calm: bool,
    /// Whoever ends is not replaced.
    pub(crate) closing: bool,
    pub(crate) totals: Totals,
}

/// The application on one association.
struct Guest {
    next_number: u32,
    sent: Sums,
    reader: Reader,
    dawdles_until: Option<Instant>,
    /// When it ends its association; never on the side that is called.
    ends_at: Option<Instant>,
    peer_finishes: bool,
    closed: bool,
}

impl Crowd {
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
            guests: BTreeMap::new(),
            wakes: BTreeSet::new(),
            rng: seed.split("crowd").rng(),
            calls,
            calm: false,
            closing: false,
            totals: Totals::default(),
        }
    }

    /// Begins an association more.
    pub(crate) fn connect(&mut self, now: Instant) {
        let (remotes, life) = self.calls.as_ref().expect("only who calls connects");
        let id = self.endpoint.connect(now, remotes, &config());
        let life = life.mul_f64(2.0 * self.rng.unit());
        self.settle_in(now, id.expect("a free port"), Some(now + life));
    }

    fn settle_in(&mut self, now: Instant, id: AssociationId, ends_at: Option<Instant>) {
        let guest = Guest {
            next_number: 0,
            sent: Sums::default(),
            reader: Reader::new(STREAMS),
            dawdles_until: None,
            ends_at,
            peer_finishes: false,
            closed: false,
        };
        self.guests.insert(id, guest);
        self.wakes.insert((now, id));
    }

    pub(crate) fn associations(&self) -> impl ExactSizeIterator<Item = &Association> {
        self.endpoint.associations()
    }

    /// Everybody reads what there is, and all who call finish. No association is replaced.
    pub(crate) fn end(&mut self, now: Instant) {
        self.closing = true;
        for (id, guest) in &mut self.guests {
            guest.dawdles_until = None;
            let mut association = self.endpoint.association_mut(*id).expect("it has a guest");
            guest.read(&mut association);
            if self.calls.is_some() {
                association.shutdown();
            }
        }
        self.serve(now);
    }

    fn wake(&mut self, now: Instant, id: AssociationId) {
        let Some(guest) = self.guests.get_mut(&id) else {
            return;
        };
        if guest.closed {
            self.guests.remove(&id);
            self.endpoint.forget(id);
            if self.calls.is_some() && !self.closing {
                self.connect(now);
            }
            return;
        }
        let mut association = self.endpoint.association_mut(id).expect("it has a guest");
        guest.act(now, &mut association, &mut self.rng, self.calm || self.closing);
        let pause = PACE.mul_f64(self.rng.unit());
        self.wakes.insert((now + pause, id));
    }

    fn serve(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected { incoming: true } => self.settle_in(now, id, None),
                Event::Readable => self.read(id),
                Event::Closed(reason) => self.bury(now, id, &reason),
                Event::PeerShutdown => {
                    let guest = self.guests.get_mut(&id).expect("events follow the first one");
                    guest.peer_finishes = true;
                }
                Event::PeerError(what) => panic!("{id:?}: the peer complains: {what}"),
                _ => {}
            }
        }
    }

    fn read(&mut self, id: AssociationId) {
        let guest = self.guests.get_mut(&id).expect("events follow the first one");
        let mut association = self.endpoint.association_mut(id).expect("it has a guest");
        if guest.dawdles_until.is_none() {
            guest.read(&mut association);
        }
    }

    fn bury(&mut self, now: Instant, id: AssociationId, reason: &CloseReason) {
        let guest = self.guests.get_mut(&id).expect("events follow the first one");
        let mut association = self.endpoint.association_mut(id).expect("it has a guest");
        guest.read(&mut association);
        guest.closed = true;
        self.wakes.insert((now + AFTERLIFE, id));
        let (calls, finishing) = (self.calls.is_some(), guest.peer_finishes);
        match reason {
            CloseReason::Finished => self.totals.finish(guest),
            CloseReason::ShutdownTimeout | CloseReason::PeerUnreachable if finishing && !calls => {
                self.totals.unheard += 1;
                self.totals.finish(guest);
            }
            // T5-shutdown-guard ends what storms let the peer not finish in time.
            CloseReason::Aborted | CloseReason::ShutdownTimeout if calls => self.totals.aborted += 1,
            // Who does not hear of it finds that nobody is there any more.
            CloseReason::AbortedByPeer(_) | CloseReason::PeerUnreachable if !calls => {
                self.totals.aborted += 1;
            }
            _ => panic!("at {now}: {id:?} ended without a cause: {reason}"),
        }
    }
}

impl Totals {
    fn finish(&mut self, guest: &Guest) {
        self.finished += 1;
        self.sent.add(guest.sent);
        self.read.add(guest.reader.sums);
    }
}

impl Guest {
    fn act(&mut self, now: Instant, association: &mut Association, rng: &mut Rng, calm: bool) {
        if calm || self.dawdles_until.is_some_and(|until| until <= now) {
            self.dawdles_until = None;
            self.read(association);
        }
        if calm || !association.is_connected() {
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
            0 => self.dawdles_until = Some(now + Duration::from_secs(1 + rng.below(20))),
            1 => association.set_primary(PathId(rng.below(3) as u8)),
            2 => {
                let size = LONGEST + rng.below(50_000);
                association.set_send_buffer(size).expect("large enough");
                // Refused once the peer has asked to finish.
                let _ = association.set_receive_buffer(size);
            }
            _ => self.send(association, rng),
        }
    }

    /// A message that finds no room is not sent at all.
    fn send(&mut self, association: &mut Association, rng: &mut Rng) {
        let bytes = match rng.below(10) {
            0 => 1 + rng.below(LONGEST),
            1..4 => 1_000,
            _ => 1 + rng.below(200),
        } as usize;
        let (number, stream) = (self.next_number, StreamId(rng.below(STREAMS.into()) as u16));
        let message = Message::new(stream, pattern(number, bytes)).with_ppid(Ppid(number));
        let unordered = rng.chance(1, 4);
        let message = if unordered { message.unordered() } else { message };
        if association.send(message).is_ok() {
            self.next_number += 1;
            self.sent.note(number, bytes, stream, unordered);
        }
    }

    fn read(&mut self, association: &mut Association) {
        while let Some(message) = association.receive() {
            self.reader.take(&message);
        }
    }
}

impl Host for Crowd {
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
