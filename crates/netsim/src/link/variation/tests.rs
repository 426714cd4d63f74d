//! Tests of delay distributions against their moments, and of overtaking.

use super::{DelayTable, DelayVariation, Distribution};
use crate::link::LinkChange;
use crate::{LineError, Link, LinkConfig};
use anabranch_types::{Instant, Rate, Seed};
use std::sync::Arc;
use std::time::Duration;

const SAMPLES: usize = 400_000;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Mean and standard deviation of a distribution's random variable, from a large sample.
fn moments(distribution: &Distribution) -> (f64, f64) {
    let mut rng = Seed(4).rng();
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..SAMPLES {
        let drawn = distribution.draw(&mut rng);
        assert!((-4.0..=4.0).contains(&drawn), "{drawn}");
        assert!(drawn >= distribution.least(), "{drawn}");
        sum += drawn;
        squares += drawn * drawn;
    }
    let mean = sum / SAMPLES as f64;
    (mean, (squares / SAMPLES as f64 - mean * mean).sqrt())
}

fn is_close(found: (f64, f64), expected: (f64, f64)) {
    // Five standard errors of the mean; the deviation's error is of the same order.
    let tolerance = 5.0 * expected.1 / (SAMPLES as f64).sqrt();
    assert!(
        (found.0 - expected.0).abs() < tolerance && (found.1 - expected.1).abs() < 2.0 * tolerance,
        "found {found:?}, expected {expected:?}"
    );
}

#[test]
fn uniform_and_normal_variables_have_their_moments() {
    is_close(moments(&Distribution::Uniform), (0.0, 1.0 / 3.0_f64.sqrt()));
    is_close(moments(&Distribution::Normal), (0.0, 1.0));
}

#[test]
fn pareto_variable_has_moments_of_its_closed_form() {
    // With R = min(u^(−1/3), c): E[R] = 3/2 − 1/(2c²), E[R²] = 3 − 2/c; the limit of four deviations is at c = 4.5.
    let c = 4.5_f64;
    let (mean, square) = (1.5 - 0.5 / (c * c), 3.0 - 2.0 / c);
    let deviation = 4.0 / 3.0 * (square - mean * mean).sqrt();
    is_close(
        moments(&Distribution::Pareto),
        (4.0 / 3.0 * (mean - 1.5), deviation),
    );
}

#[test]
fn pareto_tail_falls_with_the_cube() {
    let mut rng = Seed(9).rng();
    let roots: Vec<f64> = (0..SAMPLES)
        .map(|_| Distribution::Pareto.draw(&mut rng) * 0.75 + 1.5)
        .collect();
    for bound in [1.5_f64, 2.0, 3.0, 4.0] {
        let above = roots.iter().filter(|root| **root > bound).count() as f64 / SAMPLES as f64;
        let expected = bound.powi(-3);
        let error = (expected * (1.0 - expected) / SAMPLES as f64).sqrt();
        assert!(
            (above - expected).abs() < 5.0 * error,
            "P(R > {bound}) = {above}, expected {expected}"
        );
    }
}

#[test]
fn normal_variable_has_the_distribution_function_of_the_normal() {
    let mut rng = Seed(10).rng();
    let drawn: Vec<f64> = (0..SAMPLES)
        .map(|_| Distribution::Normal.draw(&mut rng))
        .collect();
    // Values of the distribution function from tables.
    for (bound, expected) in [
        (-2.0, 0.022_750),
        (-1.0, 0.158_655),
        (0.5, 0.691_462),
        (1.5, 0.933_193),
        (3.0, 0.998_650),
    ] {
        let below = drawn.iter().filter(|drawn| **drawn < bound).count() as f64 / SAMPLES as f64;
        let error = (expected * (1.0 - expected) / SAMPLES as f64).sqrt();
        assert!((below - expected).abs() < 5.0 * error, "{bound}: {below}");
    }
}

#[test]
fn table_is_drawn_from_evenly_in_units_of_its_scale() {
    let table = DelayTable::parse("# three\n 0 8192\n\n-8192 # last\n").unwrap();
    assert_eq!(table.least(), -1.0);
    is_close(
        moments(&Distribution::Table(Arc::new(table))),
        (0.0, (2.0_f64 / 3.0).sqrt()),
    );
}

#[test]
fn invalid_tables_are_refused_with_their_line() {
    let refused = |text: &str| DelayTable::parse(text).unwrap_err();
    assert_eq!(
        refused("1 2\n3 x"),
        LineError::new(2, "expected a whole number from -32768 to 32767, found `x`")
    );
    assert_eq!(
        refused("\n32768").to_string(),
        "2: expected a whole number from -32768 to 32767, found `32768`"
    );
    assert_eq!(refused("# nothing\n").line, 1);
    let long = "7\n".repeat(16_385);
    assert_eq!(
        refused(&long).to_string(),
        "16385: expected at most 16384 entries"
    );
}

fn normal(delay: Duration, deviation: Duration) -> LinkConfig {
    LinkConfig::unlimited(delay).variation(DelayVariation {
        deviation,
        distribution: Distribution::Normal,
    })
}

/// Delays of packets that are offered at once, by number, and the order of their arrival.
fn delays(config: LinkConfig, packets: u16) -> (Vec<Duration>, Vec<u16>) {
    let mut link = Link::new(config, Seed(6));
    for number in 0..packets {
        link.offer(Instant::ZERO, number.to_be_bytes().to_vec(), 100);
    }
    let (mut delays, mut order) = (vec![Duration::ZERO; packets.into()], Vec::new());
    while let Some(due) = link.deadline() {
        while let Some(packet) = link.take_due(due) {
            let number = u16::from_be_bytes([packet[0], packet[1]]);
            delays[usize::from(number)] = due - Instant::ZERO;
            order.push(number);
        }
    }
    (delays, order)
}

#[test]
fn packets_overtake_with_delay_variation() {
    let (delays, order) = delays(normal(ms(100), ms(10)), 10_000);
    let mean = delays.iter().sum::<Duration>().as_secs_f64() / 10_000.0;
    assert!((mean - 0.1).abs() < 0.000_5, "mean delay {mean}");
    assert!(!order.is_sorted());
    // With independent delays, each order is as likely as any other: half of all pairs of neighbours are reversed.
    let reversed = delays.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!((4_800..5_200).contains(&reversed), "{reversed}");
}

#[test]
fn delay_variation_never_makes_a_delay_negative() {
    let (delays, _) = delays(normal(ms(5), ms(20)), 10_000);
    let none = delays.iter().filter(|delay| delay.is_zero()).count();
    // P(x < −1/4) = 0.4013.
    assert!((3_800..4_230).contains(&none), "{none} packets without delay");
}

#[test]
fn overtaking_packets_are_counted() {
    let mut link = Link::new(normal(ms(100), ms(10)), Seed(6));
    for number in 0..100_u8 {
        link.offer(Instant::ZERO, vec![number], 100);
    }
    assert!(link.stats().reordered > 80, "{}", link.stats().reordered);
}

#[test]
fn packets_after_the_end_of_delay_variation_keep_order() {
    let mut link = Link::new(normal(ms(100), ms(10)), Seed(6));
    for number in 0..50_u8 {
        link.offer(Instant::ZERO, vec![number], 100);
    }
    link.apply(Instant::ZERO, LinkChange::Variation(None));
    link.apply(Instant::ZERO, LinkChange::Delay(ms(1)));
    link.offer(Instant::ZERO, vec![50], 100);
    let mut arrived = Vec::new();
    while let Some(due) = link.deadline() {
        arrived.extend(link.take_due(due));
    }
    assert_eq!(arrived.last(), Some(&vec![50]));
}

#[test]
fn delay_variation_gives_same_result_however_often_the_link_is_asked() {
    let config = normal(ms(3), ms(2)).tick(Duration::from_micros(250));
    let config = LinkConfig {
        rate: Some(Rate::mbit(8)),
        ..config
    };
    let (mut seldom, mut often) = (Link::new(config.clone(), Seed(2)), Link::new(config, Seed(2)));
    let (mut from_seldom, mut from_often) = (Vec::new(), Vec::new());
    for micros in (0..500_000_u64).step_by(100) {
        let now = Instant::from_nanos(micros * 1_000);
        if micros % 900 == 0 {
            let packet = (micros / 900).to_be_bytes().to_vec();
            seldom.offer(now, packet.clone(), 1_000);
            often.offer(now, packet, 1_000);
        }
        from_often.extend(core::iter::from_fn(|| often.take_due(now)));
        if micros % 50_000 == 0 {
            from_seldom.extend(core::iter::from_fn(|| seldom.take_due(now)));
        }
    }
    from_often.truncate(from_seldom.len());
    assert_eq!(from_seldom, from_often);
}
