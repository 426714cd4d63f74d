//! Configuration. What may be chosen, and what happens if nothing is? Limits and timers with the defaults of RFC 9260 §16
//! unless said otherwise.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use anabranch_policy::catalog::{AddIpChoice, RtoChoice};
use anabranch_policy::options::RtoParameters;
use anabranch_policy::{PolicyRecipe, PolicySet};

use crate::own_policies::OwnPolicies;

/// SCTP's port in the UDP encapsulation (RFC 6951 §5.1), also a sensible SCTP port to listen on.
pub const DEFAULT_PORT: u16 = 9899;

/// SCTP's port on both sides of a data channel, unless the session description says otherwise (RFC 8841).
const WEBRTC_PORT: u16 = 5_000;

/// 1,280 bytes of IPv6, less 37 of DTLS 1.2 with AES-GCM, less 4 of a TURN channel, less 20 by which the header of IPv6
/// is longer than that of IPv4.
const WEBRTC_MTU: u16 = 1_219;

/// What one endpoint is.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Address and encapsulation port of each socket, in order of preference. An unspecified address means
    /// "whatever the system chooses" and is never listed to a peer; port 0 means SCTP directly over IP.
    pub local: Vec<SocketAddr>,
    /// The SCTP port on which associations are accepted.
    pub sctp_port: u16,
    /// How accepted associations are set up; `None` refuses them all.
    pub accept: Option<AssociationConfig>,
    /// Valid.Cookie.Life (RFC 9260 §16): how long an INIT ACK may be answered. 60 s.
    pub cookie_life: Duration,
    /// Associations beyond this number are refused. 65,536.
    pub max_associations: usize,
    /// Packets leave with zeros for a checksum, and those that come are taken without a look at it: whoever carries them
    /// writes and checks CRC32c, as network cards do, or cannot damage anything. Not unless set.
    pub checksum_offload: bool,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            local: Vec::new(),
            sctp_port: DEFAULT_PORT,
            accept: None,
            cookie_life: Duration::from_secs(60),
            max_associations: 65_536,
            checksum_offload: false,
        }
    }
}

impl EndpointConfig {
    /// For data channels of WebRTC, or of anything that speaks like them: accepts associations at SCTP port 5000 as
    /// [`AssociationConfig::webrtc`] says. DTLS is not in here: it is the socket's business.
    #[must_use]
    pub fn webrtc() -> Self {
        Self {
            sctp_port: WEBRTC_PORT,
            accept: Some(AssociationConfig::webrtc()),
            ..Self::default()
        }
    }
}

/// The smallest receive buffer in bytes: a peer refuses an INIT that announces less (RFC 9260 §3.3.2).
pub(crate) const MIN_RECEIVE_BUFFER: u64 = 1_500;

/// What one association is.
#[derive(Clone, Debug)]
pub struct AssociationConfig {
    /// SCTP port of the peer when connecting. 9899.
    pub peer_sctp_port: u16,
    /// Our SCTP port when connecting; `None` takes a free one.
    pub local_sctp_port: Option<u16>,
    /// Bytes of messages held for sending, sent ones until they are acknowledged included. 4 MiB.
    pub send_buffer: u64,
    /// Bytes of messages held until the application takes them. 4 MiB.
    pub receive_buffer: u64,
    /// The longest message in either direction, in bytes; at most either buffer. 1 MiB.
    pub max_message: usize,
    /// Streams we ask for. 1,024.
    pub outbound_streams: u16,
    /// Streams we let the peer have. 65,535.
    pub max_inbound_streams: u16,
    /// One path only, and no word of addresses: neither INIT nor INIT ACK lists any or the types of them, as they must
    /// not where packets travel through DTLS (RFC 8261 §6.1), what the peer lists is not heard, and addresses do not
    /// change. False.
    pub single_homed: bool,
    /// Largest IP packet for every path, in bytes. 1,500.
    pub mtu: u16,
    /// Max.Init.Retransmits: how often INIT and COOKIE ECHO are repeated. 8.
    pub max_init_retransmits: u16,
    /// Association.Max.Retrans: errors in a row before the association ends (RFC 9260 §8.1). Whether those of all paths are
    /// counted together is a choice of `failover`. 10.
    pub max_retransmits: u16,
    /// The endpoint pair shared key (RFC 4895 §1): what both ends know and nobody else. It protects changes of addresses
    /// from whoever saw the handshake; the empty one protects from those who did not. Empty.
    pub authentication_key: Vec<u8>,
    /// The mechanisms, by name.
    pub policies: PolicyRecipe,
    /// Policies that are not in the catalog, in the place of those that the recipe makes.
    pub own_policies: Option<OwnPolicies>,
    /// What becomes of the walks of `sack-handling`. Done.
    pub sack_walks: SackWalks,
}

/// What becomes of the walks by which `sack-handling` may find what a SACK changed. What is found is the same, and so is
/// [`sack_elements_visited`](crate::AssociationStatistics::sack_elements_visited).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SackWalks {
    /// They are walked, and take their time.
    #[default]
    Done,
    /// They are counted only: for a simulator, whose clock they do not move but through its model of a processor.
    Counted,
}

impl AssociationConfig {
    /// For data channels of WebRTC, or of anything that speaks like them: SCTP port 5000 on both sides, single-homed, as
    /// many streams as there are numbers (RFC 8831 §6.2), and room for the header and the seal that DTLS and TURN add
    /// within the 1,280 bytes that every IPv6 path carries.
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
            mtu: WEBRTC_MTU,
            ..Self::default()
        }
    }

    //= rfc9260 3.3.2-8, 3.3.3-9
    /// What INIT and INIT ACK say of the receive buffer: no less than RFC 9260 §3.3.2 allows.
    pub(crate) fn advertised_buffer(&self) -> u64 {
        self.receive_buffer.max(MIN_RECEIVE_BUFFER)
    }

    //= rfc9260 3.3.2-13, 3.3.3-14
    /// The streams to ask for: one at least (RFC 9260 §3.3.2).
    pub(crate) fn wanted_streams(&self) -> u16 {
        self.outbound_streams.max(1)
    }

    //= rfc9260 3.3.2-17, 3.3.3-19
    /// The streams to let the peer have: one at least (RFC 9260 §3.3.2).
    pub(crate) fn allowed_streams(&self) -> u16 {
        self.max_inbound_streams.max(1)
    }

    /// The longest message that is put together, in bytes: it has to fit the buffer, for it is delivered whole.
    pub(crate) fn longest_received(&self) -> usize {
        let buffer = usize::try_from(self.receive_buffer).unwrap_or(usize::MAX);
        self.max_message.min(buffer)
    }

    /// Whether addresses may come and go while the association lives, if the peer agrees.
    pub(crate) const fn offers_address_changes(&self) -> bool {
        matches!(self.policies.add_ip, AddIpChoice::On(_)) && !self.single_homed
    }

    /// A new set of policies: those of the recipe, and own ones in their place.
    pub(crate) fn build_policies(&self) -> PolicySet {
        let mut policies = self.policies.build();
        if let Some(own) = &self.own_policies {
            own.replace_in(&mut policies);
        }
        policies
    }

    /// Bounds of the retransmission timeout, as [`AssociationConfig::policies`] say.
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
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            max_message: 1 << 20,
            outbound_streams: 1_024,
            max_inbound_streams: u16::MAX,
            single_homed: false,
            mtu: 1_500,
            max_init_retransmits: 8,
            max_retransmits: 10,
            authentication_key: Vec::new(),
            policies: PolicyRecipe::default(),
            own_policies: None,
            sack_walks: SackWalks::Done,
        }
    }
}
