//! Classes of traffic: which connections and datagrams come first when the paths are full?
//!
//! A class is a weight of the stream scheduler (weighted fair queueing): no class stops another one. Rules of the end that begins a
//! connection or flow name its class, and the other end is told. Without a rule, each end goes by size:
//!
//! | what | class |
//! |---|---|
//! | a connection, up to [`BURST`] bytes in one go | interactive |
//! | the same after more, until everything was sent | bulk |
//! | datagrams of up to [`SMALL`] bytes | real-time |
//! | longer ones | bulk |
//!
//! A rule of real-time datagrams may be redundant: they are sent on all paths.

use std::fmt;
use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use thiserror::Error;

/// Bytes that a connection may have sent since its stream was last empty, before it is bulk.
pub const BURST: u64 = 256 << 10;

/// Longest datagram, in bytes, that is taken for one of a call, a game or a name server.
pub const SMALL: usize = 320;

/// A class of traffic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Downloads and uploads, whose throughput counts and not their delay.
    Bulk,
    /// Requests and answers for which a person waits.
    Interactive,
    /// Calls and games, whose data is of no use when it is late.
    RealTime,
}

impl Class {
    /// Its weight: of two streams that have data, each gets bytes in proportion.
    #[must_use]
    pub const fn weight(self) -> NonZeroU16 {
        let weight = match self {
            Self::Bulk => 1,
            Self::Interactive => 8,
            Self::RealTime => 64,
        };
        NonZeroU16::new(weight).expect("invariant: it is not 0")
    }

    /// Its number in frames, from 1.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Bulk => 1,
            Self::Interactive => 2,
            Self::RealTime => 3,
        }
    }

    /// The class of a number; 0 is none.
    pub(crate) const fn of_number(number: u8) -> Option<Option<Self>> {
        match number {
            0 => Some(None),
            1 => Some(Some(Self::Bulk)),
            2 => Some(Some(Self::Interactive)),
            3 => Some(Some(Self::RealTime)),
            _ => None,
        }
    }

    /// What a DSCP asks for (RFC 4594, RFC 8325, RFC 8622, RFC 8837); `None` for those that ask for nothing.
    const fn of_dscp(dscp: u8) -> Option<Self> {
        match dscp {
            // LE, CS1, AF1x.
            1 | 8 | 10 | 12 | 14 => Some(Self::Bulk),
            // CS2, AF2x, CS6, CS7.
            16 | 18 | 20 | 22 | 48 | 56 => Some(Self::Interactive),
            // CS3, AF3x, CS4, AF4x, CS5, VOICE-ADMIT, EF.
            24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 | 44 | 46 => Some(Self::RealTime),
            _ => None,
        }
    }
}

/// Names in files.
impl FromStr for Class {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "bulk" => Ok(Self::Bulk),
            "interactive" => Ok(Self::Interactive),
            "real-time" => Ok(Self::RealTime),
            _ => Err(()),
        }
    }
}

/// What is to be sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Traffic {
    pub(crate) is_tcp: bool,
    /// Of the far side.
    pub(crate) port: u16,
    /// Of the program's packet, if there is one.
    pub(crate) dscp: Option<u8>,
}

/// A rule: what it says is of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassRule {
    class: Class,
    matching: Match,
    redundant: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Match {
    /// Ports at the far side, of TCP, of UDP or of both.
    Ports {
        is_tcp: Option<bool>,
        ports: RangeInclusive<u16>,
    },
    Dscp(u8),
    /// What is of the class without this rule.
    AllOfClass,
}

/// Why a text is no rule.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ClassRuleError {
    /// It names nothing.
    #[error(
        "{0:?} is nothing that a class can be given to: expected a port or ports, such as 22, tcp/22 or udp/16384-32767, or dscp=46"
    )]
    Unknown(String),
    /// Only datagrams that are of no use when they are late are worth the links that they take.
    #[error("only real-time datagrams are redundant; write it in a line of real-time, or leave it out")]
    NotRealTime,
    /// The bytes of connections are sent again.
    #[error("{0:?} has no datagrams that could be redundant; put it in a line without `redundant`")]
    Connections(String),
}

impl ClassRule {
    /// `22`, `tcp/22`, `udp/5000-5100` or `dscp=46` is of `class`.
    ///
    /// # Errors
    ///
    /// The text is none of these.
    pub fn new(class: Class, text: &str) -> Result<Self, ClassRuleError> {
        Ok(Self {
            class,
            matching: matching(text).ok_or_else(|| ClassRuleError::Unknown(text.to_owned()))?,
            redundant: false,
        })
    }

    /// As [`ClassRule::new`]; its datagrams are redundant.
    ///
    /// # Errors
    ///
    /// The text is no rule, or no rule of datagrams, or the class is another one than real-time.
    pub fn redundant(class: Class, text: &str) -> Result<Self, ClassRuleError> {
        let rule = Self::new(class, text)?;
        match rule.matching {
            Match::Ports {
                is_tcp: Some(true), ..
            } => Err(ClassRuleError::Connections(text.to_owned())),
            _ => rule.made_redundant(),
        }
    }

    /// All datagrams of `class` are redundant, whatever has made them so.
    ///
    /// # Errors
    ///
    /// The class is another one than real-time.
    pub fn all_redundant(class: Class) -> Result<Self, ClassRuleError> {
        let all = Self {
            class,
            matching: Match::AllOfClass,
            redundant: false,
        };
        all.made_redundant()
    }

    fn made_redundant(self) -> Result<Self, ClassRuleError> {
        match self.class {
            Class::RealTime => Ok(Self {
                redundant: true,
                ..self
            }),
            Class::Bulk | Class::Interactive => Err(ClassRuleError::NotRealTime),
        }
    }

    /// Whether its datagrams are redundant.
    #[must_use]
    pub const fn is_redundant(&self) -> bool {
        self.redundant
    }

    fn matches(&self, traffic: Traffic) -> bool {
        match &self.matching {
            Match::Ports { is_tcp, ports } => {
                ports.contains(&traffic.port) && is_tcp.is_none_or(|is_tcp| is_tcp == traffic.is_tcp)
            }
            Match::Dscp(dscp) => traffic.dscp == Some(*dscp),
            Match::AllOfClass => false,
        }
    }
}

/// The datagrams that it names.
impl fmt::Display for ClassRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.matching {
            Match::AllOfClass => f.write_str("all real-time datagrams"),
            Match::Dscp(dscp) => write!(f, "datagrams with DSCP {dscp}"),
            Match::Ports { ports, .. } if ports.start() == ports.end() => {
                write!(f, "datagrams of UDP port {}", ports.start())
            }
            Match::Ports { ports, .. } => {
                write!(f, "datagrams of UDP ports {}-{}", ports.start(), ports.end())
            }
        }
    }
}

fn matching(text: &str) -> Option<Match> {
    if let Some(dscp) = text.strip_prefix("dscp=") {
        return Some(Match::Dscp(dscp.parse().ok().filter(|dscp| *dscp < 64)?));
    }
    let (is_tcp, ports) = match text.split_once('/') {
        Some(("tcp", ports)) => (Some(true), ports),
        Some(("udp", ports)) => (Some(false), ports),
        Some(_) => return None,
        None => (None, text),
    };
    let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port != 0);
    let ports = port(first)?..=port(last)?;
    (!ports.is_empty()).then_some(Match::Ports { is_tcp, ports })
}

/// UDP ports of calls: STUN and TURN of browsers and conferences, RTP, SIP. Their video has long datagrams, too.
const CALLS: [RangeInclusive<u16>; 5] = [
    3_478..=3_481,
    5_004..=5_005,
    5_060..=5_061,
    8_801..=8_810,
    19_302..=19_309,
];

/// The rules of an end, which may change. Clones are the same rules.
#[derive(Clone, Default, Debug)]
pub struct Classes(Arc<RwLock<Vec<ClassRule>>>);

impl Classes {
    /// From now on, these rules hold for new connections and all datagrams: the first one that matches, before the DSCP and the ports of calls.
    pub fn replace(&self, rules: Vec<ClassRule>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// The class of some traffic; `None` if its size decides.
    pub(crate) fn of(&self, traffic: Traffic) -> Option<Class> {
        self.classify(traffic).0
    }

    /// The class of a datagram of so many bytes, as [`Classes::of`], and whether it is redundant.
    pub(crate) fn of_datagram(&self, traffic: Traffic, bytes: usize) -> (Option<Class>, bool) {
        let (class, redundant) = self.classify(traffic);
        let is_real_time = class.unwrap_or_else(|| by_size(bytes)) == Class::RealTime;
        (class, is_real_time && redundant)
    }

    /// The class of some traffic, and whether its datagrams are redundant if they are real-time.
    fn classify(&self, traffic: Traffic) -> (Option<Class>, bool) {
        let rules = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let rule = rules.iter().find(|rule| rule.matches(traffic));
        let is_call = || !traffic.is_tcp && CALLS.iter().any(|ports| ports.contains(&traffic.port));
        let class = rule
            .map(|rule| rule.class)
            .or_else(|| traffic.dscp.and_then(Class::of_dscp))
            .or_else(|| is_call().then_some(Class::RealTime));
        let of_all = || rules.iter().any(|rule| rule.matching == Match::AllOfClass);
        (class, rule.is_some_and(ClassRule::is_redundant) || of_all())
    }
}

/// The class of a datagram of so many bytes, if no rule has one.
pub(crate) const fn by_size(bytes: usize) -> Class {
    if bytes <= SMALL {
        Class::RealTime
    } else {
        Class::Bulk
    }
}

/// The weight of the stream of a connection, which follows from what it sends.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Weighing {
    /// Bytes since the stream was last empty.
    burst: u64,
    /// What the stream scheduler was told; `None` for nothing yet, which is the weight of bulk.
    told: Option<NonZeroU16>,
}

impl Weighing {
    /// `bytes` more are sent of a connection of this class, when so many were unsent. Returns the weight of the stream if it changes.
    pub(crate) fn send(&mut self, class: Option<Class>, bytes: u64, unsent: u64) -> Option<NonZeroU16> {
        let before = if unsent == 0 { 0 } else { self.burst };
        self.burst = before.saturating_add(bytes);
        let by_size = if self.burst > BURST {
            Class::Bulk
        } else {
            Class::Interactive
        };
        let weight = class.unwrap_or(by_size).weight();
        let is_new = self.told.unwrap_or(Class::Bulk.weight()) != weight;
        self.told = Some(weight);
        is_new.then_some(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(is_tcp: bool, port: u16, dscp: Option<u8>) -> Traffic {
        Traffic { is_tcp, port, dscp }
    }

    #[test]
    fn rules_come_before_the_dscp_and_that_before_ports_of_calls() {
        let classes = Classes::default();
        let of = |is_tcp, port, dscp| classes.of(traffic(is_tcp, port, dscp));
        assert_eq!(of(true, 443, None), None);
        assert_eq!(of(false, 443, Some(46)), Some(Class::RealTime));
        assert_eq!(of(true, 443, Some(8)), Some(Class::Bulk));
        assert_eq!(of(false, 3_478, Some(0)), Some(Class::RealTime));
        assert_eq!(of(true, 3_478, None), None);
        assert_eq!(of(false, 3_478, Some(18)), Some(Class::Interactive));
        let rules = [
            (Class::Interactive, "udp/3478-3479"),
            (Class::Bulk, "dscp=46"),
            (Class::RealTime, "3389"),
            (Class::Bulk, "tcp/3389"),
        ];
        classes.replace(
            rules
                .map(|(class, text)| ClassRule::new(class, text).unwrap())
                .into(),
        );
        assert_eq!(of(false, 3_478, Some(46)), Some(Class::Interactive));
        assert_eq!(of(false, 3_480, Some(46)), Some(Class::Bulk));
        // The first one holds.
        assert_eq!(of(true, 3_389, None), Some(Class::RealTime));
    }

    #[test]
    fn only_datagrams_that_are_real_time_are_redundant() {
        let classes = Classes::default();
        let of = |port, dscp, bytes| classes.of_datagram(traffic(false, port, dscp), bytes);
        assert_eq!(of(5_004, None, 160), (Some(Class::RealTime), false));
        let named = ClassRule::redundant(Class::RealTime, "udp/5004").unwrap();
        classes.replace(vec![named.clone()]);
        assert_eq!(of(5_004, None, 1_200), (Some(Class::RealTime), true));
        assert_eq!(of(5_005, None, 160), (Some(Class::RealTime), false));
        assert_eq!(of(443, None, 160), (None, false));
        // All that is real-time, by whatever made it so.
        let bulk = ClassRule::new(Class::Bulk, "udp/873").unwrap();
        let all = ClassRule::all_redundant(Class::RealTime).unwrap();
        classes.replace(vec![bulk, all]);
        assert_eq!(of(5_005, None, 1_200), (Some(Class::RealTime), true));
        assert_eq!(of(443, Some(46), 1_200), (Some(Class::RealTime), true));
        assert_eq!(of(443, None, 160), (None, true));
        assert_eq!(of(443, None, 1_200), (None, false));
        assert_eq!(of(873, None, 160), (Some(Class::Bulk), false));
        // It gives no class.
        assert_eq!(classes.of(traffic(true, 443, None)), None);
    }

    #[test]
    fn redundancy_of_connections_and_of_other_classes_is_refused() {
        for class in [Class::Bulk, Class::Interactive] {
            assert_eq!(ClassRule::all_redundant(class), Err(ClassRuleError::NotRealTime));
            let named = ClassRule::redundant(class, "udp/5004");
            assert_eq!(named, Err(ClassRuleError::NotRealTime));
        }
        let tcp = ClassRule::redundant(Class::RealTime, "tcp/22").unwrap_err();
        assert!(tcp.to_string().contains("without `redundant`"), "{tcp}");
        for (text, told) in [
            ("22", "datagrams of UDP port 22"),
            ("udp/5-7", "datagrams of UDP ports 5-7"),
            ("dscp=46", "datagrams with DSCP 46"),
        ] {
            let rule = ClassRule::redundant(Class::RealTime, text).unwrap();
            assert_eq!(rule.to_string(), told);
        }
    }

    #[test]
    fn texts_that_are_no_rules_are_refused() {
        for text in [
            "", "x", "0", "65536", "sctp/5", "20-10", "tcp/", "dscp=64", "dscp=ef", "80-",
        ] {
            let error = ClassRule::new(Class::Bulk, text).unwrap_err();
            assert!(error.to_string().contains("udp/16384-32767"), "{error}");
        }
    }

    #[test]
    fn connection_is_interactive_until_it_has_sent_much_in_one_go() {
        let [bulk, interactive] = [Class::Bulk, Class::Interactive].map(Class::weight);
        let mut weighing = Weighing::default();
        assert_eq!(weighing.send(None, 65_536, 0), Some(interactive));
        for _ in 0..3 {
            assert_eq!(weighing.send(None, 65_536, 1), None);
        }
        assert_eq!(weighing.send(None, 1, 1), Some(bulk));
        assert_eq!(weighing.send(None, 65_536, 65_536), None);
        // Everything was sent, so the next answer begins.
        assert_eq!(weighing.send(None, 1_000, 0), Some(interactive));
        // What a rule says holds whatever the size.
        assert_eq!(
            weighing.send(Some(Class::RealTime), 1 << 20, 1),
            Some(Class::RealTime.weight())
        );
        assert_eq!(weighing.send(Some(Class::RealTime), 1 << 20, 1), None);
    }
}
