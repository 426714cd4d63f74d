//! Validation of links: values out of range, keys that exclude each other.

use core::time::Duration;

use super::super::link::{CodelPlan, FqCodelPlan, PiePlan, TracePlan, VariationPlan};
use super::super::quantity::{Time, Whole};
use super::super::setting::{LinkPlan, LossPlan, QueuePlan, RedPlan};
use super::{Fault, below, check_mtu};

fn check_red(red: &RedPlan, path: &[&str]) -> Result<(), Fault> {
    let (minimum, maximum) = (
        red.min_threshold.unwrap_or(5.0),
        red.max_threshold.unwrap_or(15.0),
    );
    let is_length = |length: f64| (0.0..1e9).contains(&length);
    if !is_length(minimum) || !is_length(maximum) || minimum >= maximum {
        return below(
            path,
            "queue",
            "expected `min-threshold` below `max-threshold`, both in packets",
        );
    }
    if red.weight.is_some_and(|weight| !(weight > 0.0 && weight <= 1.0)) {
        return below(path, "queue", "expected a `weight` above 0 and up to 1");
    }
    Ok(())
}

/// Why a loss model is impossible. At least one packet arrives between two bursts, so a high loss rate needs long bursts.
pub(super) fn impossible_loss(loss: &LossPlan) -> Option<String> {
    let bursts = match loss {
        LossPlan::Random(_) => return None,
        LossPlan::Batches(batches) => {
            let is_empty = batches.packets.is_some_and(|packets| packets.0 == 0);
            return is_empty.then(|| "expected `packets` of at least 1".into());
        }
        LossPlan::Bursts(bursts) => bursts,
    };
    let (share, length) = (bursts.loss.0, bursts.length);
    if !(1.0..1e9).contains(&length) || share >= 1.0 {
        return Some("expected a `loss` below 100% and a `length` of at least 1".into());
    }
    let shortest = share / (1.0 - share);
    let text = || {
        format!(
            "bursts of {length} packets cannot reach this loss rate; expected a `length` of at least {shortest:.2}"
        )
    };
    (length < shortest).then(text)
}

pub(super) fn check_link(link: &LinkPlan, path: &[&str]) -> Result<(), Fault> {
    if let Some(mtu) = link.mtu {
        check_mtu(mtu.0, &[path, &["mtu"]].concat())?;
    }
    if let Some(queue) = &link.queue {
        check_queue(queue, path)?;
    }
    if let Some(trace) = &link.trace {
        check_trace(trace, link, path)?;
    }
    check_variation(link, path)?;
    if let Some(text) = link.loss.as_ref().and_then(impossible_loss) {
        return below(path, "loss", text);
    }
    match &link.reverse {
        Some(reverse) if reverse.reverse.is_some() => {
            below(path, "reverse", "`reverse` cannot have a `reverse` of its own")
        }
        Some(reverse) => check_link(reverse, &[path, &["reverse"]].concat()),
        None => Ok(()),
    }
}

/// Largest number of queues and of bytes in a round of FQ-CoDel.
const LARGEST_FLOWS: u32 = 65_536;
const LARGEST_QUANTUM: u32 = 1 << 20;
/// Most opportunities of a generated trace, which are kept in memory.
const MAX_OPPORTUNITIES: u64 = 100_000_000;
/// Generated traces have a resolution of a millisecond, and each takes memory while it is generated.
const SHORTEST_TRACE: Duration = Duration::from_millis(1);
const LONGEST_TRACE: Duration = Duration::from_secs(3_600);
/// Bits of an opportunity.
const OPPORTUNITY_BITS: f64 = 12_000.0;

fn check_queue(queue: &QueuePlan, path: &[&str]) -> Result<(), Fault> {
    match queue {
        QueuePlan::Packets(_) | QueuePlan::Bytes(_) => Ok(()),
        QueuePlan::Red(red) => check_red(red, path),
        QueuePlan::Codel(CodelPlan {
            limit,
            target,
            interval,
            ..
        }) => {
            check_limit(*limit, path)?;
            check_codel_times(*target, *interval, path)
        }
        QueuePlan::FqCodel(FqCodelPlan {
            limit,
            flows,
            quantum,
            target,
            interval,
            ..
        }) => {
            check_limit(*limit, path)?;
            if flows.is_some_and(|flows| !(1..=LARGEST_FLOWS).contains(&flows.0)) {
                return below(
                    path,
                    "queue",
                    format!("expected between 1 and {LARGEST_FLOWS} `flows`"),
                );
            }
            if quantum.is_some_and(|quantum| !(1..=LARGEST_QUANTUM).contains(&quantum.0)) {
                let text = format!("expected a `quantum` between 1 and {LARGEST_QUANTUM} bytes");
                return below(path, "queue", text);
            }
            check_codel_times(*target, *interval, path)
        }
        QueuePlan::Pie(pie) => check_pie(pie, path),
    }
}

fn check_limit(limit: Option<Whole>, path: &[&str]) -> Result<(), Fault> {
    if limit.is_some_and(|limit| limit.0 == 0) {
        return below(path, "queue", "expected a `limit` of at least 1 packet");
    }
    Ok(())
}

fn check_codel_times(target: Option<Time>, interval: Option<Time>, path: &[&str]) -> Result<(), Fault> {
    let zero = |time: Option<Time>| time.is_some_and(|time| time.0.is_zero());
    if zero(target) || zero(interval) {
        return below(path, "queue", "expected a `target` and an `interval` above zero");
    }
    Ok(())
}

fn check_pie(pie: &PiePlan, path: &[&str]) -> Result<(), Fault> {
    check_limit(pie.limit, path)?;
    let zero = |time: Option<Time>| time.is_some_and(|time| time.0.is_zero());
    if zero(pie.target) || zero(pie.update) {
        return below(path, "queue", "expected a `target` and an `update` above zero");
    }
    let is_weight = |weight: Option<f64>| weight.is_none_or(|weight| (0.0..=1e6).contains(&weight));
    if !is_weight(pie.alpha) || !is_weight(pie.beta) {
        return below(path, "queue", "expected `alpha` and `beta` from 0 to 1000000");
    }
    Ok(())
}

fn check_trace(trace: &TracePlan, link: &LinkPlan, path: &[&str]) -> Result<(), Fault> {
    if link.rate.is_some() {
        return below(
            path,
            "trace",
            "`trace` takes the place of `rate`; remove one of them",
        );
    }
    let generates = trace.mean.is_some() || trace.length.is_some() || trace.seed.is_some();
    match (&trace.file, trace.model) {
        (Some(_), None) if !generates => return Ok(()),
        (None, Some(_)) if trace.digest.is_none() => {}
        _ => {
            let text =
                "expected a `file`, with a `digest` if wanted, or a `model` with `mean`, `length` and `seed`";
            return below(path, "trace", text);
        }
    }
    let Some(mean) = trace.mean else {
        return below(path, "trace", "a `model` needs a `mean` rate, such as \"50Mbit\"");
    };
    let length = trace.length();
    if !(SHORTEST_TRACE..=LONGEST_TRACE).contains(&length) {
        return below(path, "trace", "expected a `length` from 1 ms to 1 h");
    }
    let bits = mean.0.as_bits_per_second() as f64 * length.as_secs_f64();
    if !(OPPORTUNITY_BITS..=OPPORTUNITY_BITS * MAX_OPPORTUNITIES as f64).contains(&bits) {
        let text =
            "the trace has no opportunity, or more than 100 million: expected another `mean` or `length`";
        return below(path, "trace", text);
    }
    Ok(())
}

fn check_variation(link: &LinkPlan, path: &[&str]) -> Result<(), Fault> {
    let deviation = match &link.delay_variation {
        None => return Ok(()),
        Some(VariationPlan::Table(table)) => table.deviation,
        Some(
            VariationPlan::Uniform(deviation)
            | VariationPlan::Normal(deviation)
            | VariationPlan::Pareto(deviation),
        ) => *deviation,
    };
    if link.jitter.is_some_and(|jitter| !jitter.0.is_zero()) && !deviation.0.is_zero() {
        let text = "`jitter` keeps the order of packets and `delay-variation` does not; remove one of them";
        return below(path, "delay-variation", text);
    }
    Ok(())
}
