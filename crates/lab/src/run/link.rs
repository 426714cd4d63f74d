//! Link configuration. How is a link of a plan turned into two of the simulator, and when do hosts start?

use core::time::Duration;
use std::sync::Arc;

use anabranch_netsim::link::{
    BatchLoss, Clock, CodelConfig, DelayVariation, Distribution, FqCodelConfig, GilbertElliott, Loss,
    PieConfig, QueueConfig, RedConfig,
};
use anabranch_netsim::{LinkConfig, Probability, RateTrace};
use anabranch_types::{Rng, Seed};

use crate::plan::{
    ClocksPlan, CodelPlan, FqCodelPlan, LinkPlan, LossPlan, PiePlan, QueuePlan, RateLimit, RedPlan, Setting,
    TracePlan, VariationPlan,
};

/// What is drawn for the links and hosts of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    plan: ClocksPlan,
    seed: Seed,
}

impl Clocks {
    pub(super) fn new(setting: &Setting, seed: Seed) -> Self {
        Self {
            plan: setting.clocks,
            seed,
        }
    }

    /// Those of the access link of a cross-traffic flow, which has no name of its own.
    pub(super) fn of_cross_traffic(self, name: &str) -> Self {
        let seed = self.seed.split("cross-traffic").split(name);
        Self { seed, ..self }
    }

    /// When the hosts called `name` start; `None` if all start at time 0.
    pub(super) fn start_of(self, name: &str) -> Option<Duration> {
        let latest = u64::try_from(self.plan.start.0.as_nanos()).unwrap_or(u64::MAX);
        let mut rng = self.rng("start", name);
        (latest > 0).then(|| Duration::from_nanos(rng.below(latest)))
    }

    fn clock_of(self, link: &str) -> Clock {
        let mut rng = self.rng("clock", link);
        let phase = if self.plan.phases {
            Duration::from_nanos(rng.below(1_000_000_000))
        } else {
            Duration::ZERO
        };
        // Parts per billion, of which `validate` allows fewer than 2³¹.
        let largest = (self.plan.drift * 1_000.0) as i32;
        let drift = rng.below(2 * largest.unsigned_abs() as u64 + 1) as i32 - largest;
        Clock { phase, drift }
    }

    fn trace_of(self, plan: &TracePlan, link: &str) -> Option<Arc<RateTrace>> {
        if let Some(content) = &plan.content {
            return Some(content.clone());
        }
        let seed = match plan.seed {
            Some(seed) => Seed(seed.0.into()),
            None => self.seed.split("trace").split(link),
        };
        let model = anabranch_netsim::TraceModel::from(plan.model?);
        model.trace(plan.mean?.0, plan.length(), seed).map(Arc::new)
    }

    fn rng(self, what: &str, name: &str) -> Rng {
        self.seed.split(what).split(name).rng()
    }
}

/// Returns the forward link and the reverse link.
pub(super) fn both_directions(plan: &LinkPlan, name: &str, clocks: Clocks) -> (LinkConfig, LinkConfig) {
    let forward = lay_over(LinkConfig::unlimited(Duration::ZERO), plan);
    let reverse = match &plan.reverse {
        Some(reverse) => lay_over(forward.clone(), reverse),
        None => forward.clone(),
    };
    let finished = |link: LinkConfig, arrow: char| {
        let full_name = format!("{name}{arrow}");
        let reversed = plan.reverse.as_deref().filter(|_| arrow == '←');
        // A rate in the reverse direction replaces the forward one's trace.
        let own = reversed.filter(|own| own.rate.is_some() || own.trace.is_some());
        let trace = own.unwrap_or(plan).trace.as_ref();
        let link = LinkConfig {
            trace: trace.and_then(|trace| clocks.trace_of(trace, &full_name)),
            clock: clocks.clock_of(&full_name),
            ..link
        };
        // Without a name, the simulator chooses one.
        if name.is_empty() {
            link
        } else {
            link.named(full_name)
        }
    };
    (finished(forward, '→'), finished(reverse, '←'))
}

fn lay_over(mut link: LinkConfig, plan: &LinkPlan) -> LinkConfig {
    match plan.rate {
        Some(RateLimit::At(rate)) => link.rate = Some(rate.0),
        Some(RateLimit::Unlimited) => link.rate = None,
        None => {}
    }
    link.delay = plan.delay.map_or(link.delay, |delay| delay.0);
    link.queue = plan.queue.as_ref().map_or(link.queue, queue);
    if let Some(plan) = &plan.loss {
        link.loss = loss(plan);
    }
    if let Some(plan) = &plan.delay_variation {
        link.variation = variation(plan);
    }
    link.jitter = plan.jitter.map_or(link.jitter, |jitter| jitter.0);
    link.tick = plan.tick.map_or(link.tick, |tick| tick.0);
    link.mtu = plan.mtu.map_or(link.mtu, |mtu| mtu.0);
    link.framing = plan.framing.map_or(link.framing, |framing| framing.0);
    link
}

/// `None` for a deviation of zero, with which packets keep their order.
fn variation(plan: &VariationPlan) -> Option<DelayVariation> {
    let (deviation, distribution) = match plan {
        VariationPlan::Uniform(deviation) => (deviation, Distribution::Uniform),
        VariationPlan::Normal(deviation) => (deviation, Distribution::Normal),
        VariationPlan::Pareto(deviation) => (deviation, Distribution::Pareto),
        VariationPlan::Table(table) => (&table.deviation, Distribution::Table(table.content.clone()?)),
    };
    let variation = DelayVariation {
        deviation: deviation.0,
        distribution,
    };
    (!deviation.0.is_zero()).then_some(variation)
}

fn queue(plan: &QueuePlan) -> QueueConfig {
    match plan {
        QueuePlan::Packets(packets) => QueueConfig::Packets(packets.0),
        QueuePlan::Bytes(bytes) => QueueConfig::Bytes(bytes.0),
        QueuePlan::Red(plan) => QueueConfig::Red(red(plan)),
        QueuePlan::Codel(plan) => QueueConfig::Codel(codel(plan)),
        QueuePlan::FqCodel(plan) => QueueConfig::FqCodel(fq_codel(plan)),
        QueuePlan::Pie(plan) => QueueConfig::Pie(pie(plan)),
    }
}

fn red(plan: &RedPlan) -> RedConfig {
    let classic = RedConfig::classic(plan.limit.0);
    RedConfig {
        min_threshold: plan.min_threshold.unwrap_or(classic.min_threshold),
        max_threshold: plan.max_threshold.unwrap_or(classic.max_threshold),
        max_probability: plan
            .max_probability
            .map_or(classic.max_probability, |probability| probability.0),
        weight: plan.weight.unwrap_or(classic.weight),
        gentle: plan.gentle,
        mark: plan.ecn,
        ..classic
    }
}

fn codel(plan: &CodelPlan) -> CodelConfig {
    let standard = CodelConfig::standard(plan.limit.map_or(1_000, |limit| limit.0));
    CodelConfig {
        target: plan.target.map_or(standard.target, |target| target.0),
        interval: plan.interval.map_or(standard.interval, |interval| interval.0),
        mark: plan.ecn,
        ..standard
    }
}

fn fq_codel(plan: &FqCodelPlan) -> FqCodelConfig {
    let standard = FqCodelConfig::standard();
    let CodelConfig {
        limit,
        target,
        interval,
        mark,
    } = standard.codel;
    FqCodelConfig {
        codel: CodelConfig {
            limit: plan.limit.map_or(limit, |limit| limit.0),
            target: plan.target.map_or(target, |target| target.0),
            interval: plan.interval.map_or(interval, |interval| interval.0),
            mark: plan.ecn.unwrap_or(mark),
        },
        flows: plan.flows.map_or(standard.flows, |flows| flows.0),
        quantum: plan.quantum.map_or(standard.quantum, |quantum| quantum.0),
    }
}

fn pie(plan: &PiePlan) -> PieConfig {
    let standard = PieConfig::standard(plan.limit.map_or(1_000, |limit| limit.0));
    PieConfig {
        target: plan.target.map_or(standard.target, |target| target.0),
        update: plan.update.map_or(standard.update, |update| update.0),
        alpha: plan.alpha.unwrap_or(standard.alpha),
        beta: plan.beta.unwrap_or(standard.beta),
        max_burst: plan.max_burst.map_or(standard.max_burst, |burst| burst.0),
        mark: plan.ecn,
        ..standard
    }
}

pub(super) fn loss(plan: &LossPlan) -> Loss {
    match plan {
        LossPlan::Random(share) => Loss::Bernoulli(Probability::of(share.0)),
        LossPlan::Bursts(bursts) => {
            Loss::GilbertElliott(GilbertElliott::bursts(bursts.loss.0, bursts.length))
        }
        LossPlan::Batches(batches) => Loss::Batches(BatchLoss {
            chance: Probability::of(batches.loss.0),
            packets: batches
                .packets
                .map_or(BatchLoss::OFFLOADED_SEGMENTS, |packets| packets.0),
        }),
    }
}

#[cfg(test)]
mod tests;
