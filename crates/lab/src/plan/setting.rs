//! What does one run look like? Network, script, associations, applications, times: everything a run depends on.

use serde::{Deserialize, Serialize};

use super::backend::{BackendPlan, KernelPlan, StackPlan, UsrsctpPlan, is_usual};
use super::mechanisms::Mechanisms;
use super::named::Named;
use super::processor::Processor;
use super::quantity::{Rate, RateLimit, Share, Size, Time, Whole};
use super::selection::Selection;
use super::transport::{MptcpPlan, TcpPlan, TransportPlan};

/// Everything that one run depends on, except its seed.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    /// What carries the data. SCTP unless set.
    #[serde(default)]
    pub transport: TransportPlan,
    /// Where it takes place. In the simulator unless set.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub backend: BackendPlan,
    /// Whose stacks talk on a test bed. Ours for SCTP, the kernel's for TCP, unless set.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub stack: Option<StackPlan>,
    /// What only usrsctp has.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub usrsctp: UsrsctpPlan,
    /// What only the kernel's TCP has.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub kernel: KernelPlan,
    /// What only TCP and Multipath TCP have.
    #[serde(default)]
    pub tcp: TcpPlan,
    /// What only Multipath TCP has.
    #[serde(default)]
    pub mptcp: MptcpPlan,
    /// How long it runs.
    #[serde(default)]
    pub time: Timing,
    /// The paths between the two hosts; the first one is the primary path.
    pub paths: Named<LinkPlan>,
    /// A link that all paths share, in each direction.
    pub bottleneck: Option<LinkPlan>,
    /// What happens to the network meanwhile.
    #[serde(default)]
    pub script: Vec<ScriptStep>,
    /// What both ends of the association have in common.
    #[serde(default)]
    pub association: AssociationPlan,
    /// The mechanisms of both ends.
    #[serde(default)]
    pub policies: Mechanisms,
    /// How fast the two hosts work.
    #[serde(default)]
    pub hosts: Hosts,
    /// Who sends what.
    #[serde(default)]
    pub apps: Named<AppPlan>,
    /// How the far application reads.
    #[serde(default)]
    pub reading: ReadingPlan,
    /// Other pairs of hosts that send through the bottleneck.
    #[serde(default)]
    pub cross_traffic: Named<CrossTrafficPlan>,
    /// What is recorded beside the scalars, and what is written.
    #[serde(default)]
    pub record: Record,
}

/// How long a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Timing {
    /// What passes before the measuring begins. 0 s unless set.
    pub warm_up: Time,
    /// For how long is measured. 60 s unless set.
    pub measure: Time,
    /// Whether the measuring ends as soon as everything was read, to 10 ms, if there is a given amount of it.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Hosts {
    /// The one that connects.
    pub near: HostPlan,
    /// The other one.
    pub far: HostPlan,
}

/// One host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HostPlan {
    /// The processor, by name. Nothing takes time unless set.
    pub processor: Option<Processor>,
}

/// A link in both directions. In `back`, and in what changes a link, what is left out stays as it is.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LinkPlan {
    /// How fast bits leave, of IP packets with their framing.
    pub rate: Option<RateLimit>,
    /// From a bit's leaving to its arrival, in one direction. 0 s unless set.
    pub delay: Option<Time>,
    /// Who waits. 100 packets, drop-tail, unless set.
    pub queue: Option<QueuePlan>,
    /// Who vanishes. Nobody unless set.
    pub loss: Option<LossPlan>,
    /// Upper end of a random additional delay. 0 s unless set.
    pub jitter: Option<Time>,
    /// Packets arrive only at multiples of this time, as behind a traffic shaper. At any moment unless set.
    pub tick: Option<Time>,
    /// The largest IP packet in bytes. 1,500 unless set.
    pub mtu: Option<Whole>,
    /// Bytes that the line adds to each IP packet: 26 for Ethernet. 0 unless set.
    pub framing: Option<Whole>,
    /// How the way back differs.
    pub reverse: Option<Box<Self>>,
}

/// Who waits before a link.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueuePlan {
    /// Drop-tail: so many packets.
    Packets(Whole),
    /// Drop-tail: so many bytes of IP.
    Bytes(Size),
    /// Random early detection.
    Red(RedPlan),
}

/// Parameters of random early detection (Floyd and Jacobson 1993); lengths in packets.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RedPlan {
    /// No packet waits beyond this length.
    pub limit: Whole,
    /// Average length below which all packets are taken. 5 unless set.
    pub min_threshold: Option<f64>,
    /// Average length from which none is. 15 unless set.
    pub max_threshold: Option<f64>,
    /// Chance of being turned away at the maximum. 2 % unless set.
    pub max_probability: Option<Share>,
    /// Weight of the newest length in the average. 0.002 unless set.
    pub weight: Option<f64>,
    /// Whether the chance grows on beyond the maximum.
    #[serde(default)]
    pub gentle: bool,
}

/// Who vanishes on a link.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossPlan {
    /// Each packet with this chance.
    Random(Share),
    /// In bursts (Gilbert and Elliott).
    Bursts(BurstPlan),
}

/// Losses in bursts.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BurstPlan {
    /// Share of packets lost in the long run.
    pub loss: Share,
    /// Mean number of packets lost in a row, at least 1.
    pub length: f64,
}

/// Something happens to the network.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScriptStep {
    /// When, from the start of the run.
    pub at: Time,
    /// This path loses everything.
    pub cut: Option<String>,
    /// This path works again.
    pub restore: Option<String>,
    /// Both ends get their addresses on this path, and tell each other of them (RFC 5061).
    pub join: Option<String>,
    /// Both ends lose their addresses on this path, and tell each other of it.
    pub leave: Option<String>,
    /// This path changes.
    pub change: Option<String>,
    /// Its new rate.
    pub rate: Option<RateLimit>,
    /// Its new delay.
    pub delay: Option<Time>,
    /// Its new losses.
    pub loss: Option<LossPlan>,
}

impl ScriptStep {
    /// The path that it happens to; `None` unless there is exactly one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        let all = [&self.cut, &self.restore, &self.join, &self.leave, &self.change];
        let mut named = all.into_iter().flatten();
        let first = named.next()?;
        named.next().is_none().then_some(first)
    }
}

impl Setting {
    /// Whose stacks talk.
    #[must_use]
    pub fn stack(&self) -> StackPlan {
        let usual = match (self.backend, self.transport) {
            (BackendPlan::Sim, _) | (BackendPlan::Testbed, TransportPlan::Sctp) => StackPlan::Anabranch,
            (BackendPlan::Testbed, TransportPlan::Tcp | TransportPlan::Mptcp) => StackPlan::Kernel,
        };
        self.stack.unwrap_or(usual)
    }

    /// The end whose data is measured: the near one, unless only the far one sends any.
    #[must_use]
    pub fn data_sender(&self) -> End {
        let has = |end| self.apps.iter().any(|(_, app)| app.end() == end);
        if has(End::Far) && !has(End::Near) {
            End::Far
        } else {
            End::Near
        }
    }

    /// How many messages are to be sent in all, if that is a number.
    #[must_use]
    pub fn all_messages(&self) -> Option<u64> {
        let data_sender = self.data_sender();
        let sending = self.apps.iter().filter(|(_, app)| app.end() == data_sender);
        sending.map(|(_, app)| app.all_messages()).sum()
    }

    /// Whether the hosts do not know of the path at first: what happens to its addresses first is that they join.
    #[must_use]
    pub fn joins_later(&self, path: &str) -> bool {
        let comes_or_goes = |step: &&ScriptStep| {
            [&step.join, &step.leave]
                .into_iter()
                .flatten()
                .any(|named| named == path)
        };
        let first = self
            .script
            .iter()
            .filter(comes_or_goes)
            .min_by_key(|step| step.at);
        first.is_some_and(|step| step.join.is_some())
    }
}

/// What both ends of an association have in common.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AssociationPlan {
    /// Bytes held for sending, sent ones until they are acknowledged included. 4 MiB unless set.
    pub send_buffer: Size,
    /// Bytes held until the application reads them. 4 MiB unless set.
    pub receive_buffer: Size,
    /// Largest IP packet. 1,500 unless set.
    pub mtu: Whole,
    /// Whether SCTP travels in UDP (RFC 6951), 8 bytes more in each packet; directly over IP unless set.
    pub udp: bool,
    /// Association.Max.Retrans (RFC 9260 §8.1). 10 unless set.
    pub max_retransmits: Whole,
}

impl Default for AssociationPlan {
    fn default() -> Self {
        Self {
            send_buffer: Size(4 << 20),
            receive_buffer: Size(4 << 20),
            mtu: Whole(1_500),
            udp: false,
            max_retransmits: Whole(10),
        }
    }
}

/// What an application does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppKind {
    /// Sends all that the send buffer takes, on its streams in turn.
    Bulk,
    /// The same, always on the stream with the fewest bytes waiting (sender-queue information).
    Balanced,
    /// Sends a message every so often.
    Periodic,
    /// Sends a request, waits for the answer, thinks, and asks again.
    Client,
    /// Answers each message.
    Server,
    /// A page of many objects: the far end sends each on a stream of its own, or on a TCP connection of its own.
    Download,
}

/// Which end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The one that connects.
    #[default]
    Near,
    /// The one that is connected to.
    Far,
}

impl End {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// An application.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AppPlan {
    /// What it does.
    pub kind: AppKind,
    /// Where it runs. The near end unless set, the far end for a server.
    pub end: Option<End>,
    /// Bytes of each message; of the request or answer.
    pub message: Size,
    /// On the first so many streams. 1 unless set.
    pub streams: Option<Whole>,
    /// On this stream only.
    pub stream: Option<Whole>,
    /// Whether messages may overtake each other.
    #[serde(default)]
    pub unordered: bool,
    /// `bulk`: how many messages; without end unless set.
    pub messages: Option<Whole>,
    /// `paced`: time from one message to the next.
    pub interval: Option<Time>,
    /// `paced`: how many messages each time, for short bursts. 1 unless set.
    pub burst: Option<Whole>,
    /// `client`: time from an answer to the next request. 0 s unless set.
    pub think_time: Option<Time>,
    /// `download`: how many objects.
    pub objects: Option<Whole>,
    /// `download`: bytes of each object, which travel in messages of at most `message` bytes, in turn over all streams.
    pub object: Option<Size>,
    /// `download`: bytes of the request for each object. Unless set they are sent as soon as somebody connects.
    pub request: Option<Size>,
}

impl AppPlan {
    /// Where it runs.
    #[must_use]
    pub fn end(&self) -> End {
        let usual = match self.kind {
            AppKind::Server | AppKind::Download => End::Far,
            AppKind::Bulk | AppKind::Balanced | AppKind::Periodic | AppKind::Client => End::Near,
        };
        self.end.unwrap_or(usual)
    }

    /// How many streams it uses, or connections of TCP.
    #[must_use]
    pub fn stream_count(&self) -> u32 {
        self.objects.or(self.streams).map_or(1, |count| count.0)
    }

    /// Bytes of each object; 0 if there are none.
    #[must_use]
    pub fn object_bytes(&self) -> u64 {
        self.object.map_or(0, |size| size.0)
    }

    /// How many messages it sends in all, if that is a number.
    #[must_use]
    pub fn all_messages(&self) -> Option<u64> {
        let of_object = self.object_bytes().div_ceil(self.message.0.max(1));
        let messages = self.messages.map(|count| u64::from(count.0));
        let objects = self.objects.map(|count| u64::from(count.0) * of_object);
        objects.or(messages)
    }
}

/// How the far application reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingPlan {
    /// At once.
    #[default]
    Eager,
    /// Not at all.
    Paused,
    /// Never more than this.
    AtRate(Rate),
}

/// Another pair of hosts, with one path through the bottleneck or over the link of a path.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CrossTrafficPlan {
    /// What carries its data, whatever carries that of the others. SCTP unless set.
    #[serde(default)]
    pub transport: TransportPlan,
    /// What only TCP has.
    #[serde(default)]
    pub tcp: TcpPlan,
    /// The path whose own link it crosses, not the bottleneck.
    pub through: Option<String>,
    /// Its link to the bottleneck, or to that of the path. Infinitely fast unless set.
    #[serde(default)]
    pub access: LinkPlan,
    /// What both ends of its association have in common.
    #[serde(default)]
    pub association: AssociationPlan,
    /// Its mechanisms.
    #[serde(default)]
    pub policies: Mechanisms,
    /// What its near end sends.
    pub apps: Named<AppPlan>,
}

/// What is recorded, and what of it is written.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Record {
    /// Time from one sample of the time series to the next; no series unless set.
    pub time_series: Option<Time>,
    /// Whether histograms are written: delays, and TSNs and blocks in each SACK.
    pub histograms: bool,
    /// Whether is counted what packets carry beside user data.
    pub overhead: bool,
    /// The metrics that are written for each run. All unless set. Runs do not depend on it, so another choice costs none.
    #[serde(skip_serializing)]
    pub metrics: Option<Selection>,
    /// The columns of the time series, beside time and path. All unless set.
    #[serde(skip_serializing)]
    pub columns: Option<Selection>,
}
