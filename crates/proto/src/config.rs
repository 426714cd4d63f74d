//! Configuration of endpoints and associations. Limits and timers have the defaults of RFC 9260 §16 unless stated otherwise.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use anabranch_policy::catalog::{
    AckChoice, AddIpChoice, InterleavingChoice, ProbingChoice, RtoChoice, StreamSchedulerChoice,
};
use anabranch_policy::options::RtoParameters;
use anabranch_policy::{BufferSize, PolicyRecipe, PolicySet};
use anabranch_wire::chunk::kind;

use crate::auth::ADDRESS_CHANGES;
use crate::own_policies::OwnPolicies;
use crate::path::{PathPreference, Sizes};

/// UDP port of encapsulated SCTP (RFC 6951 §5.1), which is also our default SCTP port.
pub const DEFAULT_PORT: u16 = 9899;

/// SCTP port at both ends of WebRTC data channels, unless the session description has another one (RFC 8841).
const WEBRTC_PORT: u16 = 5_000;

/// Packet size for WebRTC in bytes: 1,280 of IPv6, less 37 of DTLS 1.2 with AES-GCM, 4 of a TURN channel, and the 20 by which the
/// IPv6 header is longer than that of IPv4.
const WEBRTC_MTU: u16 = 1_219;

/// Configuration of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Address and encapsulation port of each socket, in order of preference. An unspecified address leaves the source address to
    /// the system and is never listed to a peer; port 0 means SCTP directly over IP.
    pub local: Vec<SocketAddr>,
    /// SCTP port on which associations are accepted.
    pub sctp_port: u16,
    /// Configuration of accepted associations; `None` refuses all.
    pub accept: Option<AssociationConfig>,
    /// Valid.Cookie.Life (RFC 9260 §16): lifetime of state cookies. Default 60 s.
    pub cookie_life: Duration,
    /// Maximum number of associations; further ones are refused. Default 65,536.
    pub max_associations: usize,
    /// Maximum number of associations that peers of one source prefix have set up; further ones are refused. Default 4,096.
    pub max_associations_per_prefix: usize,
    /// Which addresses [`EndpointConfig::max_associations_per_prefix`] counts together. Default 32 and 64 bits.
    pub source_prefix: SourcePrefix,
    /// Memory for received data of all associations that their applications have not received yet, in bytes with the overhead of
    /// chunks. When it is used up, an association accepts new data only while it holds less than an equal share, that is, divided by
    /// [`EndpointConfig::max_associations`]. While half of it is in use, no receive buffer grows. Default 1 GiB.
    pub receive_memory: u64,
    /// Memory for messages in the send buffers of all associations, in bytes. While half of it is in use, no send buffer that sizes
    /// itself grows, except for a single message that is longer; what is in a buffer stays. Fixed sizes are not affected. Default 1 GiB.
    pub send_memory: u64,
    /// Leaves the checksum to the driver: sent packets have a checksum of zero, and that of received packets is not verified. The
    /// driver writes and verifies CRC32c, as network cards do, or its network cannot damage packets. Default false.
    pub checksum_offload: bool,
}

/// Lengths of source prefixes in bits: addresses whose first bits are equal count as one source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourcePrefix {
    /// IPv4, 0 to 32.
    pub v4: u8,
    /// IPv6, 0 to 128.
    pub v6: u8,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            local: Vec::new(),
            sctp_port: DEFAULT_PORT,
            accept: None,
            cookie_life: Duration::from_secs(60),
            max_associations: 65_536,
            max_associations_per_prefix: 4_096,
            source_prefix: SourcePrefix { v4: 32, v6: 64 },
            receive_memory: 1 << 30,
            send_memory: 1 << 30,
            checksum_offload: false,
        }
    }
}

impl EndpointConfig {
    /// Configuration for WebRTC data channels and compatible programs: accepts associations at SCTP port 5000 with
    /// [`AssociationConfig::webrtc`]. DTLS has to be done by the socket.
    #[must_use]
    pub fn webrtc() -> Self {
        Self {
            sctp_port: WEBRTC_PORT,
            accept: Some(AssociationConfig::webrtc()),
            ..Self::default()
        }
    }
}

/// Minimum receive buffer in bytes: a peer refuses an INIT with a smaller a_rwnd (RFC 9260 §3.3.2).
pub(crate) const MIN_RECEIVE_BUFFER: u64 = 1_500;

/// Further types of chunks to authenticate are ignored: the list has to fit into cookies.
const MAX_AUTHENTICATED: usize = 100;

//= rfc4895 3.2-6, 3.2-7
/// Whether chunks of type `kind` may be required to be authenticated (RFC 4895 §3.2).
pub(crate) const fn may_be_authenticated(kind: u8) -> bool {
    !matches!(
        kind,
        kind::INIT | kind::INIT_ACK | kind::SHUTDOWN_COMPLETE | kind::AUTH
    )
}

/// Configuration of an association.
#[derive(Clone, PartialEq, Debug)]
pub struct AssociationConfig {
    /// SCTP port of the peer when connecting. Default 9899.
    pub peer_sctp_port: u16,
    /// Local SCTP port when connecting; `None` selects a free random one. Default `None`.
    pub local_sctp_port: Option<u16>,
    /// Send buffer in bytes of messages, which are held until acknowledged. Default 4 MiB. [`BufferSize::AUTO`] has room for what
    /// is held and for what all paths send in two of the longest round trips.
    pub send_buffer: BufferSize,
    /// Receive buffer in bytes of messages, which are held until the application receives them. Default 4 MiB.
    /// [`BufferSize::AUTO`] has room for twice what the application receives in the longest round-trip time. The first a_rwnd has the initial size, or
    /// that of the longest message that is delivered whole.
    pub receive_buffer: BufferSize,
    /// Maximum message length in either direction, in bytes: a longer message is not sent, and if one is received, the association
    /// ends. Default [`usize::MAX`], which means no limit. I-DATA permits 2³² - 1 fragments.
    pub max_message: usize,
    /// Length in bytes above which a received message is delivered in parts ([`Extent`](crate::Extent);
    /// `SCTP_PARTIAL_DELIVERY_POINT` in RFC 6458 §8.1.21); at most the size of the receive buffer. A shorter message is delivered in
    /// parts only if the buffer is full and nothing else in it can be delivered. Default 1 MiB.
    pub partial_delivery_point: usize,
    /// The most bytes of a message in one chunk (`SCTP_MAXSEG` in RFC 6458 §8.1.16); `None` if paths alone limit it. Default `None`.
    pub max_fragment: Option<u16>,
    /// Requested number of outbound streams. Default 1,024.
    pub outbound_streams: u16,
    /// Maximum number of inbound streams. Default 65,535.
    pub max_inbound_streams: u16,
    /// Uses a single path: INIT and INIT ACK list neither addresses nor address types, which RFC 8261 §6.1 forbids over DTLS;
    /// addresses that the peer lists are ignored, and addresses do not change. Default false.
    pub single_homed: bool,
    /// Maximum IP packet size on all paths, in bytes, without `lower_layer_overhead`. Default 1,500.
    pub mtu: u16,
    /// Bytes that a layer below SCTP adds to each packet. An IPv6 path carries 1,280 bytes with them (RFC 8200 §5). Default 0.
    pub lower_layer_overhead: u16,
    /// Max.Init.Retransmits: maximum retransmissions of INIT and of COOKIE ECHO. Default 8.
    pub max_init_retransmits: u16,
    /// Association.Max.Retrans: maximum consecutive errors before the association ends (RFC 9260 §8.1). The `failover` policy
    /// decides which errors count. Default 10.
    pub max_retransmits: u16,
    /// How long heartbeats may be answered while data is outstanding, the peer's window is open and nothing is acknowledged,
    /// before the association ends; `None` for no limit. Outages, in which nothing is answered, do not count. Default 120 s.
    pub progress_timeout: Option<Duration>,
    /// The endpoint pair shared key (RFC 4895 §1), a secret of both ends, with the id 0. It protects address changes, and
    /// [`AssociationConfig::authenticated_chunks`], against attackers who observed the handshake; an empty key protects only against
    /// those who did not. Default empty.
    pub authentication_key: Vec<u8>,
    /// Whether partial reliability is offered to the peer (RFC 3758); without it on both ends, all messages are reliable. RFC 3758
    /// §4.2 recommends to disable it by default. Default false.
    pub partial_reliability: bool,
    /// Types of chunks that are accepted from the peer only if they are authenticated (RFC 4895 §3.2), such as `[0, 0x40]` for DATA
    /// and I-DATA. A peer without authentication is refused then. INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH are never authenticated,
    /// and types after the first 100 are ignored. What the peer requires is always authenticated if authentication is offered, which
    /// it is with these types or with `add-ip`. Default empty.
    pub authenticated_chunks: Vec<u8>,
    /// The lower layer that detects errors in packets. If the peer names the same one, packets have a checksum of zero instead of
    /// CRC32c (RFC 9653), except those with INIT, COOKIE ECHO or ASCONF. Without such a layer, damaged data would be delivered.
    /// Default `None`.
    pub zero_checksum: Option<ErrorDetection>,
    /// Code point of the adaptation layer above SCTP, which is declared to the peer (RFC 5061 §4.2.6) and means nothing to SCTP;
    /// the peer's is in [`Event::AdaptationIndication`](crate::Event::AdaptationIndication). Default `None`.
    pub adaptation_layer: Option<u32>,
    /// Whether the reconfiguration of streams is offered to the peer (RFC 6525): both ends may then reset and add streams. Default
    /// false.
    pub reconfiguration: bool,
    /// Number of outbound streams that the peer may ask for, if `reconfiguration` is agreed. That of inbound streams is
    /// `max_inbound_streams`. Default 65,535.
    pub max_outbound_streams: u16,
    /// How paths from these local addresses are to be used, which the peer is told on each path
    /// ([`AssociationConfig::obeys_path_preferences`]). Default empty.
    pub path_preferences: Vec<(IpAddr, PathPreference)>,
    /// Whether preferences of the peer between paths hold for what is sent to it. Default false.
    pub obeys_path_preferences: bool,
    /// Policies and core options, by name.
    pub policies: PolicyRecipe,
    /// Policies that are not in the catalog and replace those of the recipe. Default `None`.
    pub own_policies: Option<OwnPolicies>,
    /// Whether `sack-handling` algorithms are executed or only counted. Default `Done`.
    pub sack_walks: SackWalks,
    /// Whether packet counts in SACKs, which `ack-policy = dac` uses, are negotiated with the peer. Default `Negotiated`.
    pub packet_counts: PacketCounts,
}

/// Lower layer that detects errors in packets at least as well as CRC32c: the alternate error detection method of RFC 9653 §4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorDetection {
    /// DTLS (RFC 8261), as in WebRTC.
    Dtls,
}

/// Use of the flags of a SACK for the number of packets that it acknowledges (DAC, Iyengar et al. 2006). RFC 9260 §3.3.4
/// sets the flags to zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PacketCounts {
    /// The flags are set and read only if both ends list packet counts in Supported Extensions.
    #[default]
    Negotiated,
    /// The flags are set and read without negotiation, as in FreeBSD's stack and in the papers' simulators.
    Assumed,
}

/// Execution of the queue walks of `sack-handling`. The result is the same in both cases, and so is
/// [`sack_elements_visited`](crate::AssociationStatistics::sack_elements_visited).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SackWalks {
    /// The walks are executed.
    #[default]
    Done,
    /// The visited elements are only counted. For simulators, where only the processor model gives the walks a duration.
    Counted,
}

impl AssociationConfig {
    //= rfc8831 5-1, 6.1-2, 6.1-3, 6.1-4, 6.1-5, 6.1-6, 6.1-7, 6.2-1, 6.4-1, 6.6-7
    /// Configuration for WebRTC data channels and compatible programs. It uses SCTP port 5000 at both ends, a single path, and
    /// 65,535 streams (RFC 8831 §6.2). Packets fit into 1,280 bytes, which every IPv6 path carries, after the overhead of
    /// DTLS and TURN is added. Packets have no checksum if the peer accepts that, because DTLS detects errors (RFC 9653). Messages are
    /// interleaved if the peer supports it, and streams get bytes in proportion to their weights (RFC 8831 §6.1, §6.4).
    ///
    /// ```
    /// use anabranch_proto::AssociationConfig;
    /// let config = AssociationConfig::webrtc();
    /// assert!(config.single_homed && config.peer_sctp_port == 5_000);
    /// ```
    #[must_use]
    pub fn webrtc() -> Self {
        Self {
            peer_sctp_port: WEBRTC_PORT,
            local_sctp_port: Some(WEBRTC_PORT),
            single_homed: true,
            outbound_streams: u16::MAX,
            partial_reliability: true,
            reconfiguration: true,
            mtu: WEBRTC_MTU,
            zero_checksum: Some(ErrorDetection::Dtls),
            policies: PolicyRecipe {
                stream_scheduler: StreamSchedulerChoice::WeightedFair(Default::default()),
                interleaving: InterleavingChoice::On(Default::default()),
                ..PolicyRecipe::default()
            },
            ..Self::default()
        }
    }

    //= rfc9260 3.3.2-8, 3.3.3-9
    /// The a_rwnd of INIT and INIT ACK: at least the minimum of RFC 9260 §3.3.2, with room for one message that is delivered whole.
    pub(crate) fn advertised_buffer(&self) -> u64 {
        let whole = self.longest_whole() as u64;
        self.receive_buffer.initial().max(whole).max(MIN_RECEIVE_BUFFER)
    }

    //= rfc9260 3.3.2-13, 3.3.3-14
    /// Outbound streams to request: at least one (RFC 9260 §3.3.2).
    pub(crate) fn wanted_streams(&self) -> u16 {
        self.outbound_streams.max(1)
    }

    //= rfc9260 3.3.2-17, 3.3.3-19
    /// Inbound streams to allow: at least one (RFC 9260 §3.3.2).
    pub(crate) fn allowed_streams(&self) -> u16 {
        self.max_inbound_streams.max(1)
    }

    /// Length in bytes of the longest message that is delivered whole. It has to fit into the buffer.
    pub(crate) fn longest_whole(&self) -> usize {
        let buffer = usize::try_from(self.receive_buffer.max()).unwrap_or(usize::MAX);
        self.partial_delivery_point.min(self.max_message).min(buffer)
    }

    /// Whether SACKs report how many packets they acknowledge (DAC).
    pub(crate) const fn counts_packets(&self) -> bool {
        matches!(self.policies.ack, AckChoice::Dac(_) | AckChoice::QrDac(_))
    }

    /// Whether address changes (ASCONF) are offered to the peer.
    pub(crate) const fn offers_address_changes(&self) -> bool {
        matches!(self.policies.add_ip, AddIpChoice::On(_)) && !self.single_homed
    }

    /// Whether authentication is offered to the peer (RFC 4895).
    pub(crate) const fn offers_authentication(&self) -> bool {
        self.offers_address_changes() || !self.authenticated_chunks.is_empty()
    }

    //= rfc4895 3.2-5
    /// The types of chunks that we require to be authenticated, each once.
    pub(crate) fn demanded_chunks(&self) -> Vec<u8> {
        let mut all = Vec::new();
        if self.offers_address_changes() {
            all.extend(ADDRESS_CHANGES);
        }
        for kind in self.authenticated_chunks.iter().copied() {
            if may_be_authenticated(kind) && !all.contains(&kind) && all.len() < MAX_AUTHENTICATED {
                all.push(kind);
            }
        }
        all
    }

    /// Builds the policies: those of the recipe, replaced by own ones.
    pub(crate) fn build_policies(&self) -> PolicySet {
        let mut policies = self.policies.build();
        if let Some(own) = &self.own_policies {
            own.replace_in(&mut policies);
        }
        policies
    }

    /// How packet sizes of paths are determined.
    pub(crate) const fn path_sizes(&self) -> Sizes {
        Sizes {
            largest: self.mtu,
            overhead: self.lower_layer_overhead,
            choice: self.policies.path_mtu,
        }
    }

    /// How far apart reachability probes are; `None` without them.
    pub(crate) const fn probe_interval(&self) -> Option<Duration> {
        match self.policies.probing {
            ProbingChoice::Heartbeat(_) => None,
            ProbingChoice::Frequent(parameters) => Some(parameters.interval),
        }
    }

    /// Bounds of the RTO, from [`AssociationConfig::policies`].
    #[must_use]
    pub const fn rto(&self) -> RtoParameters {
        let RtoChoice::Rfc9260(bounds) = self.policies.rto;
        bounds
    }
}

impl Default for AssociationConfig {
    //= rfc9260 16-1
    fn default() -> Self {
        Self {
            peer_sctp_port: DEFAULT_PORT,
            local_sctp_port: None,
            send_buffer: BufferSize::Fixed(4 << 20),
            receive_buffer: BufferSize::Fixed(4 << 20),
            max_message: usize::MAX,
            partial_delivery_point: 1 << 20,
            max_fragment: None,
            outbound_streams: 1_024,
            max_inbound_streams: u16::MAX,
            single_homed: false,
            mtu: 1_500,
            lower_layer_overhead: 0,
            max_init_retransmits: 8,
            max_retransmits: 10,
            progress_timeout: Some(Duration::from_secs(120)),
            authentication_key: Vec::new(),
            partial_reliability: false,
            authenticated_chunks: Vec::new(),
            zero_checksum: None,
            adaptation_layer: None,
            reconfiguration: false,
            max_outbound_streams: u16::MAX,
            path_preferences: Vec::new(),
            obeys_path_preferences: false,
            policies: PolicyRecipe::default(),
            own_policies: None,
            sack_walks: SackWalks::Done,
            packet_counts: PacketCounts::Negotiated,
        }
    }
}
