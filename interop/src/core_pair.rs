//! Two cores connected by a simulated link in virtual time, with a capture that tshark checks.

use std::io::Write as _;
use std::time::Duration;

use anabranch_netsim::capture::SharedBuffer;
use anabranch_netsim::link::Loss;
use anabranch_netsim::topology::{far_addr, near_addr, one_path};
use anabranch_netsim::{Datagram, Host, HostId, LinkConfig, Network, Probability, Protocol};
use anabranch_types::{Ecn, Instant, PathAddr, Rate, Seed};
use tempfile::NamedTempFile;

use crate::core::{Core, Ending};
use crate::messages::{Inbox, Workload};
use crate::tools::TSHARK;
use crate::{TsharkReport, dissect};

/// UDP ports of the two sides: the checks of our own packets are stricter.
const PORTS: [u16; 2] = [9_899, 9_900];

/// Limit of a test in virtual time.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The path between the near and the far side.
#[must_use]
pub fn path() -> PathAddr {
    PathAddr {
        local: (near_addr(0), PORTS[0]).into(),
        remote: (far_addr(0), PORTS[1]).into(),
    }
}

/// A link that loses 2 % of packets, reorders 5 % and duplicates 1 %.
#[must_use]
pub fn rough_link() -> LinkConfig {
    let link = LinkConfig::new(Rate::mbit(20), Duration::from_millis(10))
        .loss(Loss::Bernoulli(Probability::of(0.02)))
        .reorder(Probability::of(0.05), Duration::from_millis(8));
    link.duplicate(Probability::of(0.01))
}

/// A core with the application that sends its workload and checks what it receives.
pub struct CoreHost {
    core: Box<dyn Core>,
    path: PathAddr,
    workload: Workload,
    sent: u32,
    received: Inbox,
    /// Errors in received messages or packets.
    errors: Vec<String>,
}

impl CoreHost {
    /// Whether everything was sent, acknowledged and received.
    fn is_done(&mut self) -> bool {
        self.sent == self.workload.count && self.received.is_complete() && self.core.is_flushed()
    }

    fn serve(&mut self) {
        while let Some((stream, payload)) = self.core.read() {
            self.errors.extend(self.received.take(stream, &payload).err());
        }
        while self.core.accepts_messages() && self.sent < self.workload.count {
            if !self.core.send(&self.workload.message(self.sent)) {
                break;
            }
            self.sent += 1;
        }
    }
}

impl Host for CoreHost {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        self.errors.extend(dissect::error(&datagram.payload));
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

/// Two cores with a link between them.
pub struct CorePair {
    network: Network<CoreHost>,
    /// Host of our core.
    pub near: HostId,
    /// Host of the other implementation's core.
    pub far: HostId,
    record: SharedBuffer,
}

impl CorePair {
    /// Connects `near`, our core, and `far`, each with its workload.
    #[must_use]
    pub fn new(
        near: (Box<dyn Core>, Workload),
        far: (Box<dyn Core>, Workload),
        link: &LinkConfig,
        seed: u64,
    ) -> Self {
        let mut network = Network::new(Seed(seed));
        let workloads = [near.1, far.1];
        let host = |(core, workload): (Box<dyn Core>, Workload), path, other: Workload| CoreHost {
            core,
            path,
            workload,
            sent: 0,
            received: Inbox::new(other),
            errors: Vec::new(),
        };
        let near = network.add_host(host(near, path(), workloads[1]));
        let far = network.add_host(host(far, path().reversed(), workloads[0]));
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

    /// Acts on the core of a side.
    pub fn act(&mut self, who: HostId, act: impl FnOnce(&mut dyn Core, Instant)) {
        self.network.act(who, |host, now| {
            act(&mut *host.core, now);
            host.serve();
        });
    }

    /// Initiates an association from `who`.
    pub fn connect(&mut self, who: HostId) {
        self.act(who, |core, now| core.connect(now));
    }

    /// Runs until both sides have sent and received everything.
    ///
    /// # Panics
    ///
    /// If that does not happen in time, or an error was found.
    pub fn talk(&mut self) {
        self.run_until(&[self.near, self.far], CoreHost::is_done, "talked");
    }

    /// Runs until both sides report `ending`.
    ///
    /// # Panics
    ///
    /// If that does not happen.
    pub fn end(&mut self, ending: Ending) {
        let ended = |host: &mut CoreHost| host.core.ending().as_ref() == Some(&ending);
        self.run_until(&[self.near, self.far], ended, "ended");
    }

    /// Runs until our side reports `ending`.
    ///
    /// # Panics
    ///
    /// If that does not happen.
    pub fn wait_for_own_end(&mut self, ending: Ending) {
        let ended = |host: &mut CoreHost| host.core.ending().as_ref() == Some(&ending);
        self.run_until(&[self.near], ended, "ended");
    }

    fn run_for(&mut self, time: Duration) {
        self.network.run_until(self.network.now() + time);
    }

    fn run_until(&mut self, who: &[HostId], mut done: impl FnMut(&mut CoreHost) -> bool, what: &str) {
        let end = self.network.now() + TIMEOUT;
        while !who.iter().all(|side| done(self.network.host_mut(*side))) {
            assert!(self.network.now() < end, "{what}: {}", self.state());
            self.run_for(Duration::from_millis(5));
            self.check();
        }
    }

    fn check(&self) {
        for (_, host) in self.network.hosts() {
            assert!(host.errors.is_empty(), "{:#?}", host.errors);
        }
    }

    fn state(&self) -> String {
        let sides = self.network.hosts().map(|(_, host)| {
            let CoreHost {
                core, sent, received, ..
            } = host;
            format!(
                "sent {sent}, received {}, {:?}",
                received.arrived(),
                core.ending()
            )
        });
        sides.collect::<Vec<_>>().join("; ")
    }

    /// Checks the capture with tshark, if it is installed.
    ///
    /// # Panics
    ///
    /// If tshark reports an error, or packets have a checksum of zero.
    pub fn judge(self) {
        self.judge_checksums(false);
    }

    /// Like [`Self::judge`], where packets must have a checksum of zero (RFC 9653).
    ///
    /// # Panics
    ///
    /// If tshark reports an error, or no packet has a checksum of zero.
    pub fn judge_zero_checksums(self) {
        self.judge_checksums(true);
    }

    fn judge_checksums(mut self, are_zero: bool) {
        self.check();
        let Some(tshark) = TSHARK.find() else { return };
        self.network.finish_captures().expect("memory takes everything");
        let mut file = NamedTempFile::with_suffix(".pcapng").expect("a file for the recording");
        file.write_all(&self.record.take()).expect("room on the disk");
        let report = TsharkReport::of(&tshark, file.path(), PORTS[0]).expect("tshark runs");
        assert!(report.good_checksums > 0 && report.is_clean(), "{report:#?}");
        assert_eq!(report.zero_checksums > 0, are_zero, "{report:#?}");
    }
}
