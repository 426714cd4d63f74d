//! Test with a peer program: both send and receive their workload, one side ends the association, both agree on how.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anabranch_interop::tools::{TSHARK, free_udp_port};
use anabranch_interop::{Host, Hosts, Inbox, Peer, Report, Stack, TsharkReport, Workload};
use anabranch_proto::{
    Association, AssociationConfig, AssociationMut, CloseReason, EndpointConfig, Extent, Message,
    MessagePart, ReceivedMessage, Reconfiguration, Reliability, SendError,
};
use anabranch_types::{MessageId, StreamId};
use bytes::Bytes;

/// Timeout, ample for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Which side ends the association, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    WeShutDown,
    PeerShutsDown,
    WeAbort,
    PeerAborts,
}

impl End {
    /// Option of the peer program.
    const fn option(self) -> &'static str {
        match self {
            Self::WeShutDown | Self::WeAbort => "wait",
            Self::PeerShutsDown => "shutdown",
            Self::PeerAborts => "abort",
        }
    }

    const fn is_abort(self) -> bool {
        matches!(self, Self::WeAbort | Self::PeerAborts)
    }
}

/// Configuration of a test.
pub(crate) struct Conversation {
    stack: Stack,
    /// What we send; the peer sends the first `peer_sends` messages of the same.
    workload: Workload,
    peer_sends: u32,
    end: End,
    connects: bool,
    peer_connects: bool,
    config: AssociationConfig,
    options: Vec<String>,
    links: u8,
    raw: bool,
    /// A chunk type that the peer must send.
    peer_sends_chunk: Option<u8>,
    /// See [`Host::loses_each`].
    loses_each: u32,
    mark_every: u32,
    /// Whether packets must have a checksum of zero.
    zero_checksums: bool,
    /// Number of shared keys that messages name in turn.
    keys: u16,
    /// Length of the parts in which we send; 0 to send whole messages.
    part: usize,
    /// Whether we reset all outbound streams after half of the messages.
    resets: bool,
    /// Whether we reset the outbound streams at the end and the peer answers by resetting its own ones.
    closes_streams: bool,
    /// Whether we send before the handshake is complete.
    is_early: bool,
}

impl Conversation {
    /// Both send `workload`; we connect and shut down.
    pub(crate) fn with(stack: Stack, workload: Workload) -> Self {
        let config = match stack {
            Stack::Usrsctp => AssociationConfig::default(),
            Stack::Pion | Stack::Aiortc => AssociationConfig::webrtc(),
        };
        Self {
            stack,
            workload,
            peer_sends: workload.count,
            end: End::WeShutDown,
            connects: true,
            peer_connects: false,
            config,
            options: Vec::new(),
            links: 0,
            raw: false,
            peer_sends_chunk: None,
            loses_each: 0,
            mark_every: 0,
            zero_checksums: false,
            keys: 0,
            part: 0,
            resets: false,
            closes_streams: false,
            is_early: false,
        }
    }

    /// We send with the COOKIE ECHO.
    pub(crate) fn early(self) -> Self {
        Self {
            is_early: true,
            ..self
        }
    }

    /// The peer connects.
    pub(crate) fn peer_connects(self) -> Self {
        Self {
            connects: false,
            ..self.both_connect()
        }
    }

    /// Both connect at once.
    pub(crate) fn both_connect(self) -> Self {
        Self {
            peer_connects: true,
            ..self
        }
    }

    /// Sets how the association ends.
    pub(crate) fn ends(self, end: End) -> Self {
        Self { end, ..self }
    }

    /// Sets the number of messages that the peer sends.
    pub(crate) fn peer_sends(self, peer_sends: u32) -> Self {
        Self { peer_sends, ..self }
    }

    /// Adds options of the peer program.
    pub(crate) fn option(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(ToString::to_string));
        self
    }

    /// Changes our configuration.
    pub(crate) fn we(mut self, change: impl FnOnce(&mut AssociationConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Runs on two hosts with `links` links between them, which needs root.
    pub(crate) fn over_links(self, links: u8) -> Self {
        Self { links, ..self }
    }

    /// Runs without UDP, on two hosts.
    pub(crate) fn directly_over_ip(self) -> Self {
        Self { raw: true, ..self }
    }

    /// Requires the peer to send a chunk of this type.
    pub(crate) fn peer_sends_chunk(self, kind: u8) -> Self {
        Self {
            peer_sends_chunk: Some(kind),
            ..self
        }
    }

    /// Adds the shared keys 1 to `keys` at both ends, which messages name in turn.
    pub(crate) fn names_keys(self, keys: u16) -> Self {
        Self { keys, ..self }.option(&["--keys", &keys.to_string()])
    }

    /// Both send messages in parts of `part` bytes.
    pub(crate) fn in_parts(self, part: usize) -> Self {
        Self { part, ..self }.option(&["--part", &part.to_string()])
    }

    /// Resets all outbound streams after half of the messages.
    pub(crate) fn resets(self) -> Self {
        Self { resets: true, ..self }
    }

    /// Resets the outbound streams after all messages. The peer has to reset its own ones then (RFC 8831 §6.7).
    pub(crate) fn closes_streams(self) -> Self {
        Self {
            closes_streams: true,
            ..self
        }
    }

    /// Each packet whose number is a multiple of this is lost.
    pub(crate) fn loses_each(self, loses_each: u32) -> Self {
        Self { loses_each, ..self }
    }

    /// Marks every `count`-th packet with data, as a router does (ECN).
    pub(crate) fn marks_every(self, count: u32) -> Self {
        Self {
            mark_every: count,
            ..self
        }
    }

    /// Requires packets with a checksum of zero (RFC 9653).
    pub(crate) fn zero_checksums(self) -> Self {
        Self {
            zero_checksums: true,
            ..self
        }
    }

    /// Runs the test. Returns the peer's report and the bytes that we sent on each path; `None` if something is missing.
    pub(crate) fn run(self) -> io::Result<Option<(Report, Vec<u64>)>> {
        let Some(program) = self.stack.program(Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
            return Ok(None);
        };
        if self.links == 0 {
            return self
                .between(&[Ipv4Addr::LOCALHOST], &[Ipv4Addr::LOCALHOST], program)
                .map(Some);
        }
        let Some(hosts) = Hosts::with_links(self.links) else {
            return Ok(None);
        };
        let near: Vec<_> = (0..self.links).map(Hosts::near_address).collect();
        let far: Vec<_> = (0..self.links).map(Hosts::far_address).collect();
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
        host.loses_each = self.loses_each;
        host.mark_every = self.mark_every;
        let port = if self.raw { 0 } else { free_udp_port() };
        let mut peer = Peer::start(self.tell(&mut program, near, host.port(), port))?;
        let remotes: Vec<SocketAddr> = far.iter().map(|address| (*address, port).into()).collect();
        if self.connects {
            peer.wait_until_listening()?;
            let now = host.now();
            host.association = Some(
                host.endpoint
                    .connect(now, &remotes, &self.config)
                    .expect("a path"),
            );
        }
        let mut app = App::new(&self);
        host.talk(TIMEOUT, |host| {
            app.act(host);
            host.closed.is_some()
        })?;
        app.check(&host);
        assert_eq!(host.sent_early, self.is_early);
        let mut report = None;
        host.talk(TIMEOUT, |_| {
            report = peer.report().expect("a report").cloned();
            report.is_some()
        })?;
        let report = report.expect("the peer comes to an end");
        self.agrees(&report);
        let was_sent = self
            .peer_sends_chunk
            .is_none_or(|kind| host.received.contains(&kind));
        assert!(was_sent, "{:?} not in {:?}", self.peer_sends_chunk, host.received);
        judge(host, self.zero_checksums)?;
        Ok((report, app.bytes_on_paths))
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

    /// Adds the options of `peers/README.md`.
    fn tell<'p>(&self, program: &'p mut Command, near: &[Ipv4Addr], ours: u16, its: u16) -> &'p mut Command {
        let near: Vec<String> = near.iter().map(ToString::to_string).collect();
        let lengths: Vec<String> = self.workload.lengths.iter().map(ToString::to_string).collect();
        for (option, value) in [
            ("--own-udp", its.to_string()),
            ("--peer-udp", ours.to_string()),
            ("--peer", near.join(",")),
            ("--send", self.peer_sends.to_string()),
            ("--receive", self.workload.count.to_string()),
            ("--lengths", lengths.join(",")),
            ("--streams", self.workload.streams.to_string()),
            ("--end", self.end.option().to_owned()),
        ] {
            program.args([option, &value]);
        }
        let flags = [
            ("--connect", self.peer_connects),
            ("--odd-unordered", self.workload.odd_unordered),
        ];
        if let Some(retransmissions) = self.workload.retransmissions {
            program.args(["--retransmissions", &retransmissions.to_string()]);
        }
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
        assert!(report.connected && report.error.is_empty(), "{report:?}");
        assert_eq!(report.sent, self.peer_sends, "{report:?}");
        let received = self.workload.reliable()..=self.workload.count;
        assert!(received.contains(&report.received), "{report:?}");
    }
}

/// Our application.
struct App {
    workload: Workload,
    sent: u32,
    received: Inbox,
    /// What was received of messages that are delivered in parts.
    partial: BTreeMap<StreamId, Vec<u8>>,
    end: End,
    keys: u16,
    part: usize,
    /// Id of the message of which a part was sent, and the bytes sent.
    unfinished: Option<(MessageId, usize)>,
    has_keys: bool,
    resets: bool,
    closes_streams: bool,
    is_early: bool,
    awaits_reset: bool,
    has_ended: bool,
    bytes_on_paths: Vec<u64>,
}

impl App {
    fn new(conversation: &Conversation) -> Self {
        let its = Workload {
            count: conversation.peer_sends,
            ..conversation.workload
        };
        Self {
            workload: conversation.workload,
            sent: 0,
            received: Inbox::new(its),
            partial: BTreeMap::new(),
            end: conversation.end,
            keys: conversation.keys,
            part: conversation.part,
            unfinished: None,
            has_keys: false,
            resets: conversation.resets,
            closes_streams: conversation.closes_streams,
            is_early: conversation.is_early,
            awaits_reset: false,
            has_ended: false,
            bytes_on_paths: Vec::new(),
        }
    }

    fn act(&mut self, host: &mut Host) {
        let association = host.association.and_then(|id| host.endpoint.association_mut(id));
        let Some(mut association) = association else {
            return;
        };
        while let Some(received) = association.receive() {
            self.take(received);
        }
        if association.is_connected() {
            self.add_keys(&mut association);
            self.speak(&mut association, &host.reset);
        } else if self.is_early && !association.is_closed() {
            self.speak(&mut association, &[]);
        }
    }

    /// Takes a message, or a part of one. One stream has either ordered or unordered messages.
    fn take(&mut self, received: ReceivedMessage) {
        let payload = if received.extent == Extent::Whole {
            received.payload
        } else {
            let partial = self.partial.entry(received.stream).or_default();
            partial.extend_from_slice(&received.payload);
            if !received.extent.completes() {
                return;
            }
            Bytes::from(mem::take(partial))
        };
        let taken = self.received.take(received.stream, &payload);
        taken.expect("what was sent");
    }

    fn add_keys(&mut self, association: &mut AssociationMut<'_>) {
        if !mem::replace(&mut self.has_keys, true) {
            for id in 1..=self.keys {
                let mut keys = association.authentication_keys().expect("it is agreed");
                keys.add(id, format!("key {id}").as_bytes()).expect("room");
            }
        }
    }

    /// Sends messages and then ends; `reset` are the streams that the peer has reset.
    fn speak(&mut self, association: &mut Association, reset: &[StreamId]) {
        while self.sent < self.workload.count {
            if self.resets && self.sent >= self.workload.count / 2 {
                self.resets = false;
                let reset = Reconfiguration::ResetOutbound(Vec::new());
                association.reconfigure(reset).expect("the peer supports it");
            }
            let test = self.workload.message(self.sent);
            let reliability = test
                .retransmissions
                .map_or(Reliability::Reliable, Reliability::Retransmissions);
            let message = Message::new(test.stream, test.payload).with_reliability(reliability);
            let message = if test.unordered {
                message.unordered()
            } else {
                message
            };
            let key = (1 + self.sent % u32::from(self.keys.max(1))) as u16;
            let message = Message {
                authentication_key: (self.keys > 0).then_some(key),
                ..message
            };
            if self.send(association, message).is_err() {
                return;
            }
            self.sent += 1;
        }
        let paths = association.statistics().paths;
        self.bytes_on_paths = paths.iter().map(|path| path.counters.bytes_sent).collect();
        if !self.received.is_complete() || !association.is_flushed() {
            return;
        }
        let streams: Vec<StreamId> = (0..self.workload.streams).map(StreamId).collect();
        if self.closes_streams {
            self.closes_streams = false;
            self.awaits_reset = true;
            let reset = Reconfiguration::ResetOutbound(streams.clone());
            association.reconfigure(reset).expect("the peer supports it");
        }
        let is_reset = streams.iter().all(|stream| reset.contains(stream));
        if (is_reset || !self.awaits_reset) && !self.has_ended {
            self.has_ended = true;
            match self.end {
                End::WeShutDown => association.shutdown(),
                End::WeAbort => association.abort(b"enough"),
                End::PeerShutsDown | End::PeerAborts => {}
            }
        }
    }

    /// Sends a message, or as many parts of it as the buffer accepts.
    fn send(&mut self, association: &mut Association, message: Message) -> Result<(), SendError> {
        let length = message.payload.len();
        if self.part == 0 || self.part >= length {
            return association.send(message).map(|_| ());
        }
        let mut begun = self.unfinished.take();
        loop {
            let sent = begun.map_or(0, |(_, sent)| sent);
            let until = (sent + self.part).min(length);
            let payload = message.payload.slice(sent..until);
            let result = association.send(match begun {
                None => MessagePart::Beginning(Message {
                    payload,
                    ..message.clone()
                }),
                Some((id, _)) if until < length => MessagePart::Middle(id, payload),
                Some((id, _)) => MessagePart::End(id, payload),
            });
            let id = match result {
                Ok(id) => id,
                Err(error) => {
                    self.unfinished = begun;
                    return Err(error);
                }
            };
            if until == length {
                return Ok(());
            }
            begun = Some((id, until));
        }
    }

    fn check(&self, host: &Host) {
        let (sent, received) = (self.sent, self.received.arrived());
        let closed = host.closed.as_ref();
        assert!(
            self.received.is_complete(),
            "sent {sent}, received {received}, {closed:?}"
        );
        let as_planned = match self.end {
            End::WeShutDown | End::PeerShutsDown => closed == Some(&CloseReason::Finished),
            End::WeAbort => closed == Some(&CloseReason::Aborted),
            End::PeerAborts => matches!(closed, Some(CloseReason::AbortedByPeer { .. })),
        };
        assert!(as_planned, "{closed:?}");
    }
}

fn judge(host: Host, zero_checksums: bool) -> io::Result<()> {
    let Some(tshark) = TSHARK.find() else {
        return Ok(());
    };
    let port = host.port();
    assert!(host.undissected.is_empty(), "{:#?}", host.undissected);
    let report = host.judge(|recording| TsharkReport::of(&tshark, recording, port))?;
    assert!(report.good_checksums > 0, "{report:?}");
    // pion sends such packets to us even if it accepts none.
    assert!(report.zero_checksums > 0 || !zero_checksums, "{report:#?}");
    assert!(report.is_clean(), "{report:#?}");
    Ok(())
}
