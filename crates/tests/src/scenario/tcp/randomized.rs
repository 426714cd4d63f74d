//! Randomized simulations of TCP and MPTCP. Does everything arrive in order and intact?
//!
//! `ANABRANCH_SEEDS=n` runs the first n seeds (default 10,000), `ANABRANCH_SEED=n` only seed n.
//!
//! Packets are not corrupted: TCP's checksum of 16 bits does not detect all corruption.

use std::env;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anabranch_netsim::link::{Loss, QueueConfig, Reorder};
use anabranch_netsim::{LinkConfig, Probability, topology};
use anabranch_policy::PolicyRecipe;
use anabranch_sim::app::Reading;
use anabranch_sim::tcp::{MptcpConfig, NrSackForm, State, TcpApp, TcpConfig, TcpScenario, TcpSimulation};
use anabranch_sim::{Side, Step};
use anabranch_types::{Rate, Rng, Seed};

use crate::fixture::{ms, secs};

const SEEDS: u64 = 10_000;

fn pick<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

fn chance(rng: &mut Rng, share: f64) -> Probability {
    Probability::of(if rng.chance(1, 3) { share * rng.unit() } else { 0.0 })
}

fn link(rng: &mut Rng) -> LinkConfig {
    let rate = Rate::bits_per_second(pick(
        rng,
        &[50_000, 500_000, 5_000_000, 50_000_000, 1_000_000_000],
    ));
    LinkConfig {
        queue: QueueConfig::Packets(pick(rng, &[3, 20, 100])),
        loss: Loss::Bernoulli(chance(rng, 0.2)),
        jitter: ms(rng.below(30)),
        reorder: Reorder {
            chance: chance(rng, 0.2),
            hold: ms(rng.below(200)),
        },
        duplicate: chance(rng, 0.2),
        ..LinkConfig::new(rate, Duration::from_micros(rng.below(200_000)))
    }
}

fn buffer(rng: &mut Rng, least: u64) -> u64 {
    let most = pick(rng, &[300, 20_000, 500_000]);
    least + rng.below(most)
}

fn config(rng: &mut Rng) -> TcpConfig {
    let mut policies = PolicyRecipe::tcp();
    let cc = pick(rng, &["reno", "reno", "cubic", "cmt", "lia"]);
    let ack = pick(rng, &["rfc9260", "rfc9260", "immediate", "dac"]);
    let burst = pick(rng, &["unlimited", "max-burst", "paced"]);
    for (point, choice) in [("cc", cc), ("ack-policy", ack), ("burst", burst)] {
        policies.set(point, choice).expect("names of the catalog");
    }
    TcpConfig {
        policies,
        send_buffer: buffer(rng, 1),
        receive_buffer: buffer(rng, 100),
        mtu: pick(rng, &[1_500, 1_500, 576, 9_000]),
        sack: rng.chance(3, 4),
        timestamps: rng.chance(3, 4),
        window_scaling: rng.chance(3, 4),
        nr_sack: rng.chance(1, 4),
        nagle: rng.chance(1, 2),
        quick_acks: rng.below(20) as u32,
        syn_retries: 10,
        retries: 60,
        ..TcpConfig::default()
    }
}

fn app(rng: &mut Rng, link: &LinkConfig, buffer: u64) -> (TcpApp, u64) {
    // What the link carries in half a minute, and what tiny buffers do, so that every run ends.
    let affordable = link
        .rate
        .map_or(u64::MAX, |rate| rate.bytes_in(secs(30)))
        .min(buffer * 500)
        .min(400_000);
    let bytes = 1 + rng.below(affordable);
    let reading = match rng.below(6) {
        0 => Reading::AtRate(Rate::bits_per_second(200_000 + rng.below(10_000_000))),
        _ => Reading::Eager,
    };
    (TcpApp::sender(bytes).reading(reading), bytes)
}

/// Two compatible configurations.
fn configs(rng: &mut Rng) -> (TcpConfig, TcpConfig) {
    let (mut near, mut far) = (config(rng), config(rng));
    // NR-SACK needs a peer that does not renege.
    near.nr_sack &= far.sack;
    far.nr_sack &= near.sack;
    for config in [&mut near, &mut far] {
        config.mtu = config.mtu.min(1_500);
    }
    (near, far)
}

/// What both sides send, and the first link.
fn apps(
    rng: &mut Rng,
    links: (&LinkConfig, &LinkConfig),
    near: &TcpConfig,
    far: &TcpConfig,
) -> [(TcpApp, u64); 2] {
    let smaller = |sender: &TcpConfig, reader: &TcpConfig| sender.send_buffer.min(reader.receive_buffer);
    let near_app = app(rng, links.0, smaller(near, far));
    [near_app, app(rng, links.1, smaller(far, near))]
}

fn play(seed: u64) {
    let mut rng = Seed(seed).split("tcp").rng();
    let rng = &mut rng;
    let (forward, reverse) = (link(rng), link(rng));
    let (near, far) = configs(rng);
    let [near_app, far_app] = apps(rng, (&forward, &reverse), &near, &far);
    let mut simulation = TcpScenario::over(Seed(seed), forward)
        .with_link_back(reverse)
        .config_of(Side::Near, near)
        .config_of(Side::Far, far)
        .near_app(near_app.0)
        .far_app(far_app.0)
        .build();
    simulation.connect();
    for _ in 0..rng.below(4) {
        simulation.run_for(ms(rng.below(5_000)));
        simulation.happens(Step::Cut(0));
        simulation.run_for(ms(rng.below(5_000)));
        simulation.happens(Step::Heal(0));
    }
    end(&mut simulation, [near_app.1, far_app.1]);
}

/// Runs until everything has arrived and the connection is closed.
fn end(simulation: &mut TcpSimulation, [near_bytes, far_bytes]: [u64; 2]) {
    let arrived = |simulation: &TcpSimulation, at, bytes| super::everything_arrived(simulation, at, bytes);
    let mut waited = 0;
    while !(arrived(simulation, Side::Far, near_bytes) && arrived(simulation, Side::Near, far_bytes)) {
        waited += 1;
        let told = |side| {
            simulation.connection(side, 0).map(|connection| {
                let paths: Vec<_> = connection.paths().collect();
                format!("{:#?} {paths:#?}", connection.statistics())
            })
        };
        assert!(
            waited < 3_000,
            "stuck: {} {}",
            told(Side::Near).unwrap_or_default(),
            told(Side::Far).unwrap_or_default()
        );
        simulation.run_for(secs(1));
    }
    simulation.run_for(secs(2_000));
    for side in Side::BOTH {
        let state = simulation
            .connection(side, 0)
            .map(|connection| connection.state());
        assert_eq!(state, Some(State::Closed), "{side:?}");
    }
}

/// Draws the choices for several subflows.
fn multipath(rng: &mut Rng, paths: u8, config: &mut TcpConfig, side: Side) {
    let schedulers = [
        "min-rtt",
        "min-rtt",
        "round-robin",
        "largest-space",
        "capacity",
        "in-order-arrival",
        "ecf",
        "blest",
        "within-window",
        "redundant",
        "primary",
    ];
    let scheduler = pick(rng, &schedulers);
    let cc = pick(rng, &["lia", "olia", "balia", "reno", "cubic"]);
    let failover = pick(rng, &["rfc9260", "potentially-failed", "fast-failover"]);
    let rescheduling = pick(rng, &["none", "both", "sender", "receiver"]);
    let choices = [
        ("path-scheduler", scheduler),
        ("cc", cc),
        ("failover", failover),
        ("chunk-rescheduling", rescheduling),
    ];
    for (point, choice) in choices {
        config.policies.set(point, choice).expect("names of the catalog");
    }
    if scheduler == "in-order-arrival" && rng.chance(1, 2) {
        let set = config.policies.set("path-scheduler.design", "1");
        set.expect("names of the catalog");
    }
    let [own, others]: [fn(u8) -> IpAddr; 2] = match side {
        Side::Near => [topology::near_addr, topology::far_addr],
        Side::Far => [topology::far_addr, topology::near_addr],
    };
    config.mptcp = Some(MptcpConfig {
        local: (1..paths).map(own).collect(),
        remote: if rng.chance(1, 2) {
            (1..paths).map(others).collect()
        } else {
            Vec::new()
        },
        nr_sack: pick(rng, &[None, Some(NrSackForm::Short), Some(NrSackForm::Long)]),
        checksum: rng.chance(1, 4),
        ..MptcpConfig::default()
    });
}

fn play_over_several_paths(seed: u64) {
    let mut rng = Seed(seed).split("multipath tcp").rng();
    let rng = &mut rng;
    let count = 1 + rng.below(4) as u8;
    let links: Vec<_> = (0..count).map(|_| (link(rng), link(rng))).collect();
    let (mut near, mut far) = configs(rng);
    multipath(rng, count, &mut near, Side::Near);
    multipath(rng, count, &mut far, Side::Far);
    let [near_app, far_app] = apps(rng, (&links[0].0, &links[0].1), &near, &far);
    let mut scenario = TcpScenario::over(Seed(seed), links[0].0.clone()).with_link_back(links[0].1.clone());
    for (forward, reverse) in &links[1..] {
        scenario = scenario.path(forward.clone()).with_link_back(reverse.clone());
    }
    let mut simulation = scenario
        .config_of(Side::Near, near)
        .config_of(Side::Far, far)
        .near_app(near_app.0)
        .far_app(far_app.0)
        .build();
    simulation.connect();
    for _ in 0..rng.below(8) {
        simulation.run_for(ms(rng.below(3_000)));
        let path = rng.below(count.into()) as usize;
        let change = pick(rng, &[true, true, false]);
        simulation.happens(if change { Step::Cut(path) } else { Step::Heal(path) });
        if rng.chance(1, 8) && count > 1 && path > 0 {
            let side = pick(rng, &Side::BOTH);
            let address = match side {
                Side::Near => topology::near_addr(path as u8),
                Side::Far => topology::far_addr(path as u8),
            };
            simulation.talk(side, 0, |_, connection, _| {
                connection.remove_local_address(address);
            });
        }
    }
    for path in 0..usize::from(count) {
        simulation.happens(Step::Heal(path));
    }
    end(&mut simulation, [near_app.1, far_app.1]);
}

#[test]
fn randomized_tcp_transfers_complete() {
    play_all(play);
}

#[test]
fn randomized_mptcp_transfers_complete() {
    play_all(play_over_several_paths);
}

fn play_all(play: fn(u64)) {
    let number = |variable: &str| env::var(variable).ok()?.parse::<u64>().ok();
    if let Some(seed) = number("ANABRANCH_SEED") {
        play(seed);
        return;
    }
    let seeds = number("ANABRANCH_SEEDS").unwrap_or(SEEDS);
    let (next, broken) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    if catch_unwind(AssertUnwindSafe(|| play(seed))).is_err() {
                        broken.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    assert!(
        broken.is_empty(),
        "{} of {seeds} simulations failed: {broken:?}",
        broken.len()
    );
}
