//! Which algorithms answer the questions of the core? One list for each extension point.

use super::choice::choices;
use crate::parameters::NoParameters;
use crate::{
    AckPolicy, BufferPolicy, BurstPolicy, CongestionControl, FailoverPolicy, LossDetection, PathScheduler,
    ReschedulingPolicy, RetransmissionPolicy, RttSampling, SackPath, StreamScheduler, TailProbe,
};
use crate::{
    ack, buffer, burst, congestion, failover, loss, path_scheduler, rescheduling, retransmission,
    rtt_samples, sack_path, stream_scheduler, tail_probe,
};

choices! {
    /// How much may be in flight on each path.
    CongestionChoice of CongestionControl = "cc", "how much may be in flight on each path?";
    "cmt" => Cmt(congestion::CmtParameters), congestion::Cmt::new,
        "the standard's rules on each path alone", "RFC 9260 §7.2, CUC of Iyengar et al. 2006";
    "reno" => Reno(congestion::RenoParameters), congestion::Reno::new,
        "TCP's rules on each path alone", "RFC 5681, RFC 6928";
    "cubic" => Cubic(congestion::CubicParameters), congestion::Cubic::new,
        "window as a cubic function of the time since the last loss", "RFC 9438, RFC 9406";
    "cmt-rpv1" => CmtRpV1(congestion::CoupledParameters), congestion::CmtRpV1::new,
        "resource pooling: paths share the step of one flow by their thresholds", "Dreibholz et al. 2010";
    "cmt-rpv2" => CmtRpV2(congestion::CoupledParameters), congestion::CmtRpV2::new,
        "resource pooling: paths share the step of one flow by their rates", "Dreibholz et al. 2011";
    "lia" => Lia(congestion::CoupledParameters), congestion::Lia::new,
        "all paths together no greedier than one flow on the best path", "RFC 6356";
    "olia" => Olia(congestion::CoupledParameters), congestion::Olia::new,
        "linked increases that move windows to paths that deliver more between losses", "Khalili et al. 2013";
    "balia" => Balia(congestion::CoupledParameters), congestion::Balia::new,
        "linked increases and cuts that depend on how a path compares with the best", "Peng et al. 2016";
    "fixed" => Fixed(congestion::FixedParameters), congestion::Fixed::new,
        "constant window, for experiments", "ours";
}

choices! {
    /// Which path takes the next packet of new data.
    PathSchedulerChoice of PathScheduler = "path-scheduler", "which path takes the next packet?";
    "primary" => Primary(NoParameters), path_scheduler::Primary::new,
        "one path at a time", "RFC 9260 §6.4";
    "round-robin" => RoundRobin(NoParameters), path_scheduler::RoundRobin::new,
        "fills one path after the other, beginning with another one each time", "FreeBSD's CMT";
    "min-rtt" => MinRtt(NoParameters), path_scheduler::MinRtt::new,
        "the fastest path that has room", "MPTCP's default in Linux";
    "largest-space" => LargestSpace(NoParameters), path_scheduler::LargestSpace::new,
        "the path with the most free window", "Arzani et al. 2014";
    "stream-mapped" => StreamMapped(NoParameters), path_scheduler::StreamMapped::new,
        "any path on which a stream may go", "Dreibholz et al. 2010";
    "ecf" => Ecf(path_scheduler::EcfParameters), path_scheduler::Ecf::new,
        "the fastest path that has room, or wait for a faster one that would be done sooner", "Lim et al. 2017";
    "blest" => Blest(path_scheduler::BlestParameters), path_scheduler::Blest::new,
        "the fastest path that has room, or wait for a faster one that it would block", "Ferlin et al. 2016";
    "capacity" => Capacity(path_scheduler::CapacityParameters), path_scheduler::Capacity::new,
        "the fastest path that is not congested, or wait if all would lose packets", "Yang 2015 §4.3";
    "in-order-arrival" => InOrderArrival(path_scheduler::InOrderArrivalParameters),
        path_scheduler::InOrderArrival::new,
        "the path on which it arrives first, waiting included; what is behind may leave before", "Yang 2015 §5";
    "redundant" => Redundant(path_scheduler::RedundantParameters), path_scheduler::Redundant::new,
        "the fastest path that has room, and copies on all others", "ours, after the idea of MPTCP's in Linux";
}

choices! {
    /// Whose bytes are next.
    StreamSchedulerChoice of StreamScheduler = "stream-scheduler", "whose bytes are next?";
    "fcfs" => FirstCome(NoParameters), stream_scheduler::FirstCome::new,
        "messages leave in the order of handing over", "RFC 8260 §3.1";
    "rr" => RoundRobin(NoParameters), stream_scheduler::RoundRobin::new,
        "streams take turns, one message each", "RFC 8260 §3.2";
    "rr-packet" => RoundRobinPacket(NoParameters), stream_scheduler::RoundRobinPacket::new,
        "streams take turns, one packet each", "RFC 8260 §3.3";
    "priority" => Priority(NoParameters), stream_scheduler::Priority::new,
        "the most urgent stream first, equals in turn", "RFC 8260 §3.4";
    "fair-bandwidth" => FairBandwidth(NoParameters), stream_scheduler::FairBandwidth::new,
        "the same number of bytes for each stream", "RFC 8260 §3.5";
    "wfq" => WeightedFair(NoParameters), stream_scheduler::WeightedFair::new,
        "bytes in proportion to the streams' weights", "RFC 8260 §3.6";
    "fixed-map" => FixedMap(stream_scheduler::FixedMapParameters), stream_scheduler::FixedMap::new,
        "each stream keeps to its path, by a table", "Dreibholz et al. 2010";
    "dynamic-map" => DynamicMap(NoParameters), stream_scheduler::DynamicMap::new,
        "each stream keeps to its path, found by rates and demands", "our reading of Dreibholz et al. 2010 §7";
}

choices! {
    /// Which acknowledgements measure a round trip.
    RttSamplesChoice of RttSampling = "rtt-samples", "which acknowledgements measure a round trip?";
    "any-path" => AnyPath(NoParameters), rtt_samples::AnyPath::new,
        "all of them", "RFC 9260 §6.3.1";
    "own-path" => OwnPath(rtt_samples::OwnPathParameters), rtt_samples::OwnPath::new,
        "those that came over the path of the chunk, or any while there are none of these", "ours, INET model";
    "slow-path-rtt" => SlowPathRtt(NoParameters), rtt_samples::SlowPathRtt::new,
        "those that came over the path of the chunk, overtaken ones too", "INET model";
    "is-rtt" => IsRtt(NoParameters), rtt_samples::IsRtt::new,
        "those of one probe in a round trip, which asks to be acknowledged at once",
        "our reading of IS-RTT, Abass 2016";
}

choices! {
    /// Which outstanding chunks are lost.
    LossChoice of LossDetection = "loss", "which outstanding chunks are lost?";
    "miss-count" | "sfr" => MissCount(loss::MissCountParameters), loss::MissCount::new,
        "three miss indications, counted on each path alone", "RFC 9260 §7.2.4, SFR and DAC of Iyengar et al. 2006";
    "miss-count-association" => Association(NoParameters), loss::MissCountAssociation::new,
        "three miss indications, whatever path they come from", "RFC 9260 §7.2.4";
    "rack" => Rack(loss::RackParameters), loss::Rack::new,
        "overtaken on its path, and late by a quarter of a round trip", "RFC 8985";
}

choices! {
    /// After how long a lost tail is looked for.
    TailProbeChoice of TailProbe = "tail-probe", "is the tail of what was sent still there?";
    "none" => Never(NoParameters), tail_probe::Never::new,
        "nobody asks but the T3 timer", "RFC 9260";
    "tlp" => Tlp(tail_probe::TlpParameters), tail_probe::Tlp::new,
        "one more packet after two round trips without an acknowledgement", "RFC 8985 §7";
}

choices! {
    /// Where a lost chunk goes.
    RetransmissionChoice of RetransmissionPolicy = "rtx-policy", "where does a lost chunk go?";
    "same" => Same(NoParameters), retransmission::Same::new,
        "back to its path", "Iyengar et al. 2004";
    "alternate" => Alternate(NoParameters), retransmission::Alternate::new,
        "to another path after a timeout, else back to its path", "RFC 9260 §6.4.1";
    "other" => Other(NoParameters), retransmission::Other::new,
        "to another path whenever there is one", "Yang 2015 §4.3";
    "asap" => Asap(retransmission::SeedParameters), retransmission::Asap::new,
        "to any path that has room, by chance", "Iyengar et al. 2004";
    "lossrate" => LossRate(retransmission::TieParameters), retransmission::LossRate::new,
        "to the path that loses least, if it has room", "Iyengar et al. 2004";
    "cwnd" => Cwnd(retransmission::TieParameters), retransmission::Cwnd::new,
        "to the largest window that has room", "Iyengar et al. 2004";
    "ssthresh" => Ssthresh(retransmission::TieParameters), retransmission::Ssthresh::new,
        "to the largest slow-start threshold that has room", "Iyengar et al. 2004";
    "hybrid-metric" => HybridMetric(NoParameters), retransmission::HybridMetric::new,
        "to the largest window · (1 − loss rate) / round-trip time that has room",
        "our reading of Rtx-HYBRIDMETRIC, Abass 2016";
}

choices! {
    /// When a SACK is sent.
    AckChoice of AckPolicy = "ack-policy", "when is a SACK sent?";
    "rfc9260" => Rfc9260(ack::DelayParameters), ack::Rfc9260::new,
        "every second packet or 200 ms, at once while there are gaps", "RFC 9260 §6.2";
    "immediate" => Immediate(NoParameters), ack::Immediate::new,
        "every packet", "RFC 9260 §6.2";
    "dac" => Dac(ack::DelayParameters), ack::Dac::new,
        "every second packet or 200 ms, gaps or not, with the number of packets", "Iyengar et al. 2006";
    "qr-dac" => QrDac(ack::DelayParameters), ack::QrDac::new,
        "as dac, but every packet while each path has delivered something later than what is missing",
        "our reading of QR-DAC, Abass 2016";
}

choices! {
    /// On which path a SACK is sent.
    SackPathChoice of SackPath = "sack-path", "on which path is a SACK sent?";
    "data-source" => DataSource(NoParameters), sack_path::DataSource::new,
        "back to where the last data came from", "RFC 9260 §6.4";
    "primary" => Primary(NoParameters), sack_path::Primary::new,
        "on the primary path", "INET model";
    "round-robin" => RoundRobin(NoParameters), sack_path::RoundRobin::new,
        "in turn on all paths that bring data", "INET model";
    "smallest-srtt" => SmallestSrtt(NoParameters), sack_path::SmallestSrtt::new,
        "on the fastest path that brings data", "INET model";
}

choices! {
    /// How much of the buffers a path may hold.
    BufferChoice of BufferPolicy = "buffer-split", "how much of the shared buffers may a path hold?";
    "none" => Shared(NoParameters), buffer::Shared::new,
        "no limit", "RFC 9260";
    "sender" => Sender(buffer::SplitParameters), buffer::Split::<buffer::SplitSender>::new,
        "one n-th of the send buffer", "Dreibholz et al. 2010";
    "receiver" => Receiver(buffer::SplitParameters), buffer::Split::<buffer::SplitReceiver>::new,
        "one n-th of the peer's receive buffer", "Dreibholz et al. 2010";
    "both" => Both(buffer::SplitParameters), buffer::Split::<buffer::SplitBoth>::new,
        "one n-th of either", "Dreibholz et al. 2010";
}

choices! {
    /// What moves to another path when a buffer is blocked.
    ReschedulingChoice of ReschedulingPolicy = "chunk-rescheduling", "the buffer is blocked: what moves to another path?";
    "none" => Never(NoParameters), rescheduling::Never::new,
        "nothing", "RFC 9260";
    "sender" => Sender(rescheduling::ThresholdParameters),
        |parameters| rescheduling::Threshold::new(rescheduling::Watched::Sender, parameters),
        "the oldest chunk, when half the send buffer is blocked", "Dreibholz et al. 2010";
    "receiver" => Receiver(rescheduling::ThresholdParameters),
        |parameters| rescheduling::Threshold::new(rescheduling::Watched::Receiver, parameters),
        "the oldest chunk, when half the peer's receive buffer is blocked", "Dreibholz et al. 2010";
    "both" => Both(rescheduling::ThresholdParameters),
        |parameters| rescheduling::Threshold::new(rescheduling::Watched::Both, parameters),
        "the oldest chunk, when half of either is blocked", "Dreibholz et al. 2010";
    "sar-modified" => SarModified(rescheduling::ThresholdParameters), rescheduling::SarModified::new,
        "all that its path owes below the first gap, when half of either is blocked; no pause", "Sarnow 2017 §6.2.3";
}

choices! {
    /// How many packets may leave at once.
    BurstChoice of BurstPolicy = "burst", "how many packets may leave at once?";
    "max-burst" => MaxBurst(burst::MaxBurstParameters), burst::MaxBurst::new,
        "four on each occasion", "RFC 9260 §6.1";
    "window-limiting" => WindowLimiting(burst::MaxBurstParameters), burst::WindowLimiting::new,
        "the window shrinks to what is in flight and four", "RFC 9260 §6.1; FreeBSD";
    "unlimited" => Unlimited(NoParameters), burst::Unlimited::new,
        "as many as the window lets through", "ours";
    "paced" => Paced(NoParameters), burst::Paced::new,
        "spread over the round-trip time", "RFC 9002 §7.7";
}

choices! {
    /// When a path is suspected, dead or back.
    FailoverChoice of FailoverPolicy = "failover", "when is a path suspected, dead or back?";
    "rfc9260" => Rfc9260(failover::ErrorLimits), failover::rfc9260,
        "dead after Path.Max.Retrans errors in a row", "RFC 9260 §8.2";
    "potentially-failed" => PotentiallyFailed(failover::PotentiallyFailedParameters), failover::potentially_failed,
        "suspected after the first error", "RFC 7829";
    "fast-abandonment" => FastAbandonment(failover::FastAbandonmentParameters), failover::fast_abandonment,
        "suspected when only others are acknowledged for longer than a round trip", "ours; RFC 7829";
}
