//! What a scenario consists of, and how it is drawn from a seed.

use std::fmt;

use anabranch_types::{Rng, Seed};

/// Sum of the rates of all uplinks at most, in Mbit/s: several scenarios share the processor.
const MAX_RATE: u32 = 24;

/// Time that the file takes if nothing happens, in milliseconds.
const UNDISTURBED: u64 = 18_000;

/// When the last thing happens at the latest, in milliseconds after the connection.
const LAST: u64 = 18_000;

/// A network, a file, and what happens while it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RandomScenario {
    pub(crate) seed: u64,
    pub(crate) uplinks: Vec<Uplink>,
    pub(crate) family: Family,
    /// Whether the client has a routing table for each source address.
    pub(crate) policy_routing: bool,
    /// Whether the sender names its devices; else it finds them.
    pub(crate) names_devices: bool,
    /// Size of the file.
    pub(crate) bytes: usize,
    /// In the order of time.
    pub(crate) happenings: Vec<Happening>,
}

impl fmt::Display for RandomScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates: Vec<String> = self
            .uplinks
            .iter()
            .map(|uplink| uplink.mbit.to_string())
            .collect();
        let (family, events) = (self.family, self.happenings.len());
        write!(f, "{} Mbit/s {family:?}, {events} events", rates.join(" + "))
    }
}

/// An uplink of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Uplink {
    pub(crate) mbit: u32,
    pub(crate) queue_ms: u32,
    /// NATs on the way, for IPv4.
    pub(crate) nats: u32,
}

/// The IP versions of all hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    V4,
    V6,
    Both,
}

impl Family {
    pub(crate) const fn has_v4(self) -> bool {
        !matches!(self, Self::V6)
    }

    pub(crate) const fn has_v6(self) -> bool {
        !matches!(self, Self::V4)
    }
}

/// Something that happens, in milliseconds after the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Happening {
    pub(crate) at: u64,
    /// How long it lasts; `None` if it stays so.
    pub(crate) lasts: Option<u64>,
    pub(crate) what: What,
}

/// What happens, and to which uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The cable is pulled out: addresses and routes stay.
    Unplugged(usize),
    /// The device is switched off: routes and IPv6 addresses go.
    SwitchedOff(usize),
    /// The addresses go; afterwards there are others.
    AddressLost(usize),
    /// Other addresses at once.
    Renumbered(usize),
    /// The router drops what the client sends.
    MuteClient(usize),
    /// The router drops what the server sends.
    MuteServer(usize),
    /// The outermost NAT forgets its mappings.
    NatRestarted(usize),
    /// The outermost NAT gets another address.
    PublicAddress(usize),
    /// The router drops IP packets of more than `size` bytes; `silent`: without an ICMP message.
    Hole { uplink: usize, size: u32, silent: bool },
    /// The router's links have another rate, in Mbit/s.
    Rate { uplink: usize, mbit: u32 },
    /// The server gets a second interface; afterwards it is gone.
    ServerAddress,
    /// The sender's host is suspended.
    SuspendedSender,
    /// The receiver's host is suspended.
    SuspendedReceiver,
}

impl What {
    /// The uplink that cannot carry anything meanwhile.
    pub(crate) const fn cuts(self) -> Option<usize> {
        match self {
            Self::Unplugged(uplink)
            | Self::SwitchedOff(uplink)
            | Self::AddressLost(uplink)
            | Self::MuteClient(uplink)
            | Self::MuteServer(uplink) => Some(uplink),
            _ => None,
        }
    }

    /// Whether one end does nothing meanwhile.
    pub(crate) const fn suspends(self) -> bool {
        matches!(self, Self::SuspendedSender | Self::SuspendedReceiver)
    }
}

impl RandomScenario {
    /// The scenario of this seed, always the same.
    pub(crate) fn draw(seed: u64) -> Self {
        let root = Seed(seed).split("scenario");
        let rng = &mut root.split("network").rng();
        let family = one_of(
            rng,
            &[Family::V4, Family::V4, Family::V4, Family::V6, Family::Both],
        );
        let count = one_of(rng, &[1, 2, 2, 2, 3]);
        let mut uplinks: Vec<Uplink> = Vec::new();
        for _ in 0..count {
            let left = MAX_RATE - uplinks.iter().map(|uplink| uplink.mbit).sum::<u32>();
            uplinks.push(Uplink {
                mbit: one_of(rng, &[1, 2, 4, 8, 16]).min(left.max(1)),
                queue_ms: one_of(rng, &[10, 30, 100, 300]),
                nats: one_of(rng, &[0, 1, 1, 1, 2]),
            });
        }
        let rate: u32 = uplinks.iter().map(|uplink| uplink.mbit).sum();
        let mut scenario = Self {
            seed,
            family,
            policy_routing: rng.chance(1, 3),
            names_devices: rng.chance(1, 3),
            bytes: (u64::from(rate) * UNDISTURBED * 1_000 / 8) as usize,
            happenings: Vec::new(),
            uplinks,
        };
        scenario.draw_happenings(root);
        scenario.happenings.sort_by_key(|happening| happening.at);
        scenario
    }

    fn draw_happenings(&mut self, root: Seed) {
        let rng = &mut root.split("ends").rng();
        if rng.chance(1, 12) {
            // Nothing works any more.
            let at = between(rng, 2_000, 8_000);
            let what = one_of(
                rng,
                &[
                    What::Unplugged as fn(usize) -> What,
                    What::MuteClient,
                    What::MuteServer,
                ],
            );
            self.happenings
                .extend((0..self.uplinks.len()).map(|uplink| Happening {
                    at,
                    lasts: None,
                    what: what(uplink),
                }));
            return;
        }
        if rng.chance(1, 4) {
            self.add(rng, What::ServerAddress);
        }
        if rng.chance(1, 6) {
            let what = one_of(rng, &[What::SuspendedSender, What::SuspendedReceiver]);
            let at = between(rng, 1_000, LAST);
            let lasts = Some(between(rng, 500, 6_000));
            self.happenings.push(Happening { at, lasts, what });
        }
        for uplink in 0..self.uplinks.len() {
            let seed = root.nth(uplink as u64);
            self.draw_outages(&mut seed.split("outages").rng(), uplink);
            self.draw_changes(&mut seed.split("changes").rng(), uplink);
        }
    }

    /// The uplink fails and comes back, one time after the other.
    fn draw_outages(&mut self, rng: &mut Rng, uplink: usize) {
        let mut at = between(rng, 500, 8_000);
        while at < LAST {
            let what = one_of(
                rng,
                &[
                    What::Unplugged(uplink),
                    What::SwitchedOff(uplink),
                    What::AddressLost(uplink),
                    What::Renumbered(uplink),
                    What::MuteClient(uplink),
                    What::MuteServer(uplink),
                ],
            );
            let lasts = what.cuts().map(|_| between(rng, 500, 6_000));
            self.happenings.push(Happening { at, lasts, what });
            at += lasts.unwrap_or(0) + between(rng, 1_500, 7_000);
        }
    }

    /// It changes, and works on.
    fn draw_changes(&mut self, rng: &mut Rng, uplink: usize) {
        let hole = What::Hole {
            uplink,
            size: one_of(rng, &[1_280, 1_300, 1_400]),
            silent: rng.chance(2, 3),
        };
        if rng.chance(1, 3) {
            self.add(rng, hole);
        }
        let mbit = (self.uplinks[uplink].mbit / one_of(rng, &[2, 4, 8])).max(1);
        if rng.chance(1, 3) {
            let at = between(rng, 500, LAST);
            // For good, the file would take minutes.
            let lasts = Some(between(rng, 1_000, 8_000));
            self.happenings.push(Happening {
                at,
                lasts,
                what: What::Rate { uplink, mbit },
            });
        }
        let has_nat = self.family.has_v4() && self.uplinks[uplink].nats > 0;
        for what in [What::NatRestarted(uplink), What::PublicAddress(uplink)] {
            if rng.chance(1, 3) && has_nat {
                let at = between(rng, 1_000, LAST);
                self.happenings.push(Happening {
                    at,
                    lasts: None,
                    what,
                });
            }
        }
    }

    /// For a while or for good.
    fn add(&mut self, rng: &mut Rng, what: What) {
        let at = between(rng, 500, LAST);
        let lasts = rng.chance(1, 2).then(|| between(rng, 1_000, 8_000));
        self.happenings.push(Happening { at, lasts, what });
    }
}

/// A number of `low..high`.
fn between(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low)
}

fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

#[test]
fn same_seed_draws_the_same_scenario() {
    for seed in 0..100 {
        assert_eq!(RandomScenario::draw(seed), RandomScenario::draw(seed));
    }
    assert_ne!(
        RandomScenario::draw(1).happenings,
        RandomScenario::draw(2).happenings
    );
}
