//! Applications on an association: they send by a workload, read at their pace, and check everything.

mod download;
mod inbox;
mod meter;
mod outbox;
mod parts;
mod pattern;
mod workload;

use anabranch_proto::{Association, Event, Reliability};
use anabranch_types::{Instant, Rate};

pub use download::{Objects, Requests};
pub use inbox::{DeliveryError, Inbox};
pub use meter::{Meter, StreamMeter};
pub use outbox::{Draft, Outbox};
pub use parts::InParts;
pub use pattern::{LONGEST_MESSAGE, pattern};
use workload::MessageWriter;
pub use workload::{Bulk, Client, Even, Paced, Refill, Server, Streams, Workload};

/// Reading mode of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// Reads immediately.
    #[default]
    Eager,
    /// Does not read.
    Paused,
    /// Reads at most at this rate, message by message.
    AtRate(Rate),
}

/// One side's application on one association: sent messages, reading mode, and received messages.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    workloads: Vec<Workload>,
    reading: Reading,
    /// When a slow reader takes its next message.
    reads_next: Option<Instant>,
    outbox: Outbox,
    inbox: Inbox,
    events: Vec<(Instant, Event)>,
    /// The first message that was abandoned although it may not be.
    abandonment_error: Option<DeliveryError>,
    /// When the association was set up.
    set_up_at: Option<Instant>,
    /// When the peer last restarted.
    restarted_at: Option<Instant>,
}

impl Conversation {
    /// An application that reads immediately and sends according to the workloads.
    #[must_use]
    pub fn new(workloads: impl IntoIterator<Item = Workload>) -> Self {
        Self {
            workloads: workloads.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Sets the number of the life of its host: see [`Outbox::of_life`].
    #[must_use]
    pub fn of_life(self, life: u32) -> Self {
        Self {
            outbox: Outbox::of_life(life),
            ..self
        }
    }

    /// Measures messages instead of checking them: see [`Meter`]. Both sides have to use it.
    #[must_use]
    pub fn metered(self) -> Self {
        Self {
            outbox: Outbox::metered(),
            inbox: Inbox::metered(),
            ..self
        }
    }

    /// Sets the reading mode.
    #[must_use]
    pub fn reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// Handles the start of the association.
    pub(crate) fn begin(&mut self, now: Instant, association: &mut Association) {
        self.act(now, association);
    }

    pub(crate) fn on_event(&mut self, now: Instant, event: Event, association: &mut Association) {
        match event {
            Event::Readable => self.read(now, association),
            Event::Writable | Event::StreamLow(_) | Event::Connected { .. } => self.act(now, association),
            Event::Restarted { .. } => self.begin_anew(now, association),
            Event::Closed(_) => {
                self.read(now, association);
                self.workloads.clear();
            }
            _ => {}
        }
        self.note(now, event);
    }

    /// Handles an event of an association that no longer exists.
    pub(crate) fn note(&mut self, now: Instant, event: Event) {
        match event {
            Event::Connected { .. } => self.set_up_at = Some(now),
            Event::Restarted { .. } => self.restarted_at = Some(now),
            _ => {}
        }
        if let Event::Abandoned { message, sent, .. } = event {
            let error = self.outbox.note_abandoned(message, sent).err();
            self.abandonment_error = self.abandonment_error.take().or(error);
        }
        if !matches!(event, Event::Readable | Event::Writable | Event::StreamLow(_)) {
            self.events.push((now, event));
        }
    }

    pub(crate) fn on_deadline(&mut self, now: Instant, association: &mut Association) {
        if self.reads_next.take_if(|next| *next <= now).is_some() {
            self.read(now, association);
        }
        self.act(now, association);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let workloads = self.workloads.iter().filter_map(Workload::deadline);
        workloads.chain(self.reads_next).min()
    }

    /// Changes the reading mode.
    pub fn read_otherwise(&mut self, now: Instant, reading: Reading, association: &mut Association) {
        self.reading = reading;
        self.reads_next = None;
        self.read(now, association);
    }

    /// Adds a workload.
    pub fn also(&mut self, now: Instant, workload: Workload, association: &mut Association) {
        self.workloads.push(workload);
        self.act(now, association);
    }

    /// Stops all workloads and reading.
    pub fn fall_silent(&mut self) {
        self.workloads.clear();
        self.reads_next = None;
    }

    /// Sends one message now.
    ///
    /// # Errors
    ///
    /// The errors of [`Association::send`].
    pub fn send(
        &mut self,
        draft: Draft,
        association: &mut Association,
        now: Instant,
    ) -> Result<u32, anabranch_proto::SendError> {
        self.outbox.send(association, draft, now)
    }

    /// Sends one message now that may be abandoned.
    ///
    /// # Errors
    ///
    /// The errors of [`Association::send`].
    pub fn send_limited(
        &mut self,
        (draft, reliability): (Draft, Reliability),
        association: &mut Association,
        now: Instant,
    ) -> Result<u32, anabranch_proto::SendError> {
        self.outbox.send_limited(association, draft, reliability, now)
    }

    /// The first error found so far: of a received message, or of an abandoned one.
    #[must_use]
    pub fn delivery_error(&self) -> Option<&DeliveryError> {
        self.inbox.delivery_error().or(self.abandonment_error.as_ref())
    }

    /// Messages sent since the peer's last restart.
    #[must_use]
    pub const fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Messages received since the peer's last restart.
    #[must_use]
    pub const fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Association events, except readable and writable.
    #[must_use]
    pub fn events(&self) -> &[(Instant, Event)] {
        &self.events
    }

    /// Whether the peer restarted since `other`, a later association with it, was set up or restarted.
    pub(crate) fn restarted_since(&self, other: &Self) -> bool {
        other.set_up_at.is_some() && self.restarted_at > other.set_up_at.max(other.restarted_at)
    }

    /// The workloads.
    #[must_use]
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// Handles a restart of the peer: both sides number messages from 0 again.
    fn begin_anew(&mut self, now: Instant, association: &mut Association) {
        while let Some(received) = association.receive() {
            if let Some(message) = self.inbox.join(received) {
                self.inbox.take(now, &message);
            }
        }
        self.inbox.begin_anew();
        self.outbox = self.outbox.next_life();
    }

    fn act(&mut self, now: Instant, association: &mut Association) {
        let Self {
            workloads, outbox, ..
        } = self;
        let mut writer = MessageWriter {
            now,
            association,
            outbox,
        };
        for workload in workloads {
            workload.act(now, &mut writer);
        }
    }

    fn read(&mut self, now: Instant, association: &mut Association) {
        let before = self.inbox.messages();
        while self.may_read(now)
            && let Some(received) = association.receive()
        {
            if let Reading::AtRate(rate) = self.reading {
                self.reads_next = Some(now + rate.time_for(received.payload.len() as u64));
            }
            let Some(message) = self.inbox.join(received) else {
                continue;
            };
            self.inbox.take(now, &message);
            for workload in &mut self.workloads {
                workload.on_message(now, &message);
            }
        }
        if self.inbox.messages() > before {
            self.act(now, association);
        }
    }

    fn may_read(&self, now: Instant) -> bool {
        match self.reading {
            Reading::Eager => true,
            Reading::Paused => false,
            Reading::AtRate(_) => self.reads_next.is_none_or(|next| next <= now),
        }
    }
}
