//! Who writes packets that no honest peer would send? Somebody with an address, in front of an endpoint without a
//! network.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_proto::{
    AssociationConfig, AssociationStatistics, CloseReason, DEFAULT_PORT, Endpoint, EndpointConfig, Event,
    Message, ReceivedMessage, SendError,
};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, Seed, Tsn, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{
    Chunk, CommonHeader, CookieEcho, OutboundInit, Packet, PacketBuilder, Parameter, ParameterWriter,
    WriteChunk, Writer, dissect,
};

/// The TSN that the forger starts with.
const FIRST_TSN: Tsn = Tsn(1_000);

/// Somebody who talks to a listening endpoint, by hand.
pub(crate) struct Forger {
    victim: Endpoint,
    source_port: u16,
    destination_port: u16,
    tag: VerificationTag,
    victims_tsn: Tsn,
    /// Parameters of the INIT.
    parameters: Vec<u8>,
    now: Instant,
    events: Vec<Event>,
}

/// A packet that came back, or that went to somebody else.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    /// Where it went.
    pub(crate) to: SocketAddr,
}

impl Forger {
    /// Nobody knows the forger yet.
    pub(crate) fn unknown() -> Self {
        Self::facing(AssociationConfig::default(), Vec::new())
    }

    /// The same, before a victim with this configuration; the forger's INIT has these parameters.
    pub(crate) fn facing(mut config: AssociationConfig, parameters: Vec<u8>) -> Self {
        // Probes of packet sizes would stand between what a story is about.
        config
            .policies
            .set("pmtu", "fixed")
            .expect("a choice of the catalog");
        let config = EndpointConfig {
            local: vec![SocketAddr::from(([192, 0, 2, 1], DEFAULT_PORT))],
            accept: Some(config),
            ..EndpointConfig::default()
        };
        Self {
            victim: Endpoint::new(config, Seed(1)),
            source_port: 5_000,
            destination_port: DEFAULT_PORT,
            tag: VerificationTag::ZERO,
            victims_tsn: Tsn(0),
            parameters,
            now: Instant::ZERO,
            events: Vec::new(),
        }
    }

    /// The forger completed the handshake as an honest peer would.
    pub(crate) fn associated() -> Self {
        let mut forger = Self::unknown();
        forger.associates();
        forger
    }

    /// Completes the handshake.
    pub(crate) fn associates(&mut self) {
        let (cookie, tag) = self.receives_cookie();
        self.sends(tag, &[&CookieEcho { cookie: &cookie }]);
        assert!(matches!(self.events(), [Event::Connected { incoming: true }, ..]));
        self.events.clear();
    }

    /// The forger completed the handshake, and both listed I-DATA: messages may be interleaved.
    pub(crate) fn interleaving() -> Self {
        let mut config = AssociationConfig::default();
        let set = config.policies.set("interleaving", "on");
        set.expect("an option that exists");
        let mut parameters = ParameterWriter::new();
        parameters.push_supported_extensions(&[kind::I_DATA]);
        let mut forger = Self::facing(config, parameters.finish());
        forger.associates();
        forger
    }

    /// The victim called the forger, who has its INIT and has not answered yet.
    pub(crate) fn called() -> Self {
        let mut forger = Self::unknown();
        let mut config = AssociationConfig::default();
        let set = config.policies.set("pmtu", "fixed");
        set.expect("a choice of the catalog");
        let call = forger.victim.connect(forger.now, &[Self::address()], &config);
        call.expect("a path to the forger");
        let sent = forger.takes_replies();
        let [Chunk::Init(init)] = sent[0].chunks()[..] else {
            panic!("{sent:?}")
        };
        let header = sent[0].packet().header();
        (forger.source_port, forger.destination_port) = (header.destination_port, header.source_port);
        (forger.tag, forger.victims_tsn) = (init.initiate_tag, init.initial_tsn);
        forger
    }

    /// The answer to the victim's call, with these parameters before a cookie of that length.
    pub(crate) fn init_ack(parameters: &ParameterWriter, cookie: usize) -> OutboundInit {
        let mut parameters = parameters.clone();
        parameters.push_state_cookie(&vec![7; cookie]);
        OutboundInit {
            acknowledges: true,
            parameters: parameters.finish(),
            ..Self::init()
        }
    }

    /// The INIT of an honest peer.
    pub(crate) const fn init() -> OutboundInit {
        OutboundInit {
            acknowledges: false,
            initiate_tag: VerificationTag(0xfeed_beef),
            a_rwnd: 100_000,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: FIRST_TSN,
            parameters: Vec::new(),
        }
    }

    /// Sends the INIT of an honest peer; gives the cookie and the tag that came back.
    pub(crate) fn receives_cookie(&mut self) -> (Vec<u8>, VerificationTag) {
        let init = OutboundInit {
            parameters: self.parameters.clone(),
            ..Self::init()
        };
        let replies = self.sends(VerificationTag::ZERO, &[&init]);
        let [Chunk::InitAck(ack)] = replies[0].chunks()[..] else {
            panic!("{replies:?}")
        };
        self.tag = ack.initiate_tag;
        self.victims_tsn = ack.initial_tsn;
        let mut parameters = ack
            .parameters
            .iter()
            .flatten()
            .flat_map(anabranch_wire::RawParameter::decode);
        let cookie = parameters.find_map(|parameter| match parameter {
            Parameter::StateCookie(cookie) => Some(cookie.to_vec()),
            _ => None,
        });
        (cookie.expect("an INIT ACK has a cookie"), ack.initiate_tag)
    }

    pub(crate) const fn speaks_from(&mut self, port: u16) {
        self.source_port = port;
    }

    pub(crate) const fn speaks_to(&mut self, port: u16) {
        self.destination_port = port;
    }

    /// The tag of packets to the victim.
    pub(crate) const fn tag(&self) -> VerificationTag {
        self.tag
    }

    /// The first TSN that the victim will use.
    pub(crate) const fn victims_tsn(&self) -> Tsn {
        self.victims_tsn
    }

    pub(crate) const fn victim(&self) -> &Endpoint {
        &self.victim
    }

    /// A packet with these chunks, as large as they need it.
    pub(crate) fn packet(&self, tag: VerificationTag, chunks: &[&dyn WriteChunk]) -> Vec<u8> {
        let header = CommonHeader {
            source_port: self.source_port,
            destination_port: self.destination_port,
            tag,
        };
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(&mut bytes, header, 60_000);
        for chunk in chunks {
            packet.push(&Any(*chunk)).expect("a packet of any size");
        }
        packet.finish();
        bytes
    }

    /// Sends a packet with these chunks; gives what comes back at once.
    pub(crate) fn sends(&mut self, tag: VerificationTag, chunks: &[&dyn WriteChunk]) -> Vec<Reply> {
        let packet = self.packet(tag, chunks);
        self.sends_bytes(&packet)
    }

    /// Sends any bytes; gives what comes back at once.
    pub(crate) fn sends_bytes(&mut self, bytes: &[u8]) -> Vec<Reply> {
        self.sends_bytes_from(Self::address(), bytes)
    }

    /// Sends any bytes from any address, be it somebody else's; gives what is sent at once, to whomever.
    pub(crate) fn sends_bytes_from(&mut self, source: SocketAddr, bytes: &[u8]) -> Vec<Reply> {
        let path = PathAddr {
            local: SocketAddr::from(([192, 0, 2, 1], DEFAULT_PORT)),
            remote: source,
        };
        self.victim
            .handle_datagram(self.now, path, Ecn::NotCapable, bytes);
        self.takes_replies()
    }

    /// Where the forger is.
    pub(crate) fn address() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 2], 4_000))
    }

    /// The victim's application sends; gives what comes at once.
    pub(crate) fn victim_sends(&mut self, message: Message) -> Vec<Reply> {
        self.victim_may_send(message).expect("room for a message")
    }

    /// The victim's application tries to send; gives what comes at once, if it may.
    pub(crate) fn victim_may_send(&mut self, message: Message) -> Result<Vec<Reply>, SendError> {
        let association = self.victim.association_mut(AssociationId(0));
        association.expect("an association").send(message)?;
        Ok(self.takes_replies())
    }

    /// Time passes, and the forger says nothing; gives what comes meanwhile.
    pub(crate) fn passes(&mut self, time: Duration) -> Vec<Reply> {
        let end = self.now + time;
        let mut replies = Vec::new();
        while let Some(due) = self.victim.poll_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.victim.handle_timeout(self.now);
            replies.append(&mut self.takes_replies());
        }
        self.now = end;
        replies
    }

    fn takes_replies(&mut self) -> Vec<Reply> {
        while let Some((_, event)) = self.victim.poll_event() {
            self.events.push(event);
        }
        let mut replies = Vec::new();
        loop {
            let mut bytes = Vec::new();
            let Some(transmit) = self.victim.poll_transmit(self.now, &mut bytes, 1) else {
                return replies;
            };
            let to = transmit.path.remote;
            replies.push(Reply { bytes, to });
        }
    }

    /// What the victim's application was told.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(crate) fn closed_because(&self) -> Option<&CloseReason> {
        self.events.iter().find_map(|event| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        })
    }

    pub(crate) fn statistics(&self) -> AssociationStatistics {
        let association = self.victim.association(AssociationId(0));
        association.expect("an association").statistics()
    }

    /// The next message that the victim's application reads.
    pub(crate) fn reads(&mut self) -> Option<ReceivedMessage> {
        self.victim.association_mut(AssociationId(0))?.receive()
    }
}

/// The TSN of the forger's first DATA chunk.
pub(crate) const fn first_tsn() -> Tsn {
    FIRST_TSN
}

impl Reply {
    fn packet(&self) -> Packet<'_> {
        Packet::parse(&self.bytes).expect("what the core sends is in order")
    }

    pub(crate) fn tag(&self) -> VerificationTag {
        self.packet().header().tag
    }

    pub(crate) fn chunks(&self) -> Vec<Chunk<'_>> {
        let chunks = self.packet().chunks();
        chunks
            .map(|chunk| {
                chunk
                    .and_then(anabranch_wire::RawChunk::decode)
                    .expect("a chunk in order")
            })
            .collect()
    }

    /// The TSNs of its DATA chunks.
    pub(crate) fn tsns(&self) -> Vec<Tsn> {
        let chunks = self.chunks().into_iter();
        let tsn = |chunk| match chunk {
            Chunk::Data(data) => Some(data.tsn),
            _ => None,
        };
        chunks.filter_map(tsn).collect()
    }

    pub(crate) fn kinds(&self) -> Vec<u8> {
        self.packet().chunks().flatten().map(|chunk| chunk.kind).collect()
    }
}

/// As one line.
impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&dissect::line(&self.bytes))
    }
}

/// Any chunk.
struct Any<'a>(&'a dyn WriteChunk);

impl WriteChunk for Any<'_> {
    fn wire_len(&self) -> usize {
        self.0.wire_len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.0.write(writer);
    }
}
