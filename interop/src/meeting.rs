//! What if two cores meet over a bad link? Virtual time, everything that passes recorded.

use std::io::Write as _;
use std::time::Duration;

use anabranch_netsim::capture::SharedBuffer;
use anabranch_netsim::link::Loss;
use anabranch_netsim::topology::{far, near, one_path};
use anabranch_netsim::{Datagram, Host, HostId, LinkConfig, Network, Probability, Protocol};
use anabranch_types::{Ecn, Instant, PathAddr, Rate, Seed};
use tempfile::NamedTempFile;

use crate::core::{Core, Ending};
use crate::letters::{Inbox, Plan};
use crate::tools::TSHARK;
use crate::{Verdict, dissect};

/// UDP ports of the two sides: the judge holds ours to a higher standard.
const PORTS: [u16; 2] = [9_899, 9_900];

/// No conversation of the tests takes as long, in virtual time.
const PATIENCE: Duration = Duration::from_secs(600);

/// The way between the near side and the far side.
#[must_use]
pub fn path() -> PathAddr {
    PathAddr {
        local: (near(0), PORTS[0]).into(),
        remote: (far(0), PORTS[1]).into(),
    }
}

/// A link that loses every fiftieth packet, holds back every twentieth and doubles every hundredth.
#[must_use]
pub fn rough_link() -> LinkConfig {
    let link = LinkConfig::new(Rate::mbit(20), Duration::from_millis(10))
        .loss(Loss::Bernoulli(Probability::of(0.02)))
        .reorder(Probability::of(0.05), Duration::from_millis(8));
    link.duplicate(Probability::of(0.01))
}

/// A core, what it has to say, and what it heard.
pub struct Speaker {
    core: Box<dyn Core>,
    path: PathAddr,
    plan: Plan,
    said: u32,
    heard: Inbox,
    /// What was wrong with what it heard, or with a packet of the other.
    complaints: Vec<String>,
}

impl Speaker {
    /// Whether it said everything, which was acknowledged, and heard everything.
    fn is_done(&mut self) -> bool {
        self.said == self.plan.count && self.heard.is_complete() && self.core.is_flushed()
    }

    fn serve(&mut self) {
        while let Some((stream, payload)) = self.core.read() {
            self.complaints.extend(self.heard.take(stream, &payload).err());
        }
        while self.core.is_connected() && self.said < self.plan.count {
            if !self.core.send(&self.plan.letter(self.said)) {
                break;
            }
            self.said += 1;
        }
    }
}

impl Host for Speaker {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        self.complaints.extend(dissect::complaint(&datagram.payload));
        self.core.on_packet(now, &datagram.payload);
        self.serve();
    }

    fn on_deadline(&mut self, now: Instant) {
        self.core.on_deadline(now);
        self.serve();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        let payload = self.core.poll_packet(now)?;
        Some(Datagram {
            path: self.path,
            protocol: Protocol::SCTP,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload,
        })
    }

    fn deadline(&self) -> Option<Instant> {
        self.core.deadline()
    }
}

/// Two cores, and a link between them.
pub struct Meeting {
    network: Network<Speaker>,
    /// Ours.
    pub near: HostId,
    /// The other.
    pub far: HostId,
    record: SharedBuffer,
}

impl Meeting {
    /// Of `near`, which is ours, and `far`, with what each has to say.
    #[must_use]
    pub fn new(
        near: (Box<dyn Core>, Plan),
        far: (Box<dyn Core>, Plan),
        link: &LinkConfig,
        seed: u64,
    ) -> Self {
        let mut network = Network::new(Seed(seed));
        let plans = [near.1, far.1];
        let speaker = |(core, plan): (Box<dyn Core>, Plan), path, other: Plan| Speaker {
            core,
            path,
            plan,
            said: 0,
            heard: Inbox::new(other),
            complaints: Vec::new(),
        };
        let near = network.add_host(speaker(near, path(), plans[1]));
        let far = network.add_host(speaker(far, path().reversed(), plans[0]));
        one_path(&mut network, (near, far), link);
        let record = SharedBuffer::default();
        network.capture_host(near, "near", record.clone());
        Self {
            network,
            near,
            far,
            record,
        }
    }

    /// Lets a side do something.
    pub fn act(&mut self, who: HostId, act: impl FnOnce(&mut dyn Core, Instant)) {
        self.network.act(who, |speaker, now| {
            act(&mut *speaker.core, now);
            speaker.serve();
        });
    }

    /// Begins an association from `who`.
    pub fn connect(&mut self, who: HostId) {
        self.act(who, |core, now| core.connect(now));
    }

    /// Time passes until each side has said and heard everything.
    ///
    /// # Panics
    ///
    /// If that does not happen, or something was wrong.
    pub fn talk(&mut self) {
        self.run_until(&[self.near, self.far], Speaker::is_done, "talked");
    }

    /// Time passes until both sides know the end, which must be `ending`.
    ///
    /// # Panics
    ///
    /// If that does not happen.
    pub fn end(&mut self, ending: Ending) {
        let ended = |speaker: &mut Speaker| speaker.core.ending().as_ref() == Some(&ending);
        self.run_until(&[self.near, self.far], ended, "ended");
    }

    /// Time passes until our side knows the end, which must be `ending`, whatever the other knows.
    ///
    /// # Panics
    ///
    /// If that does not happen.
    pub fn end_for_us(&mut self, ending: Ending) {
        let ended = |speaker: &mut Speaker| speaker.core.ending().as_ref() == Some(&ending);
        self.run_until(&[self.near], ended, "ended");
    }

    fn run_for(&mut self, time: Duration) {
        self.network.run_until(self.network.now() + time);
    }

    fn run_until(&mut self, who: &[HostId], mut done: impl FnMut(&mut Speaker) -> bool, what: &str) {
        let end = self.network.now() + PATIENCE;
        while !who.iter().all(|side| done(self.network.host_mut(*side))) {
            assert!(self.network.now() < end, "{what}: {}", self.state());
            self.run_for(Duration::from_millis(5));
            self.check();
        }
    }

    fn check(&self) {
        for (_, speaker) in self.network.hosts() {
            assert!(speaker.complaints.is_empty(), "{:#?}", speaker.complaints);
        }
    }

    fn state(&self) -> String {
        let sides = self.network.hosts().map(|(_, speaker)| {
            let Speaker {
                core, said, heard, ..
            } = speaker;
            format!("said {said}, heard {}, {:?}", heard.arrived(), core.ending())
        });
        sides.collect::<Vec<_>>().join("; ")
    }

    /// Gives the recording to tshark. Nothing happens where there is none.
    ///
    /// # Panics
    ///
    /// If it has something to complain about.
    pub fn judge(mut self) {
        self.check();
        let Some(tshark) = TSHARK.find() else { return };
        self.network.finish_captures().expect("memory takes everything");
        let mut file = NamedTempFile::with_suffix(".pcapng").expect("a file for the recording");
        file.write_all(&self.record.take()).expect("room on the disk");
        let verdict = Verdict::of(&tshark, file.path(), PORTS[0]).expect("tshark runs");
        assert!(verdict.good_checksums > 0 && verdict.is_clean(), "{verdict:#?}");
    }
}
