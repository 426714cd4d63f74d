//! Parts of a link in plans: delay variation, rate traces, queues with active management, batch loss, and the clocks of all links.

use core::time::Duration;
use std::sync::Arc;

use anabranch_netsim::link::DelayTable;
use anabranch_netsim::{RateTrace, TraceModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{Rate, Share, Time, Whole, number, optional_number};

/// Delay variation by which packets overtake one another, as in netem; the time is one deviation.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VariationPlan {
    /// Uniform within one deviation around the delay.
    Uniform(Time),
    /// Normal, cut at four deviations.
    Normal(Time),
    /// Pareto with shape 3, cut at four deviations.
    Pareto(Time),
    /// From a table.
    Table(TablePlan),
}

/// A distribution from a table in netem's format.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TablePlan {
    /// The file, relative to the plan's folder.
    pub file: String,
    /// One deviation.
    pub deviation: Time,
    /// Digest of the file's content; filled in when it is read. If given, the content must have it.
    pub digest: Option<String>,
    /// The content, once read.
    #[serde(skip)]
    pub content: Option<Arc<DelayTable>>,
}

/// Rate trace of a link: a file, or a model.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TracePlan {
    /// A file in Mahimahi's format, relative to the plan's folder.
    pub file: Option<String>,
    /// Digest of the file's content; filled in when it is read. If given, the content must have it.
    pub digest: Option<String>,
    /// A model that generates the trace.
    pub model: Option<ModelPlan>,
    /// Mean rate of the model, required.
    pub mean: Option<Rate>,
    /// Time after which a generated trace repeats. 2 min unless set.
    pub length: Option<Time>,
    /// Seed of a generated trace. Drawn from the run's seed, for each link another one, unless set.
    pub seed: Option<Whole>,
    /// The content of the file, once read.
    #[serde(skip)]
    pub content: Option<Arc<RateTrace>>,
}

impl TracePlan {
    /// Time after which a generated trace repeats.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length.map_or(Duration::from_secs(120), |length| length.0)
    }

    /// Mean rate; `None` for a file that has not been read.
    #[must_use]
    pub fn mean_rate(&self) -> Option<anabranch_types::Rate> {
        match &self.content {
            Some(trace) => Some(trace.mean_rate()),
            None => self.mean.map(|mean| mean.0),
        }
    }
}

/// A model of an access network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelPlan {
    /// Cellular: fading, shadowing, handovers.
    Lte,
    /// Satellite: a hand-over every 15 s.
    Starlink,
    /// Wireless LAN: contention, aggregation, interference.
    Wifi,
}

impl From<ModelPlan> for TraceModel {
    fn from(plan: ModelPlan) -> Self {
        match plan {
            ModelPlan::Lte => Self::Lte,
            ModelPlan::Starlink => Self::Starlink,
            ModelPlan::Wifi => Self::WiFi,
        }
    }
}

/// Parameters of CoDel (RFC 8289).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CodelPlan {
    /// Maximum queue length in packets. 1,000 unless set.
    pub limit: Option<Whole>,
    /// Acceptable standing waiting time. 5 ms unless set.
    pub target: Option<Time>,
    /// Time in which the waiting time must fall below the target. 100 ms unless set.
    pub interval: Option<Time>,
    /// Whether ECN-capable packets are marked instead of dropped. They are not unless set.
    pub ecn: bool,
}

/// Parameters of FQ-CoDel (RFC 8290).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FqCodelPlan {
    /// Maximum length of all queues together in packets. 10,240 unless set.
    pub limit: Option<Whole>,
    /// Number of queues. 1,024 unless set.
    pub flows: Option<Whole>,
    /// Bytes that a queue may send in a round. 1,514 unless set.
    pub quantum: Option<Whole>,
    /// Acceptable standing waiting time. 5 ms unless set.
    pub target: Option<Time>,
    /// Time in which the waiting time must fall below the target. 100 ms unless set.
    pub interval: Option<Time>,
    /// Whether ECN-capable packets are marked instead of dropped. They are unless set.
    pub ecn: Option<bool>,
}

/// Parameters of PIE (RFC 8033).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PiePlan {
    /// Maximum queue length in packets. 1,000 unless set.
    pub limit: Option<Whole>,
    /// Target of the waiting time. 15 ms unless set.
    pub target: Option<Time>,
    /// Time between updates of the drop probability. 15 ms unless set.
    pub update: Option<Time>,
    /// Weight of the distance from the target, in 1/s. 0.125 unless set.
    #[serde(deserialize_with = "optional_number")]
    #[schemars(with = "Option<f64>")]
    pub alpha: Option<f64>,
    /// Weight of the trend, in 1/s. 1.25 unless set.
    #[serde(deserialize_with = "optional_number")]
    #[schemars(with = "Option<f64>")]
    pub beta: Option<f64>,
    /// Time in which a burst after an idle period is not dropped. 150 ms unless set.
    pub max_burst: Option<Time>,
    /// Whether ECN-capable packets are marked instead of dropped. They are not unless set.
    pub ecn: bool,
}

/// Parameters of the loss of whole batches.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BatchPlan {
    /// Probability that a batch is lost.
    pub loss: Share,
    /// Most packets of a batch. 45 unless set: segments of 1,448 bytes in 64 KiB.
    pub packets: Option<Whole>,
}

/// Clocks of links and starting times of hosts, drawn from the run's seed. Without this table, all links follow true time and
/// all hosts start at time 0.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ClocksPlan {
    /// Whether each link's clock begins with a phase of its own, drawn from one second.
    pub phases: bool,
    /// Largest drift of a link's clock in parts per million. Drawn between this and its negative. 0 unless set.
    #[serde(deserialize_with = "number")]
    #[schemars(with = "f64")]
    pub drift: f64,
    /// Latest start of the hosts and of each cross-traffic flow. Drawn from 0 s up to this. 0 s unless set.
    pub start: Time,
}

#[cfg(test)]
mod tests;
