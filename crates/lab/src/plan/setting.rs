//! Setting of a run: network, script, association, applications, durations. Everything that a run depends on except its seed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backend::{BackendPlan, KernelPlan, StackPlan, UsrsctpPlan, is_default};
use super::link::{BatchPlan, ClocksPlan, CodelPlan, FqCodelPlan, PiePlan, TracePlan, VariationPlan};
use super::mechanisms::Mechanisms;
use super::named::Named;
use super::processor::Processor;
use super::quantity::{Buffer, Rate, RateLimit, Share, Size, Time, Whole, number, optional_number};
use super::selection::Selection;
use super::transport::{MptcpPlan, TcpPlan, TransportPlan};

/// Everything that one run depends on, except its seed.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    /// Transport protocol. SCTP unless set.
    #[serde(default)]
    pub transport: TransportPlan,
    /// Simulator or test bed. The simulator unless set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backend: BackendPlan,
    /// Network stack on a test bed. `anabranch` for SCTP, `kernel` for TCP, unless set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stack: Option<StackPlan>,
    /// Settings of usrsctp.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub usrsctp: UsrsctpPlan,
    /// Settings of the kernel's TCP.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kernel: KernelPlan,
    /// Options of TCP and Multipath TCP.
    #[serde(default)]
    pub tcp: TcpPlan,
    /// Options of Multipath TCP.
    #[serde(default)]
    pub mptcp: MptcpPlan,
    /// Durations.
    #[serde(default)]
    pub time: Timing,
    /// Clocks of links and starting times of hosts. True time and time 0 unless set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clocks: ClocksPlan,
    /// The paths between the two hosts; the first one is the primary path.
    pub paths: Named<LinkPlan>,
    /// A link shared by all paths, in each direction.
    pub bottleneck: Option<LinkPlan>,
    /// Scheduled changes of the network.
    #[serde(default)]
    pub script: Vec<ScriptStep>,
    /// Options of both ends of the association.
    #[serde(default)]
    pub association: AssociationPlan,
    /// The policies of both ends.
    #[serde(default)]
    pub policies: Mechanisms,
    /// The two hosts.
    #[serde(default)]
    pub hosts: Hosts,
    /// The applications.
    #[serde(default)]
    pub apps: Named<AppPlan>,
    /// How the receiving application reads.
    #[serde(default)]
    pub reading: ReadingPlan,
    /// Cross traffic: other pairs of hosts that share the bottleneck or a link.
    #[serde(default)]
    pub cross_traffic: Named<CrossTrafficPlan>,
    /// What is recorded and written.
    #[serde(default)]
    pub record: Record,
}

/// Durations of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Timing {
    /// Warm-up before the measurement. 0 s unless set.
    pub warm_up: Time,
    /// Duration of the measurement. 60 s unless set.
    pub measure: Time,
    /// Whether the measurement ends when a finite amount of data has been read, to 10 ms.
    pub until_complete: bool,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            warm_up: Time::default(),
            measure: Time(core::time::Duration::from_secs(60)),
            until_complete: false,
        }
    }
}

/// The two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Hosts {
    /// The initiator.
    pub near: HostPlan,
    /// The responder.
    pub far: HostPlan,
}

/// One host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HostPlan {
    /// The processor model. Processing takes no time unless set.
    pub processor: Option<Processor>,
}

/// A link in both directions. In `reverse` and in changes of a link, omitted keys keep their values.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LinkPlan {
    /// Rate of IP packets including framing.
    pub rate: Option<RateLimit>,
    /// Rate trace, in place of the rate. None unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TracePlan>,
    /// One-way propagation delay. 0 s unless set.
    pub delay: Option<Time>,
    /// Delay variation by which packets overtake one another. None unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_variation: Option<VariationPlan>,
    /// The queue. 100 packets, drop-tail, unless set.
    pub queue: Option<QueuePlan>,
    /// The loss model. None unless set.
    pub loss: Option<LossPlan>,
    /// Maximum of a random additional delay that keeps the order of packets. 0 s unless set.
    pub jitter: Option<Time>,
    /// Timer granularity of a traffic shaper: packets are delivered at multiples of this time only. None unless set.
    pub tick: Option<Time>,
    /// MTU in bytes. 1,500 unless set.
    pub mtu: Option<Whole>,
    /// Link-layer overhead for each IP packet in bytes: 26 for Ethernet. 0 unless set.
    pub framing: Option<Whole>,
    /// Keys that differ in the reverse direction.
    pub reverse: Option<Box<Self>>,
}

/// The queue of a link.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueuePlan {
    /// Drop-tail, limit in packets.
    Packets(Whole),
    /// Drop-tail, limit in bytes of IP packets.
    Bytes(Size),
    /// Random early detection.
    Red(RedPlan),
    /// Controlled delay (RFC 8289).
    Codel(CodelPlan),
    /// A queue with controlled delay for each flow (RFC 8290).
    FqCodel(FqCodelPlan),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PiePlan),
}

/// Parameters of random early detection (Floyd and Jacobson 1993); lengths in packets.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RedPlan {
    /// Maximum queue length.
    pub limit: Whole,
    /// Average length below which no packet is dropped. 5 unless set.
    #[serde(default, deserialize_with = "optional_number")]
    #[schemars(with = "Option<f64>")]
    pub min_threshold: Option<f64>,
    /// Average length above which every packet is dropped. 15 unless set.
    #[serde(default, deserialize_with = "optional_number")]
    #[schemars(with = "Option<f64>")]
    pub max_threshold: Option<f64>,
    /// Drop probability at `max-threshold`. 2 % unless set.
    pub max_probability: Option<Share>,
    /// Weight of the current length in the moving average. 0.002 unless set.
    #[serde(default, deserialize_with = "optional_number")]
    #[schemars(with = "Option<f64>")]
    pub weight: Option<f64>,
    /// Gentle RED: the probability rises to 1 between the maximum and twice the maximum.
    #[serde(default)]
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped. They are not unless set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: bool,
}

/// Loss model of a link.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossPlan {
    /// Independent losses with this probability.
    Random(Share),
    /// Bursts of losses (Gilbert–Elliott model).
    Bursts(BurstPlan),
    /// Losses of whole batches of segmentation offload.
    Batches(BatchPlan),
}

/// Parameters of burst losses.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BurstPlan {
    /// Mean loss rate.
    pub loss: Share,
    /// Mean burst length in packets, at least 1.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "f64")]
    pub length: f64,
}

/// A step of the script: a scheduled change of the network.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScriptStep {
    /// Time, from the start of the run.
    pub at: Time,
    /// The path that is cut: it drops all packets.
    pub cut: Option<String>,
    /// The path that is restored after a cut.
    pub restore: Option<String>,
    /// The path on which both ends add their addresses (RFC 5061).
    pub join: Option<String>,
    /// The path on which both ends delete their addresses (RFC 5061).
    pub leave: Option<String>,
    /// The path whose link changes.
    pub change: Option<String>,
    /// Its new rate.
    pub rate: Option<RateLimit>,
    /// Its new delay.
    pub delay: Option<Time>,
    /// Its new loss model.
    pub loss: Option<LossPlan>,
}

impl ScriptStep {
    /// The path concerned; `None` unless there is exactly one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        let all = [&self.cut, &self.restore, &self.join, &self.leave, &self.change];
        let mut named = all.into_iter().flatten();
        let first = named.next()?;
        named.next().is_none().then_some(first)
    }
}

impl Setting {
    /// The network stack, with its default.
    #[must_use]
    pub fn stack(&self) -> StackPlan {
        let default = match (self.backend, self.transport) {
            (BackendPlan::Sim, _) | (BackendPlan::Testbed, TransportPlan::Sctp) => StackPlan::Anabranch,
            (BackendPlan::Testbed, TransportPlan::Tcp | TransportPlan::Mptcp) => StackPlan::Kernel,
        };
        self.stack.unwrap_or(default)
    }

    /// The end whose data is measured: the near end, unless only the far end sends.
    #[must_use]
    pub fn data_sender(&self) -> End {
        let has = |end| self.apps.iter().any(|(_, app)| app.end() == end);
        if has(End::Far) && !has(End::Near) {
            End::Far
        } else {
            End::Near
        }
    }

    /// Total number of messages, if finite.
    #[must_use]
    pub fn all_messages(&self) -> Option<u64> {
        let data_sender = self.data_sender();
        let sending = self.apps.iter().filter(|(_, app)| app.end() == data_sender);
        sending.map(|(_, app)| app.all_messages()).sum()
    }

    /// Whether the path is added during the run: the first step for its addresses is `join`.
    #[must_use]
    pub fn joins_later(&self, path: &str) -> bool {
        let changes_addresses = |step: &&ScriptStep| {
            [&step.join, &step.leave]
                .into_iter()
                .flatten()
                .any(|named| named == path)
        };
        let first = self
            .script
            .iter()
            .filter(changes_addresses)
            .min_by_key(|step| step.at);
        first.is_some_and(|step| step.join.is_some())
    }
}

/// Options of both ends of an association.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AssociationPlan {
    /// Send buffer, including sent data that is not acknowledged; `"auto"` sizes itself, and is 64 MiB with TCP. 4 MiB unless set.
    pub send_buffer: Buffer,
    /// Receive buffer, as `send-buffer`. 4 MiB unless set.
    pub receive_buffer: Buffer,
    /// Largest IP packet in bytes. 1,500 unless set.
    pub mtu: Whole,
    /// Whether SCTP is encapsulated in UDP (RFC 6951). Directly over IP unless set.
    pub udp: bool,
    /// Association.Max.Retrans (RFC 9260 §8.1). 10 unless set.
    pub max_retransmits: Whole,
}

impl Default for AssociationPlan {
    fn default() -> Self {
        Self {
            send_buffer: Buffer::Of(Size(4 << 20)),
            receive_buffer: Buffer::Of(Size(4 << 20)),
            mtu: Whole(1_500),
            udp: false,
            max_retransmits: Whole(10),
        }
    }
}

/// Kind of application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppKind {
    /// Saturated sender; round robin over its streams.
    Bulk,
    /// Saturated sender; always uses the stream with the fewest queued bytes (sender-queue information).
    Balanced,
    /// Sends messages periodically.
    Periodic,
    /// Sends a request, waits for the response, pauses for `think-time`, and repeats.
    Client,
    /// Responds to each message.
    Server,
    /// Download of several objects: the far end sends each on its own stream or TCP connection.
    Download,
}

/// An end of the association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The initiator.
    #[default]
    Near,
    /// The responder.
    Far,
}

impl End {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// An application.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AppPlan {
    /// Kind of application.
    pub kind: AppKind,
    /// The end that it runs at. `far` for `server` and `download`, else `near`, unless set.
    pub end: Option<End>,
    /// Size of each message, request or response in bytes.
    pub message: Size,
    /// Number of streams, from stream 0. 1 unless set.
    pub streams: Option<Whole>,
    /// Uses only this stream.
    pub stream: Option<Whole>,
    /// Whether messages are unordered.
    #[serde(default)]
    pub unordered: bool,
    /// `bulk`: number of messages. Unlimited unless set.
    pub messages: Option<Whole>,
    /// `periodic`: time from one message to the next.
    pub interval: Option<Time>,
    /// `periodic`: messages per interval. 1 unless set.
    pub burst: Option<Whole>,
    /// `client`: time from a response to the next request. 0 s unless set.
    pub think_time: Option<Time>,
    /// `download`: number of objects.
    pub objects: Option<Whole>,
    /// `download`: size of each object in bytes, sent in messages of at most `message` bytes, round robin over the streams.
    pub object: Option<Size>,
    /// `download`: size of the request for each object in bytes. Unless set, objects are sent once the association is up.
    pub request: Option<Size>,
}

impl AppPlan {
    /// The end that it runs at.
    #[must_use]
    pub fn end(&self) -> End {
        let default = match self.kind {
            AppKind::Server | AppKind::Download => End::Far,
            AppKind::Bulk | AppKind::Balanced | AppKind::Periodic | AppKind::Client => End::Near,
        };
        self.end.unwrap_or(default)
    }

    /// Number of streams, or of TCP connections.
    #[must_use]
    pub fn stream_count(&self) -> u32 {
        self.objects.or(self.streams).map_or(1, |count| count.0)
    }

    /// Size of each object in bytes; 0 without objects.
    #[must_use]
    pub fn object_bytes(&self) -> u64 {
        self.object.map_or(0, |size| size.0)
    }

    /// Total number of messages, if finite.
    #[must_use]
    pub fn all_messages(&self) -> Option<u64> {
        let of_object = self.object_bytes().div_ceil(self.message.0.max(1));
        let messages = self.messages.map(|count| u64::from(count.0));
        let objects = self.objects.map(|count| u64::from(count.0) * of_object);
        objects.or(messages)
    }
}

/// How the receiving application reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingPlan {
    /// As soon as data arrives.
    #[default]
    Eager,
    /// Never.
    Paused,
    /// At most at this rate.
    AtRate(Rate),
}

/// Cross traffic: another pair of hosts with one path, through the bottleneck or over the link of a path.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CrossTrafficPlan {
    /// Transport protocol of the cross traffic. SCTP unless set.
    #[serde(default)]
    pub transport: TransportPlan,
    /// Options of TCP.
    #[serde(default)]
    pub tcp: TcpPlan,
    /// The path whose link it shares, in place of the bottleneck.
    pub through: Option<String>,
    /// Its access link. Unlimited unless set.
    #[serde(default)]
    pub access: LinkPlan,
    /// Options of its association.
    #[serde(default)]
    pub association: AssociationPlan,
    /// Its policies.
    #[serde(default)]
    pub policies: Mechanisms,
    /// The applications at its near end.
    pub apps: Named<AppPlan>,
}

/// What is recorded and written.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Record {
    /// Sampling interval of the time series. No time series unless set.
    pub time_series: Option<Time>,
    /// Whether to write histograms of delays, and of TSNs and blocks in each SACK.
    pub histograms: bool,
    /// Whether to count headers and control chunks.
    pub overhead: bool,
    /// The metrics to write. All unless set. Cached results stay valid when this changes.
    #[serde(skip_serializing)]
    pub metrics: Option<Selection>,
    /// The columns of the time series to write, besides time and path. All unless set.
    #[serde(skip_serializing)]
    pub columns: Option<Selection>,
}
