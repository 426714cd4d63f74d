//! How does a test with a foreign program go? Both say and hear what is planned, one of them ends it, both agree on how.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anabranch_interop::tools::{TSHARK, free_udp_port};
use anabranch_interop::{Host, Hosts, Inbox, Peer, Plan, Report, Stack, Verdict};
use anabranch_proto::{Association, AssociationConfig, CloseReason, EndpointConfig, Message};

/// Far more than a healthy run takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who ends it, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    WeFinish,
    ItFinishes,
    WeAbort,
    ItAborts,
}

impl End {
    /// As the peer is told.
    const fn option(self) -> &'static str {
        match self {
            Self::WeFinish | Self::WeAbort => "wait",
            Self::ItFinishes => "shutdown",
            Self::ItAborts => "abort",
        }
    }

    const fn is_abort(self) -> bool {
        matches!(self, Self::WeAbort | Self::ItAborts)
    }
}

/// A conversation before it takes place.
pub(crate) struct Conversation {
    stack: Stack,
    /// What we say; the peer says the same, `it_says` messages of it.
    plan: Plan,
    it_says: u32,
    end: End,
    we_connect: bool,
    it_connects: bool,
    config: AssociationConfig,
    options: Vec<String>,
    cables: u8,
    raw: bool,
    /// A kind of chunk that the peer must send.
    it_sends: Option<u8>,
}

impl Conversation {
    /// In which both say `plan`; we connect, and finish.
    pub(crate) fn with(stack: Stack, plan: Plan) -> Self {
        let config = match stack {
            Stack::Usrsctp => AssociationConfig::default(),
            Stack::Pion | Stack::Aiortc => AssociationConfig::webrtc(),
        };
        Self {
            stack,
            plan,
            it_says: plan.count,
            end: End::WeFinish,
            we_connect: true,
            it_connects: false,
            config,
            options: Vec::new(),
            cables: 0,
            raw: false,
            it_sends: None,
        }
    }

    /// The peer connects.
    pub(crate) fn it_connects(self) -> Self {
        Self {
            we_connect: false,
            ..self.both_connect()
        }
    }

    /// Both connect at once.
    pub(crate) fn both_connect(self) -> Self {
        Self {
            it_connects: true,
            ..self
        }
    }

    /// Ended otherwise.
    pub(crate) fn ends(self, end: End) -> Self {
        Self { end, ..self }
    }

    /// The peer says so many messages only.
    pub(crate) fn it_says(self, it_says: u32) -> Self {
        Self { it_says, ..self }
    }

    /// The peer's program gets these options too.
    pub(crate) fn option(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(ToString::to_string));
        self
    }

    /// Our side is set up otherwise.
    pub(crate) fn we(mut self, change: impl FnOnce(&mut AssociationConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// On hosts of their own, joined by so many cables, which root can make.
    pub(crate) fn over_cables(self, cables: u8) -> Self {
        Self { cables, ..self }
    }

    /// Without UDP, on hosts of their own.
    pub(crate) fn directly_over_ip(self) -> Self {
        Self { raw: true, ..self }
    }

    /// The peer has to send a chunk of this kind.
    pub(crate) fn it_sends(self, kind: u8) -> Self {
        Self {
            it_sends: Some(kind),
            ..self
        }
    }

    /// Lets it take place. Gives the peer's report and our side's view of its paths: bytes sent on each; nothing where
    /// something is missing.
    pub(crate) fn takes_place(self) -> io::Result<Option<(Report, Vec<u64>)>> {
        let Some(program) = self.stack.program(Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
            return Ok(None);
        };
        if self.cables == 0 {
            return self
                .between(&[Ipv4Addr::LOCALHOST], &[Ipv4Addr::LOCALHOST], program)
                .map(Some);
        }
        let Some(hosts) = Hosts::joined_by(self.cables) else {
            return Ok(None);
        };
        let near: Vec<_> = (0..self.cables).map(Hosts::near_address).collect();
        let far: Vec<_> = (0..self.cables).map(Hosts::far_address).collect();
        hosts.enter_near()?;
        self.between(&near, &far, hosts.on_far(&program)).map(Some)
    }

    fn between(
        self,
        near: &[Ipv4Addr],
        far: &[Ipv4Addr],
        mut program: Command,
    ) -> io::Result<(Report, Vec<u64>)> {
        let near_ip: Vec<IpAddr> = near.iter().copied().map(IpAddr::from).collect();
        let make = if self.raw { Host::raw } else { Host::new };
        let mut host = make(&near_ip, self.endpoint())?;
        let port = if self.raw { 0 } else { free_udp_port() };
        let mut peer = Peer::start(self.tell(&mut program, near, host.port(), port))?;
        let remotes: Vec<SocketAddr> = far.iter().map(|address| (*address, port).into()).collect();
        if self.we_connect {
            peer.listens()?;
            let now = host.now();
            host.association = Some(
                host.endpoint
                    .connect(now, &remotes, &self.config)
                    .expect("a path"),
            );
        }
        let mut talker = Talker::new(&self);
        host.talk(PATIENCE, |host| {
            talker.act(host);
            host.closed.is_some()
        })?;
        talker.is_satisfied(&host);
        let mut report = None;
        host.talk(PATIENCE, |_| {
            report = peer.report().expect("a report").cloned();
            report.is_some()
        })?;
        let report = report.expect("the peer comes to an end");
        self.agrees(&report);
        let was_sent = self.it_sends.is_none_or(|kind| host.heard.contains(&kind));
        assert!(was_sent, "{:?} not in {:?}", self.it_sends, host.heard);
        judge(host)?;
        Ok((report, talker.bytes_on_paths))
    }

    fn endpoint(&self) -> EndpointConfig {
        let endpoint = match self.stack {
            Stack::Usrsctp => EndpointConfig::default(),
            Stack::Pion | Stack::Aiortc => EndpointConfig::webrtc(),
        };
        EndpointConfig {
            accept: Some(self.config.clone()),
            ..endpoint
        }
    }

    /// Options as `peers/README.md` has them.
    fn tell<'p>(&self, program: &'p mut Command, near: &[Ipv4Addr], ours: u16, its: u16) -> &'p mut Command {
        let near: Vec<String> = near.iter().map(ToString::to_string).collect();
        let lengths: Vec<String> = self.plan.lengths.iter().map(ToString::to_string).collect();
        for (option, value) in [
            ("--own-udp", its.to_string()),
            ("--peer-udp", ours.to_string()),
            ("--peer", near.join(",")),
            ("--say", self.it_says.to_string()),
            ("--hear", self.plan.count.to_string()),
            ("--lengths", lengths.join(",")),
            ("--streams", self.plan.streams.to_string()),
            ("--end", self.end.option().to_owned()),
        ] {
            program.args([option, &value]);
        }
        let flags = [
            ("--connect", self.it_connects),
            ("--odd-unordered", self.plan.odd_unordered),
        ];
        program.args(flags.iter().filter(|(_, wanted)| *wanted).map(|(flag, _)| flag));
        program.args(&self.options)
    }

    fn agrees(&self, report: &Report) {
        let ended = if self.end.is_abort() {
            "aborted"
        } else {
            "finished"
        };
        assert_eq!(report.ended, ended, "{report:?}");
        assert!(report.connected && report.complaint.is_empty(), "{report:?}");
        assert_eq!(
            (report.said, report.heard),
            (self.it_says, self.plan.count),
            "{report:?}"
        );
    }
}

/// The application on our side.
struct Talker {
    plan: Plan,
    said: u32,
    heard: Inbox,
    end: End,
    has_ended: bool,
    bytes_on_paths: Vec<u64>,
}

impl Talker {
    fn new(conversation: &Conversation) -> Self {
        let its = Plan {
            count: conversation.it_says,
            ..conversation.plan
        };
        Self {
            plan: conversation.plan,
            said: 0,
            heard: Inbox::new(its),
            end: conversation.end,
            has_ended: false,
            bytes_on_paths: Vec::new(),
        }
    }

    fn act(&mut self, host: &mut Host) {
        let association = host.association.and_then(|id| host.endpoint.association_mut(id));
        let Some(mut association) = association else {
            return;
        };
        while let Some(message) = association.receive() {
            let taken = self.heard.take(message.stream, &message.payload);
            taken.expect("what was said");
        }
        if association.is_connected() {
            self.speak(&mut association);
        }
    }

    fn speak(&mut self, association: &mut Association) {
        while self.said < self.plan.count {
            let letter = self.plan.letter(self.said);
            let message = Message::new(letter.stream, letter.payload);
            let message = if letter.unordered {
                message.unordered()
            } else {
                message
            };
            if association.send(message).is_err() {
                return;
            }
            self.said += 1;
        }
        let paths = association.statistics().paths;
        self.bytes_on_paths = paths.iter().map(|path| path.counters.bytes_sent).collect();
        if self.heard.is_complete() && association.is_flushed() && !self.has_ended {
            self.has_ended = true;
            match self.end {
                End::WeFinish => association.shutdown(),
                End::WeAbort => association.abort(b"enough"),
                End::ItFinishes | End::ItAborts => {}
            }
        }
    }

    fn is_satisfied(&self, host: &Host) {
        let (said, heard) = (self.said, self.heard.arrived());
        let closed = host.closed.as_ref();
        assert!(self.heard.is_complete(), "said {said}, heard {heard}, {closed:?}");
        let as_planned = match self.end {
            End::WeFinish | End::ItFinishes => closed == Some(&CloseReason::Finished),
            End::WeAbort => closed == Some(&CloseReason::Aborted),
            End::ItAborts => matches!(closed, Some(CloseReason::AbortedByPeer(_))),
        };
        assert!(as_planned, "{closed:?}");
    }
}

fn judge(host: Host) -> io::Result<()> {
    let Some(tshark) = TSHARK.find() else {
        return Ok(());
    };
    let port = host.port();
    assert!(host.undissected.is_empty(), "{:#?}", host.undissected);
    let verdict = host.judge(|recording| Verdict::of(&tshark, recording, port))?;
    assert!(verdict.good_checksums > 0, "{verdict:?}");
    assert!(verdict.is_clean(), "{verdict:#?}");
    Ok(())
}
