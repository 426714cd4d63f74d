//! Text of tests: a line for each interval with a line for each path, and the results.

use super::test_report::{Amount, Delays, EndReport, IntervalReport, OneWayDelays, PathEnd, TestReport};
use super::units::{bytes_text, printable, rate_text};

/// `0.0 - 1.0 s  sent 5.7 MB, 45.6 Mbit/s`, and the paths.
pub(super) fn interval_text(report: &IntervalReport) -> String {
    let mut lines: Vec<String> = report.sums().map(|sum| amount_line(&sum)).collect();
    let is_single = report.paths.iter().all(|path| path.socket == 1);
    for carried in &report.paths {
        let path = &carried.path;
        let association = match is_single {
            true => String::new(),
            false => format!("association {}, ", carried.socket),
        };
        let mut line = format!(
            "    {association}{} -> {}: {}",
            path.local,
            path.remote,
            rate_text(path.rate_bit_s)
        );
        if let Some(rtt) = path.rtt_ms {
            line += &format!(", RTT {rtt:.1} ms");
        }
        if path.payload_sent > 0 {
            line += &format!(", cwnd {}", bytes_text(path.cwnd_bytes));
        }
        if path.payload_retransmitted > 0 {
            line += &format!(", {} retransmitted", bytes_text(path.payload_retransmitted));
        }
        if path.state != "active" {
            line += &format!(", {}", path.description);
        }
        lines.push(line);
    }
    lines.join("\n")
}

fn amount_line(amount: &Amount) -> String {
    format!(
        "{:>7.1} - {:>7.1} s  {} {:>9}, {}{}",
        amount.start,
        amount.end,
        if amount.sender { "sent    " } else { "received" },
        bytes_text(amount.bytes),
        rate_text(amount.bits_per_second),
        if amount.omitted { " (omitted)" } else { "" }
    )
}

/// The results.
pub(super) fn test_text(report: &TestReport) -> String {
    let EndReport {
        sum_sent,
        sum_received,
        sum_sent_bidir_reverse,
        sum_received_bidir_reverse,
        paths,
        one_way_delay,
        one_way_delay_bidir_reverse,
        round_trip_time,
        abandoned,
        cpu_utilization_percent,
        ..
    } = &report.end;
    let task = &report.start.test_start;
    let (first, second) = match (task.reverse, task.bidir) {
        (1, _) => ("server to client", ""),
        (_, 1) => ("client to server", "server to client"),
        _ => ("client to server", ""),
    };
    let mut lines = vec![String::new()];
    lines.extend(direction(
        first,
        sum_sent.as_ref(),
        sum_received.as_ref(),
        one_way_delay.as_ref(),
    ));
    if task.bidir == 1 {
        let sums = (
            sum_sent_bidir_reverse.as_ref(),
            sum_received_bidir_reverse.as_ref(),
        );
        lines.extend(direction(
            second,
            sums.0,
            sums.1,
            one_way_delay_bidir_reverse.as_ref(),
        ));
    }
    if *abandoned > 0 {
        lines.push(format!("{abandoned} messages were abandoned"));
    }
    lines.extend(paths_lines(paths));
    if let Some(round_trip) = round_trip_time {
        lines.push(format!(
            "round-trip time of small messages: {}",
            delays_text(round_trip)
        ));
    }
    let remote = cpu_utilization_percent.remote_total;
    let remote = remote.map_or_else(String::new, |remote| format!(", {remote:.0} % at the peer"));
    lines.push(format!(
        "processor: {:.0} % here{remote}",
        cpu_utilization_percent.host_total
    ));
    if let Some(error) = &report.error {
        lines.push(format!("the test ended early: {}", printable(error)));
    }
    lines.join("\n")
}

fn direction(
    name: &str,
    sent: Option<&Amount>,
    received: Option<&Amount>,
    delays: Option<&OneWayDelays>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (verb, amount) in [("sent", sent), ("received", received)] {
        if let Some(amount) = amount {
            lines.push(format!(
                "{name}: {verb} {} in {:.2} s, {}, {} messages",
                bytes_text(amount.bytes),
                amount.seconds,
                rate_text(amount.bits_per_second),
                amount.messages
            ));
        }
    }
    if let Some(one_way) = delays {
        let basis = match one_way.error_ms {
            None => "one clock".to_owned(),
            Some(error) => format!("clocks compared, to within {error:.2} ms"),
        };
        lines.push(format!(
            "  one-way delay ({basis}): {}",
            delays_text(&one_way.delays)
        ));
    }
    lines
}

/// What this end has seen of the paths. The other end has seen the same bytes.
fn paths_lines(paths: &[PathEnd]) -> impl Iterator<Item = String> {
    let ours = paths.first().map(|path| path.measured_by);
    let paths: Vec<&PathEnd> = paths
        .iter()
        .filter(|path| Some(path.measured_by) == ours)
        .collect();
    let all = paths
        .iter()
        .fold(0_u64, |sum, path| sum.saturating_add(path.carried()));
    paths.into_iter().map(move |path| {
        let share = 100.0 * path.carried() as f64 / all.max(1) as f64;
        let again = match path.retransmitted {
            0 => String::new(),
            bytes => format!(", of which {} retransmitted", bytes_text(bytes)),
        };
        format!(
            "  {} -> {}: {}, {share:.0} %, {}{again}",
            path.local,
            path.remote,
            bytes_text(path.carried()),
            rate_text(path.bits_per_second)
        )
    })
}

fn delays_text(delays: &Delays) -> String {
    format!(
        "min {:.2}, mean {:.2}, 50 % {:.2}, 90 % {:.2}, 99 % {:.2}, max {:.2} ms",
        delays.min_ms, delays.mean_ms, delays.p50_ms, delays.p90_ms, delays.p99_ms, delays.max_ms
    )
}
