//! Tests of one link and its changes, at exact times.

use super::{Count, DropCause, Link, LinkChange, LinkConfig, Loss, QueueConfig, RedConfig, Verdict};
use crate::{Datagram, Probability, Protocol};
use anabranch_types::{Ecn, Instant, PathAddr, Rate, Seed};
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

/// 8 Mbit/s: 1,000 bytes take a millisecond.
fn config() -> LinkConfig {
    LinkConfig::new(Rate::mbit(8), ms(10))
}

fn link(config: LinkConfig) -> Link<Vec<u8>> {
    Link::new(config, Seed(5))
}

/// Takes all packets that arrive, with arrival times.
fn drain(link: &mut Link<Vec<u8>>) -> Vec<(Instant, Vec<u8>)> {
    let mut arrivals = Vec::new();
    while let Some(due) = link.deadline() {
        while let Some(item) = link.take_due(due) {
            arrivals.push((due, item));
        }
    }
    arrivals
}

fn numbers(arrivals: &[(Instant, Vec<u8>)]) -> Vec<u8> {
    arrivals.iter().map(|(_, item)| item[0]).collect()
}

#[test]
fn packets_are_serialised_and_then_delayed() {
    let mut link = link(config());
    link.offer(at(0), vec![1], 1_000);
    link.offer(at(0), vec![2], 2_000 - 500);
    link.offer(at(20), vec![3], 1_000);
    let moments: Vec<Instant> = drain(&mut link).into_iter().map(|(moment, _)| moment).collect();
    assert_eq!(moments, [at(11), at(12) + Duration::from_micros(500), at(31)]);
    assert_eq!(link.stats().busy, Duration::from_micros(3_500));
}

#[test]
fn result_does_not_depend_on_polling_interval() {
    let busy = || {
        let config = config()
            .loss(Loss::Bernoulli(Probability::of(0.2)))
            .jitter(ms(3))
            .queue(QueueConfig::Packets(4));
        link(
            config
                .reorder(Probability::of(0.2), ms(5))
                .duplicate(Probability::of(0.1)),
        )
    };
    let (mut seldom, mut often) = (busy(), busy());
    let (mut from_seldom, mut from_often) = (Vec::new(), Vec::new());
    for micros in (0..2_000_000).step_by(100) {
        let now = Instant::from_nanos(micros * 1_000);
        if micros % 900 == 0 {
            let item = vec![(micros / 900) as u8; 20];
            seldom.offer(now, item.clone(), 1_000);
            often.offer(now, item, 1_000);
        }
        often.settle(now);
        from_often.extend(core::iter::from_fn(|| often.take_due(now)));
        if micros % 50_000 == 0 {
            from_seldom.extend(core::iter::from_fn(|| seldom.take_due(now)));
        }
    }
    from_often.extend(drain(&mut often).into_iter().map(|(_, item)| item));
    from_seldom.extend(drain(&mut seldom).into_iter().map(|(_, item)| item));
    assert_eq!(from_seldom, from_often);
    assert_eq!(seldom.stats(), often.stats());
}

#[test]
fn framing_takes_time_but_is_not_counted_as_bytes() {
    let mut link = link(config().framing(1_000));
    link.offer(at(0), vec![1], 1_000);
    assert_eq!(drain(&mut link)[0].0, at(12));
    assert_eq!(
        link.stats().delivered,
        Count {
            packets: 1,
            bytes: 1_000
        }
    );
}

#[test]
fn packet_above_mtu_is_dropped_and_counted() {
    let mut link = link(config().mtu(1_400));
    assert_eq!(
        link.offer(at(0), vec![1], 1_401),
        Verdict::Dropped(DropCause::TooBig)
    );
    assert_eq!(link.offer(at(0), vec![2], 1_400), Verdict::Accepted);
    assert_eq!(
        link.stats().dropped(DropCause::TooBig),
        Count {
            packets: 1,
            bytes: 1_401
        }
    );
}

#[test]
fn cut_drops_packets_on_the_link_and_new_ones() {
    let mut link = link(config());
    for number in 0..5 {
        link.offer(at(0), vec![number], 1_000);
    }
    link.apply(at(2), LinkChange::Cut);
    assert_eq!((link.inside(), link.deadline()), (0, None));
    assert_eq!(
        link.offer(at(3), vec![5], 1_000),
        Verdict::Dropped(DropCause::Cut)
    );
    assert_eq!(link.stats().dropped(DropCause::Cut).packets, 6);
    link.apply(at(4), LinkChange::Heal);
    link.offer(at(4), vec![6], 1_000);
    assert_eq!(drain(&mut link), [(at(15), vec![6])]);
}

#[test]
fn packets_lost_by_a_cut_do_not_delay_later_ones() {
    let mut link = link(config());
    link.apply(at(0), LinkChange::Delay(Duration::from_millis(300)));
    link.offer(at(0), vec![1], 1_000);
    link.apply(at(2), LinkChange::Cut);
    link.apply(at(3), LinkChange::Delay(Duration::from_millis(10)));
    link.apply(at(4), LinkChange::Heal);
    link.offer(at(4), vec![2], 1_000);
    assert_eq!(drain(&mut link), [(at(15), vec![2])]);
}

/// Without this, each dropped packet would apply the whole idle time to the average again.
#[test]
fn red_applies_idle_time_to_its_average_once() {
    let red = RedConfig {
        min_threshold: 1.0,
        max_threshold: 2.0,
        weight: 0.1,
        ..RedConfig::classic(100)
    };
    let mut link = link(LinkConfig {
        queue: QueueConfig::Red(red),
        ..LinkConfig::new(Rate::mbit(8), ms(0))
    });
    // The average rises to about seven packets, the queue length when all further packets are dropped.
    for _ in 0..200 {
        link.offer(at(0), vec![1], 1_000);
    }
    let drained = drain(&mut link);
    let idle_from = drained.last().unwrap().0;
    // One packet per service time: each lowers the average by a tenth, until it is below two.
    let refused =
        (1..100).find(|millis| link.offer(idle_from + ms(*millis), vec![2], 1_000) == Verdict::Accepted);
    assert!(
        refused.is_some_and(|first| (9..=14).contains(&first)),
        "{refused:?} of {drained:?}"
    );
}

#[test]
fn rate_change_applies_to_packet_in_transmission() {
    let mut link = link(config());
    link.offer(at(0), vec![1], 1_500);
    link.apply(at(1), LinkChange::Rate(Some(Rate::mbit(1))));
    // 1,000 bytes were sent in the first millisecond; 500 remain at 1 Mbit/s.
    assert_eq!(link.deadline(), Some(at(1 + 4 + 10)));
}

#[test]
fn link_with_rate_zero_stalls_until_rate_changes() {
    let mut link = link(config());
    link.offer(at(0), vec![1], 1_000);
    link.apply(at(0), LinkChange::Rate(Some(Rate::bits_per_second(0))));
    assert_eq!(link.deadline(), None);
    link.apply(at(500), LinkChange::Rate(None));
    assert_eq!(drain(&mut link), [(at(510), vec![1])]);
}

#[test]
fn shorter_delay_does_not_reorder_packets() {
    let mut link = link(config());
    link.offer(at(0), vec![1], 1_000);
    link.apply(at(1), LinkChange::Delay(ms(1)));
    link.offer(at(1), vec![2], 1_000);
    assert_eq!(drain(&mut link), [(at(11), vec![1]), (at(11), vec![2])]);
}

#[test]
fn jitter_does_not_reorder_packets() {
    let mut link = link(config().jitter(ms(5)));
    for number in 0..100 {
        link.offer(at(0), vec![number], 1_000);
    }
    let arrivals = drain(&mut link);
    assert_eq!(numbers(&arrivals), (0..100).collect::<Vec<u8>>());
    let late = arrivals
        .iter()
        .zip(1..)
        .map(|((moment, _), sent)| *moment - at(sent + 10));
    assert!(late.clone().all(|late| late <= ms(5)) && late.max() > Some(ms(4)));
}

#[test]
fn arrivals_are_rounded_up_to_ticks() {
    let mut link = link(config().tick(ms(4)));
    for number in 1..=6 {
        link.offer(at(0), vec![number], 1_000);
    }
    let arrivals = drain(&mut link);
    assert_eq!(numbers(&arrivals), [1, 2, 3, 4, 5, 6]);
    let moments: Vec<Instant> = arrivals.into_iter().map(|(moment, _)| moment).collect();
    // Without ticks, they would arrive one millisecond apart, the first at 11.
    assert_eq!(moments, [at(12), at(12), at(16), at(16), at(16), at(16)]);
}

#[test]
fn reordered_packet_is_overtaken() {
    let mut link = link(config().reorder(Probability::ALWAYS, Duration::from_micros(3_500)));
    link.offer(at(0), vec![1], 1_000);
    link.apply(at(1), LinkChange::Reorder(super::Reorder::default()));
    for number in 2..7 {
        link.offer(at(1), vec![number], 1_000);
    }
    assert_eq!(numbers(&drain(&mut link)), [2, 3, 4, 1, 5, 6]);
    assert_eq!(link.stats().reordered, 1);
}

#[test]
fn duplicated_packet_arrives_twice() {
    let mut link = link(config().duplicate(Probability::ALWAYS));
    link.offer(at(0), vec![1], 1_000);
    assert_eq!(numbers(&drain(&mut link)), [1, 1]);
    assert_eq!(link.stats().duplicated.packets, 1);
}

#[test]
fn queue_peak_and_waiting_time_are_reported() {
    let mut link = link(config());
    for number in 0..4 {
        link.offer(at(0), vec![number], 1_000);
    }
    assert_eq!(
        link.stats().queue_peak,
        Count {
            packets: 3,
            bytes: 3_000
        }
    );
    assert_eq!(link.waiting_time(at(0)), ms(4));
}

#[test]
fn red_marks_ecn_capable_packets_and_drops_others() {
    let red = RedConfig {
        min_threshold: 0.0,
        max_threshold: 0.0,
        mark: true,
        ..RedConfig::classic(100)
    };
    let mut link = Link::new(config().queue(QueueConfig::Red(red)), Seed(1));
    let path = PathAddr {
        local: "10.0.0.1:1".parse().unwrap(),
        remote: "10.0.0.2:1".parse().unwrap(),
    };
    let datagram = |ecn| Datagram {
        path,
        protocol: Protocol::SCTP,
        ecn,
        may_fragment: false,
        payload: vec![0; 100],
    };
    assert_eq!(
        link.offer(at(0), datagram(Ecn::NotCapable), 128),
        Verdict::Dropped(DropCause::Early)
    );
    assert_eq!(link.offer(at(0), datagram(Ecn::Capable0), 128), Verdict::Accepted);
    let arrived = link.take_due(at(1_000)).unwrap();
    assert_eq!(
        (arrived.ecn, link.stats().marked),
        (Ecn::CongestionExperienced, 1)
    );
}
