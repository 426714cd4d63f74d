//! Profiles: named recipes, one for daily use and one for each paper.

use core::time::Duration;

use crate::ack::DelayParameters;
use crate::buffer::{Counting, SplitParameters};
use crate::burst::MaxBurstParameters;
use crate::catalog::{
    AckChoice, AddIpChoice, BufferChoice, BurstChoice, CongestionChoice, EcnChoice, FailoverChoice,
    GapLimitChoice, InterleavingChoice, LossChoice, NrSackChoice, OversizeChoice, PathMtuChoice,
    PathSchedulerChoice, ProbingChoice, RecoveryChoice, ReschedulingChoice, RetransmissionChoice, RtoChoice,
    RttSamplesChoice, SackHandlingChoice, SackPathChoice, SackWindowChoice, SharedBottleneckChoice,
    StreamSchedulerChoice, TailProbeChoice,
};
use crate::congestion::{
    CmtParameters, CoupledParameters, Growth, LossDifferentiatingParameters, RenoParameters,
};
use crate::failover::{ErrorLimits, FastFailoverParameters, PeerErrors, PotentiallyFailedParameters};
use crate::loss::{FastRetransmitOnce, MissCountParameters, ReorderingParameters};
use crate::options::{MtuSearchParameters, ProbingParameters, RtoParameters};
use crate::parameters::NoParameters;
use crate::path_scheduler::{InOrderArrivalParameters, WithinWindowParameters};
use crate::recipe::PolicyRecipe;
use crate::rescheduling::ThresholdParameters;
use crate::retransmission::TieParameters;
use crate::rtt_samples::OwnPathParameters;
use crate::unknown_name::UnknownName;

/// A named recipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The name that users type.
    pub name: &'static str,
    /// Its purpose, in one line.
    pub summary: &'static str,
    /// The source of its choices.
    pub source: &'static str,
    /// The choices.
    pub recipe: PolicyRecipe,
}

/// All profiles.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        summary: "recommended: the paths with which a window is acknowledged soonest, on each of them CUBIC, or BBR where losses come without a queue, losses told from reordering, early failure detection",
        source: "ours",
        recipe: PolicyRecipe::recommended(),
    },
    Profile {
        name: "rfc9260",
        summary: "the standard: one path at a time, no Concurrent Multipath Transfer",
        source: "RFC 9260",
        recipe: PolicyRecipe::rfc9260(),
    },
    Profile {
        name: "cmt",
        summary: "Concurrent Multipath Transfer as first described: SFR, CUCv2, DAC",
        source: "Iyengar et al. 2006",
        recipe: PolicyRecipe::cmt(),
    },
    Profile {
        name: "freebsd-2017",
        summary: "FreeBSD's CMT as measured in 2017, DAC, buffer splitting and NR-SACK off",
        source: "Sarnow 2017",
        recipe: PolicyRecipe::freebsd_2017(),
    },
    Profile {
        name: "dre-2010",
        summary: "buffer splitting and NR-SACK, for streams that are mapped to paths",
        source: "Dreibholz et al. 2010 (PFLDNeT)",
        recipe: PolicyRecipe::dre_2010(),
    },
    Profile {
        name: "yan-2015",
        summary: "data is sent out of order to arrive in order, with coupled congestion control as in Multipath TCP",
        source: "Yang 2015, chapter 5",
        recipe: PolicyRecipe::yan_2015(),
    },
    Profile {
        name: "aba-2016",
        summary: "QR-DAC with buffer splitting, IS-RTT and Rtx-HYBRIDMETRIC, as we read them",
        source: "our reading of Abass 2016",
        recipe: PolicyRecipe::aba_2016(),
    },
    Profile {
        name: "tcp",
        summary: "TCP: its congestion control and timeouts, no burst limit",
        source: "RFC 5681, RFC 6298, RFC 6928",
        recipe: PolicyRecipe::tcp(),
    },
];

impl PolicyRecipe {
    /// The recommended choices: the paths with which a window is acknowledged soonest, CUBIC on each path unless its losses are
    /// random, failures detected within two round trips if another path works, otherwise after one timeout.
    ///
    /// Where buffers are small compared with the delay of the slow path, a fast path that shares them with a slow one is
    /// slower than alone. `within-window` leaves the slow path out then, lost chunks wait for a fast path (ADR 0180), and chunks that
    /// block a buffer nevertheless are rescheduled. Where losses come without a queue, BBR replaces CUBIC (ADR 0142, 0181). SACKs use all paths in turn, so that none of them lacks RTT samples. No buffer
    /// splitting: half a buffer per path limits a fast path to half of its rate once the buffer, not the cwnd, is the limit.
    /// Where packets overtake one another, only time tells a loss (ADR 0137).
    #[must_use]
    pub const fn recommended() -> Self {
        Self {
            stream_scheduler: StreamSchedulerChoice::RoundRobin(NoParameters),
            path_scheduler: PathSchedulerChoice::WithinWindow(WithinWindowParameters::DEFAULT),
            congestion: CongestionChoice::LossDifferentiating(LossDifferentiatingParameters::DEFAULT),
            burst: BurstChoice::Paced(NoParameters),
            buffer: BufferChoice::Shared(NoParameters),
            rescheduling: ReschedulingChoice::Both(ThresholdParameters {
                overdue: true,
                ..ThresholdParameters::DEFAULT
            }),
            ack: AckChoice::Dac(DelayParameters::DEFAULT),
            sack_path: SackPathChoice::RoundRobin(NoParameters),
            rtt_samples: RttSamplesChoice::OwnPath(OwnPathParameters::DEFAULT),
            loss: LossChoice::ReorderingAware(ReorderingParameters::DEFAULT),
            shared_bottleneck: SharedBottleneckChoice::NoDetection(NoParameters),
            tail_probe: TailProbeChoice::Never(NoParameters),
            retransmission: RetransmissionChoice::Fastest(NoParameters),
            failover: FailoverChoice::FastFailover(FastFailoverParameters {
                errors: PotentiallyFailedParameters {
                    limits: ErrorLimits {
                        peer_errors: PeerErrors::Best,
                        ..ErrorLimits::DEFAULT
                    },
                    ..PotentiallyFailedParameters::DEFAULT
                },
                slack: Duration::from_millis(75),
            }),
            probing: ProbingChoice::Frequent(ProbingParameters::DEFAULT),
            interleaving: InterleavingChoice::Off(NoParameters),
            path_mtu: PathMtuChoice::Search(MtuSearchParameters::DEFAULT),
            oversize: OversizeChoice::Split(NoParameters),
            nr_sack: NrSackChoice::Off(NoParameters),
            gap_limit: GapLimitChoice::Recent(NoParameters),
            sack_window: SackWindowChoice::Unlimited(NoParameters),
            sack_handling: SackHandlingChoice::Indexed(NoParameters),
            recovery: RecoveryChoice::Proportional(NoParameters),
            rto: RtoChoice::Rfc9260(RtoParameters::RESPONSIVE),
            add_ip: AddIpChoice::On(NoParameters),
            ecn: EcnChoice::Off(NoParameters),
        }
    }

    //= rfc9260 16-1
    /// The standard: one path at a time, everything as RFC 9260 recommends.
    #[must_use]
    pub const fn rfc9260() -> Self {
        Self {
            stream_scheduler: StreamSchedulerChoice::FirstCome(NoParameters),
            path_scheduler: PathSchedulerChoice::Primary(NoParameters),
            congestion: CongestionChoice::Cmt(CmtParameters {
                growth: Growth::Cumack,
                ..CmtParameters::DEFAULT
            }),
            burst: BurstChoice::MaxBurst(MaxBurstParameters::DEFAULT),
            buffer: BufferChoice::Shared(NoParameters),
            rescheduling: ReschedulingChoice::Never(NoParameters),
            ack: AckChoice::Rfc9260(DelayParameters::DEFAULT),
            sack_path: SackPathChoice::DataSource(NoParameters),
            rtt_samples: RttSamplesChoice::AnyPath(NoParameters),
            loss: LossChoice::MissCount(MissCountParameters {
                fr_once: FastRetransmitOnce::Always,
            }),
            shared_bottleneck: SharedBottleneckChoice::NoDetection(NoParameters),
            tail_probe: TailProbeChoice::Never(NoParameters),
            retransmission: RetransmissionChoice::Alternate(NoParameters),
            failover: FailoverChoice::Rfc9260(ErrorLimits::DEFAULT),
            probing: ProbingChoice::Heartbeat(NoParameters),
            interleaving: InterleavingChoice::Off(NoParameters),
            path_mtu: PathMtuChoice::Search(MtuSearchParameters::DEFAULT),
            oversize: OversizeChoice::IpFragmentation(NoParameters),
            nr_sack: NrSackChoice::Off(NoParameters),
            gap_limit: GapLimitChoice::Mtu(NoParameters),
            sack_window: SackWindowChoice::Unlimited(NoParameters),
            sack_handling: SackHandlingChoice::Indexed(NoParameters),
            recovery: RecoveryChoice::Window(NoParameters),
            rto: RtoChoice::Rfc9260(RtoParameters::RFC9260),
            add_ip: AddIpChoice::Off(NoParameters),
            ecn: EcnChoice::Off(NoParameters),
        }
    }

    /// TCP's choices, for comparison with TCP: RFC 5681 and RFC 6298, the fastest of several paths first.
    #[must_use]
    pub const fn tcp() -> Self {
        Self {
            path_scheduler: PathSchedulerChoice::MinRtt(NoParameters),
            congestion: CongestionChoice::Reno(RenoParameters::DEFAULT),
            burst: BurstChoice::Unlimited(NoParameters),
            retransmission: RetransmissionChoice::Same(NoParameters),
            ..Self::rfc9260()
        }
    }

    /// Concurrent Multipath Transfer as in the papers and FreeBSD: SFR, CUCv2, DAC, round robin over the paths.
    #[must_use]
    pub const fn cmt() -> Self {
        Self {
            path_scheduler: PathSchedulerChoice::RoundRobin(NoParameters),
            congestion: CongestionChoice::Cmt(CmtParameters::DEFAULT),
            ack: AckChoice::Dac(DelayParameters::DEFAULT),
            retransmission: RetransmissionChoice::Cwnd(TieParameters::DEFAULT),
            path_mtu: PathMtuChoice::Fixed(NoParameters),
            ..Self::rfc9260()
        }
    }

    /// FreeBSD's stack of 2017: the reference of D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD
    /// Kernel" (HAW Hamburg 2017), with the limits in its source code: an initial cwnd of three packets and
    /// two chunks per SACK in slow start. That stack splits buffers by what is in flight, so where the paper has
    /// buffer splitting, `buffer-split` needs `buffer-split.counting = outstanding`.
    ///
    /// Its faults are not reproduced (cwnd cut by every SACK that reveals a loss, miss indications for all missing TSNs
    /// during recovery, ssthresh of two packets), nor the overhead of 256 bytes for each chunk in the peer's rwnd, which
    /// the paper found wide open. Bursts are limited by reducing the cwnd to the bytes in flight plus four packets.
    #[must_use]
    pub const fn freebsd_2017() -> Self {
        Self {
            stream_scheduler: StreamSchedulerChoice::RoundRobin(NoParameters),
            congestion: CongestionChoice::Cmt(CmtParameters {
                slow_start_limit: 2,
                initial_packets: 3,
                ..CmtParameters::DEFAULT
            }),
            burst: BurstChoice::WindowLimiting(MaxBurstParameters::DEFAULT),
            ack: AckChoice::Rfc9260(DelayParameters::DEFAULT),
            sack_handling: SackHandlingChoice::Scan(NoParameters),
            ..Self::cmt()
        }
    }

    /// The simulation model of T. Dreibholz et al., "Transmission Scheduling Optimizations for Concurrent Multipath
    /// Transfer" (2010): buffers split by what each path holds, NR-SACK. The retransmission policy is that of INET's
    /// model: the same path, after a timeout another one. The model's RTO.Initial is the 3 s of RFC 4960, here it is 1 s.
    #[must_use]
    pub const fn dre_2010() -> Self {
        Self {
            stream_scheduler: StreamSchedulerChoice::RoundRobin(NoParameters),
            buffer: BufferChoice::Both(SplitParameters {
                counting: Counting::Queued,
            }),
            nr_sack: NrSackChoice::On(NoParameters),
            add_ip: AddIpChoice::On(NoParameters),
            rtt_samples: RttSamplesChoice::OwnPath(OwnPathParameters::STRICT),
            retransmission: RetransmissionChoice::Alternate(NoParameters),
            ..Self::cmt()
        }
    }

    /// The setting of chapter 5 of F. Yang, "Non-Renegable Selective Acknowledgments and Scheduling for TCP and
    /// Multipath TCP" (Delaware 2015), adapted from MPTCP 0.88 for Linux: OLIA (§5.7.1) and in-order arrival
    /// scheduling, design 2 (§5.6). The behaviour of a subflow has its nearest counterpart: each retransmits its own
    /// losses (`same`), and reordering between paths neither forces a SACK nor counts as a loss (`dac`, `sfr`).
    #[must_use]
    pub const fn yan_2015() -> Self {
        Self {
            path_scheduler: PathSchedulerChoice::InOrderArrival(InOrderArrivalParameters::DEFAULT),
            congestion: CongestionChoice::Olia(CoupledParameters::DEFAULT),
            retransmission: RetransmissionChoice::Same(NoParameters),
            ..Self::cmt()
        }
    }

    /// CMT-SCTP with what A. H. Abass, "Optimization Algorithms for Multipath Transfer over Asymmetric Paths using
    /// CMT-SCTP" (UPM 2016), adds: QR-DAC integrated with buffer splitting, IS-RTT, Rtx-HYBRIDMETRIC.
    ///
    /// The available text names the three and their purpose; the algorithms are our reading of them. Its plots
    /// count reschedulings, so chunk rescheduling is on; it does not say which buffers were split and how they were
    /// counted: both, by what each path holds, as is the default of its simulation model.
    #[must_use]
    pub const fn aba_2016() -> Self {
        Self {
            ack: AckChoice::QrDac(DelayParameters::DEFAULT),
            rtt_samples: RttSamplesChoice::IsRtt(NoParameters),
            retransmission: RetransmissionChoice::HybridMetric(NoParameters),
            buffer: BufferChoice::Both(SplitParameters {
                counting: Counting::Queued,
            }),
            rescheduling: ReschedulingChoice::Both(ThresholdParameters::DEFAULT),
            ..Self::cmt()
        }
    }

    /// The profile called `name`, one of [`PROFILES`].
    ///
    /// # Errors
    ///
    /// [`UnknownName`] with the names there are.
    pub fn profile(name: &str) -> Result<Self, UnknownName> {
        let found = PROFILES.iter().find(|profile| profile.name == name);
        let names = || PROFILES.iter().map(|profile| profile.name);
        found
            .map(|profile| profile.recipe)
            .ok_or_else(|| UnknownName::new("profile", name, names()))
    }
}

/// [`PolicyRecipe::recommended`].
impl Default for PolicyRecipe {
    fn default() -> Self {
        Self::recommended()
    }
}
