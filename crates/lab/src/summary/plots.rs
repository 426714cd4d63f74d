//! Plots beside the figure: thinned time series and cumulative distributions.

use std::collections::BTreeMap;

use super::{Plot, PlotSeries, rounded};
use crate::metric::{self, Metric};
use crate::plan::{Plan, PlotKind, PlotPlan, Point};
use crate::results::{Results, Run};
use crate::run::{Bucket, TimeSeriesRow};

pub(super) fn of(results: &Results<'_>) -> Vec<Plot> {
    let plots = results.plan.plots.iter();
    let drawn = plots.flat_map(|plot| match plot.kind {
        PlotKind::TimeSeries => time_series(results, plot),
        PlotKind::Cdf => vec![cdf(results, plot)],
    });
    drawn.filter(|drawn| !drawn.series.is_empty()).collect()
}

/// One plot for each point of the sweep, from the runs with the first seed.
fn time_series(results: &Results<'_>, plot: &PlotPlan) -> Vec<Plot> {
    let Some(metric) = metric::TIME_SERIES.iter().find(|metric| metric.name == plot.y) else {
        return Vec::new();
    };
    let seed = results.plan.points.iter().map(|point| point.seed).min();
    let selected = |run: &&Run<'_>| Some(run.point.seed) == seed && plot.is_about(run.point);
    let mut plots: Vec<(&Point, Plot)> = Vec::new();
    for run in results.runs.iter().filter(selected) {
        let all_series = time_series_of_run(results.plan, run, plot, metric);
        let place = plots
            .iter_mut()
            .find(|(other, _)| other.coordinates == run.point.coordinates);
        match place {
            Some((_, drawn)) => drawn.series.extend(all_series),
            None => plots.push((run.point, time_series_plot(results.plan, run, metric, all_series))),
        }
    }
    plots.into_iter().map(|(_, drawn)| drawn).collect()
}

fn time_series_plot(plan: &Plan, run: &Run<'_>, metric: &Metric, series: Vec<PlotSeries>) -> Plot {
    let place: Vec<String> = run
        .point
        .coordinates
        .iter()
        .map(|own| plan.in_words(own))
        .collect();
    let words = [metric.meaning.to_owned()].into_iter().chain(place);
    let words = words.chain([format!("seed {}", run.point.seed)]);
    Plot {
        title: words.collect::<Vec<_>>().join(", "),
        labels: ("time, s".to_owned(), format!("{}, {}", metric.name, metric.unit)),
        series,
    }
}

/// A series for each path, or one for the association.
fn time_series_of_run(plan: &Plan, run: &Run<'_>, plot: &PlotPlan, metric: &Metric) -> Vec<PlotSeries> {
    let rows = run
        .record()
        .map(|record| &record.time_series[..])
        .unwrap_or_default();
    let end = plot.to.map_or(f64::INFINITY, |to| to.0.as_secs_f64());
    let begin = plot.from.map_or(0.0, |from| from.0.as_secs_f64());
    let rows: Vec<&TimeSeriesRow> = rows
        .iter()
        .filter(|row| (begin..=end).contains(&row.time))
        .collect();
    let mut by_path: BTreeMap<&str, Vec<&TimeSeriesRow>> = BTreeMap::new();
    for row in &rows {
        by_path.entry(&row.path).or_default().push(row);
    }
    let is_of_path = !["send-buffer", "receive-buffer", "goodput"].contains(&metric.name);
    let several = plan.variants.len() > 1 && plot.series.is_none();
    let paths = run
        .point
        .setting
        .paths
        .names()
        .filter_map(|path| by_path.get_key_value(path));
    let series = |(path, rows): (&&str, &Vec<&TimeSeriesRow>)| {
        let variant = if several || !is_of_path {
            run.point.series.as_str()
        } else {
            ""
        };
        let path = if is_of_path { *path } else { "" };
        let name: Vec<&str> = [variant, path]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        PlotSeries {
            name: name.join(", "),
            points: thinned(&values(rows, metric.name)),
        }
    };
    paths
        .map(series)
        .take(if is_of_path { usize::MAX } else { 1 })
        .collect()
}

fn values(rows: &[&TimeSeriesRow], column: &str) -> Vec<(f64, f64)> {
    if column == "goodput" {
        let rate = |pair: &[&TimeSeriesRow]| {
            let bits = pair[1].delivered.saturating_sub(pair[0].delivered) as f64 * 8e-6;
            (pair[1].time, bits / (pair[1].time - pair[0].time))
        };
        return rows.windows(2).map(rate).collect();
    }
    let kib = |bytes: u64| Some(bytes as f64 / 1_024.0);
    let value = |row: &TimeSeriesRow| match column {
        "cwnd" => kib(row.cwnd),
        "ssthresh" => row.ssthresh.and_then(kib),
        "flight" => kib(row.flight),
        "queued" => kib(row.queued),
        "blocked" => Some(row.blocked),
        "srtt" => row.srtt,
        "rto" => Some(row.rto),
        "link-queue" => Some(row.link_queue as f64),
        "send-buffer" => kib(row.send_buffer),
        "receive-buffer" => kib(row.receive_buffer),
        _ => None,
    };
    rows.iter()
        .filter_map(|row| Some((row.time, value(row)?)))
        .collect()
}

/// Time slices in a plot, about one for each pixel.
const SLICES: usize = 400;

/// Reduces the points to the minimum and maximum of each time slice.
fn thinned(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let short = |(time, value): &(f64, f64)| (rounded(*time), rounded(*value));
    if places.len() <= 2 * SLICES {
        return places.iter().map(short).collect();
    }
    let slices = places.chunks(places.len().div_ceil(SLICES));
    let ends = |slice: &[(f64, f64)]| {
        let by_value = |left: &&(f64, f64), right: &&(f64, f64)| left.1.total_cmp(&right.1);
        let ends = [slice.iter().min_by(by_value), slice.iter().max_by(by_value)];
        let mut ends: Vec<(f64, f64)> = ends.into_iter().flatten().map(short).collect();
        ends.sort_by(|left, right| left.0.total_cmp(&right.0));
        ends.dedup();
        ends
    };
    slices.flat_map(ends).collect()
}

/// One plot with the cumulative distribution of each variant and point.
fn cdf(results: &Results<'_>, plot: &PlotPlan) -> Plot {
    let mut all_series: Vec<(String, BTreeMap<u64, u64>)> = Vec::new();
    for run in results.runs.iter().filter(|run| plot.is_about(run.point)) {
        let Some(buckets) = run.record().and_then(|record| record.histograms.get(&plot.y)) else {
            continue;
        };
        let place = run.point.coordinates.iter().map(|own| results.plan.in_words(own));
        let name: Vec<String> = [run.point.series.clone()].into_iter().chain(place).collect();
        let name = name.join(", ");
        match all_series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => add(sum, buckets),
            None => {
                let mut sum = BTreeMap::new();
                add(&mut sum, buckets);
                all_series.push((name, sum));
            }
        }
    }
    let (unit, factor) = if plot.y == "delay" {
        (", ms", 1e-3)
    } else {
        ("", 1.0)
    };
    let series = |(name, sum): (String, BTreeMap<u64, u64>)| PlotSeries {
        name,
        points: shares(&sum, factor),
    };
    Plot {
        title: format!("distribution of {}", plot.y),
        labels: (format!("{}{unit}", plot.y), "cumulative share, %".to_owned()),
        series: all_series.into_iter().map(series).collect(),
    }
}

fn add(sum: &mut BTreeMap<u64, u64>, buckets: &[Bucket]) {
    for bucket in buckets {
        *sum.entry(bucket.high).or_default() += bucket.count;
    }
}

fn shares(counts: &BTreeMap<u64, u64>, factor: f64) -> Vec<(f64, f64)> {
    let all: u64 = counts.values().sum();
    let mut so_far = 0;
    let share = |(high, count): (&u64, &u64)| {
        so_far += count;
        (
            rounded(*high as f64 * factor),
            rounded(100.0 * so_far as f64 / all as f64),
        )
    };
    counts.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::{SLICES, thinned};

    #[test]
    fn long_time_series_is_thinned_and_keeps_its_peaks() {
        let mut places: Vec<(f64, f64)> = (0..100_000).map(|time| (f64::from(time), 5.0)).collect();
        places[12_345].1 = 900.0;
        places[67_890].1 = -3.0;
        let thin = thinned(&places);
        assert!(thin.len() <= 2 * SLICES, "{}", thin.len());
        assert!(thin.contains(&(12_345.0, 900.0)) && thin.contains(&(67_890.0, -3.0)));
        assert!(thin.is_sorted_by(|left, right| left.0 <= right.0));
    }
}
