//! Policy catalog. Which algorithms are there for each policy trait?

use super::choice::choices;
use crate::parameters::NoParameters;
use crate::{
    AckPolicy, BufferPolicy, BurstPolicy, CongestionControl, FailoverPolicy, LossDetection, PathScheduler,
    ReschedulingPolicy, RetransmissionPolicy, RttSampling, SackPath, SharedBottleneck, StreamScheduler,
    TailProbe,
};
use crate::{
    ack, buffer, burst, congestion, failover, loss, path_scheduler, rescheduling, retransmission,
    rtt_samples, sack_path, shared_bottleneck, stream_scheduler, tail_probe,
};

choices! {
    /// How much may be in flight on each path.
    CongestionChoice of CongestionControl = "cc", "how much may be in flight on each path?";
    "cmt" => Cmt(congestion::CmtParameters), congestion::Cmt::new,
        "SCTP congestion control, on each path separately", "RFC 9260 §7.2, CUC of Iyengar et al. 2006";
    "reno" => Reno(congestion::RenoParameters), congestion::Reno::new,
        "TCP congestion control, on each path separately", "RFC 5681, RFC 6928";
    "cubic" => Cubic(congestion::CubicParameters), congestion::Cubic::new,
        "cwnd is a cubic function of the time since the last loss", "RFC 9438, RFC 9406";
    "bbr" => Bbr(congestion::BbrParameters), congestion::Bbr::new,
        "cwnd and pacing rate from a model of the path, loss counts above 2 %; always paced", "draft-ietf-ccwg-bbr";
    "bbr-v1" => BbrV1(congestion::BbrV1Parameters), congestion::BbrV1::new,
        "the same in its first version, which ignores loss; always paced", "Linux' tcp_bbr, Cardwell et al. 2016";
    "loss-differentiating" => LossDifferentiating(congestion::LossDifferentiatingParameters), congestion::LossDifferentiating::new,
        "`cubic`, and `bbr` with a loss floor on paths whose losses come without a queue; always paced", "ours; Fu and Liew 2003 (TCP Veno), RFC 9438, draft-ietf-ccwg-bbr";
    "cmt-rpv1" => CmtRpV1(congestion::CoupledParameters), congestion::CmtRpV1::new,
        "resource pooling: paths share the increase of one flow by ssthresh", "Dreibholz et al. 2010 (AINA)";
    "cmt-rpv2" => CmtRpV2(congestion::CoupledParameters), congestion::CmtRpV2::new,
        "resource pooling: paths share the increase of one flow by cwnd / RTT", "Dreibholz et al. 2011";
    "lia" => Lia(congestion::CoupledParameters), congestion::Lia::new,
        "linked increases: all paths together take no more than one flow on the best path", "RFC 6356";
    "olia" => Olia(congestion::CoupledParameters), congestion::Olia::new,
        "opportunistic linked increases: shifts load to paths that deliver more between losses", "Khalili et al. 2013";
    "balia" => Balia(congestion::CoupledParameters), congestion::Balia::new,
        "balanced linked adaptation: increases and cuts depend on the rate relative to the best path", "Peng et al. 2016";
    "fixed" => Fixed(congestion::FixedParameters), congestion::Fixed::new,
        "constant cwnd, for experiments", "ours";
}

choices! {
    /// Which paths share a bottleneck.
    SharedBottleneckChoice of SharedBottleneck = "shared-bottleneck", "which paths share a bottleneck, so that their windows are coupled?";
    "none" => NoDetection(NoParameters), shared_bottleneck::NoDetection::new,
        "not known: `cc` and `cc.groups` alone decide", "RFC 6356";
    "same-queue" => SameQueue(NoParameters), shared_bottleneck::SameQueue::new,
        "those whose round-trip times rise and fall together, by the same amount", "ours; RFC 8382, Ferlin et al. 2016, Hassayoun et al. 2011";
}

choices! {
    /// Which path takes the next packet of new data.
    PathSchedulerChoice of PathScheduler = "path-scheduler", "which path takes the next packet of new data?";
    "primary" => Primary(NoParameters), path_scheduler::Primary::new,
        "the primary path; another one only if it fails", "RFC 9260 §6.4";
    "round-robin" => RoundRobin(NoParameters), path_scheduler::RoundRobin::new,
        "fills one path after the other, beginning with another one each time", "FreeBSD's CMT";
    "min-rtt" => MinRtt(NoParameters), path_scheduler::MinRtt::new,
        "the path with the lowest smoothed RTT that can take data", "MPTCP's default in Linux";
    "largest-space" => LargestSpace(NoParameters), path_scheduler::LargestSpace::new,
        "the path with the largest cwnd minus bytes in flight", "Arzani et al. 2014";
    "stream-mapped" => StreamMapped(NoParameters), path_scheduler::StreamMapped::new,
        "any path that a stream is mapped to", "Dreibholz et al. 2010 (PFLDNeT)";
    "ecf" => Ecf(path_scheduler::EcfParameters), path_scheduler::Ecf::new,
        "earliest completion first: the fastest path that can take data, or wait for a faster one that would finish sooner", "Lim et al. 2017";
    "blest" => Blest(path_scheduler::BlestParameters), path_scheduler::Blest::new,
        "blocking estimation: the fastest path that can take data, or wait for a faster one that it would block", "Ferlin et al. 2016";
    "within-window" => WithinWindow(path_scheduler::WithinWindowParameters), path_scheduler::WithinWindow::new,
        "the path that delivers first, unless the others would use up the send window meanwhile", "ours";
    "capacity" => Capacity(path_scheduler::CapacityParameters), path_scheduler::Capacity::new,
        "the fastest path below its estimated capacity, or wait if all would lose packets", "Yang 2015 §4.3";
    "in-order-arrival" => InOrderArrival(path_scheduler::InOrderArrivalParameters),
        path_scheduler::InOrderArrival::new,
        "the path on which the data arrives first, waiting included; later data may be sent before", "Yang 2015 §5";
    "redundant" => Redundant(path_scheduler::RedundantParameters), path_scheduler::Redundant::new,
        "the fastest path that can take data, with a duplicate of each chunk on all others", "ours, after the idea of MPTCP's in Linux";
}

choices! {
    /// Which stream sends next.
    StreamSchedulerChoice of StreamScheduler = "stream-scheduler", "which stream sends next?";
    "fcfs" => FirstCome(NoParameters), stream_scheduler::FirstCome::new,
        "first come, first served: messages in the order of submission", "RFC 8260 §3.1";
    "rr" => RoundRobin(NoParameters), stream_scheduler::RoundRobin::new,
        "round robin, one message per turn", "RFC 8260 §3.2";
    "rr-packet" => RoundRobinPacket(NoParameters), stream_scheduler::RoundRobinPacket::new,
        "round robin, one packet per turn", "RFC 8260 §3.3";
    "priority" => Priority(NoParameters), stream_scheduler::Priority::new,
        "highest priority first, round robin among equals", "RFC 8260 §3.4";
    "fair-bandwidth" => FairBandwidth(NoParameters), stream_scheduler::FairBandwidth::new,
        "the same number of bytes for each stream", "RFC 8260 §3.5";
    "wfq" => WeightedFair(NoParameters), stream_scheduler::WeightedFair::new,
        "weighted fair queueing: bytes in proportion to the weights of the streams", "RFC 8260 §3.6";
    "fixed-map" => FixedMap(stream_scheduler::FixedMapParameters), stream_scheduler::FixedMap::new,
        "each stream is mapped to a path by a table", "Dreibholz et al. 2010 (PFLDNeT)";
    "dynamic-map" => DynamicMap(NoParameters), stream_scheduler::DynamicMap::new,
        "each stream is mapped to a path by measured rates and demands", "our reading of Dreibholz et al. 2010 (PFLDNeT) §7";
}

choices! {
    /// Which acknowledgements are RTT samples.
    RttSamplesChoice of RttSampling = "rtt-samples", "which acknowledgements are RTT samples?";
    "any-path" => AnyPath(NoParameters), rtt_samples::AnyPath::new,
        "all of them", "RFC 9260 §6.3.1";
    "own-path" => OwnPath(rtt_samples::OwnPathParameters), rtt_samples::OwnPath::new,
        "those that arrive over the path of the chunk, or any while there are none of these", "ours, INET model";
    "slow-path-rtt" => SlowPathRtt(NoParameters), rtt_samples::SlowPathRtt::new,
        "those that arrive over the path of the chunk, overtaken ones too", "INET model";
    "is-rtt" => IsRtt(NoParameters), rtt_samples::IsRtt::new,
        "those of one probe per round trip, which carries the I bit",
        "our reading of IS-RTT, Abass 2016";
}

choices! {
    /// Which outstanding chunks are lost.
    LossChoice of LossDetection = "loss", "which outstanding chunks are lost?";
    "miss-count" | "sfr" => MissCount(loss::MissCountParameters), loss::MissCount::new,
        "three miss indications, counted on each path separately", "RFC 9260 §7.2.4, SFR and DAC of Iyengar et al. 2006";
    "miss-count-association" => Association(NoParameters), loss::MissCountAssociation::new,
        "three miss indications, whatever path they come from", "RFC 9260 §7.2.4";
    "rack" => Rack(loss::RackParameters), loss::Rack::new,
        "by time: overtaken on its path, and late by a quarter of a round trip", "RFC 8985";
    "reordering-aware" => ReorderingAware(loss::ReorderingParameters), loss::ReorderingAware::new,
        "three miss indications, or by time on paths where packets overtake one another", "RFC 8985 §6.2";
}

choices! {
    /// When a tail loss probe is sent.
    TailProbeChoice of TailProbe = "tail-probe", "when is a tail loss probe sent?";
    "none" => Never(NoParameters), tail_probe::Never::new,
        "never: only the T3-rtx timer", "RFC 9260";
    "tlp" => Tlp(tail_probe::TlpParameters), tail_probe::Tlp::new,
        "after two round trips without an acknowledgement", "RFC 8985 §7";
}

choices! {
    /// On which path a lost chunk is retransmitted.
    RetransmissionChoice of RetransmissionPolicy = "rtx-policy", "on which path is a lost chunk retransmitted?";
    "same" => Same(NoParameters), retransmission::Same::new,
        "on the same path", "Iyengar et al. 2004";
    "alternate" => Alternate(NoParameters), retransmission::Alternate::new,
        "on another path after a timeout, else on the same path", "RFC 9260 §6.4.1";
    "other" => Other(NoParameters), retransmission::Other::new,
        "on another path whenever there is one", "Yang 2015 §4.3";
    "asap" => Asap(retransmission::SeedParameters), retransmission::Asap::new,
        "on any path that can take data, at random", "Iyengar et al. 2004";
    "lossrate" => LossRate(retransmission::TieParameters), retransmission::LossRate::new,
        "on the path with the lowest loss rate that can take data", "Iyengar et al. 2004";
    "cwnd" => Cwnd(retransmission::TieParameters), retransmission::Cwnd::new,
        "on the path with the largest cwnd that can take data", "Iyengar et al. 2004";
    "ssthresh" => Ssthresh(retransmission::TieParameters), retransmission::Ssthresh::new,
        "on the path with the largest ssthresh that can take data", "Iyengar et al. 2004";
    "fastest" => Fastest(NoParameters), retransmission::Fastest::new,
        "on the path with the smallest RTT / (1 − loss rate) that can take data", "ours";
    "hybrid-metric" => HybridMetric(NoParameters), retransmission::HybridMetric::new,
        "on the path with the largest cwnd · (1 − loss rate) / RTT that can take data",
        "our reading of Rtx-HYBRIDMETRIC, Abass 2016";
}

choices! {
    /// When a SACK is sent.
    AckChoice of AckPolicy = "ack-policy", "when is a SACK sent?";
    "rfc9260" => Rfc9260(ack::DelayParameters), ack::Rfc9260::new,
        "for every second packet or after 200 ms, at once while there are gaps", "RFC 9260 §6.2";
    "immediate" => Immediate(NoParameters), ack::Immediate::new,
        "for every packet", "RFC 9260 §6.2";
    "dac" => Dac(ack::DelayParameters), ack::Dac::new,
        "for every second packet or after 200 ms, gaps or not, with the number of packets", "Iyengar et al. 2006";
    "qr-dac" => QrDac(ack::DelayParameters), ack::QrDac::new,
        "as dac, but for every packet while each path has delivered later TSNs than the missing one",
        "our reading of QR-DAC, Abass 2016";
}

choices! {
    /// On which path a SACK is sent.
    SackPathChoice of SackPath = "sack-path", "on which path is a SACK sent?";
    "data-source" => DataSource(NoParameters), sack_path::DataSource::new,
        "on the path that the last data arrived over", "RFC 9260 §6.4";
    "primary" => Primary(NoParameters), sack_path::Primary::new,
        "on the primary path", "INET model";
    "round-robin" => RoundRobin(NoParameters), sack_path::RoundRobin::new,
        "round robin over the paths that deliver data", "INET model";
    "smallest-srtt" => SmallestSrtt(NoParameters), sack_path::SmallestSrtt::new,
        "on the path with the lowest smoothed RTT that delivers data", "INET model";
}

choices! {
    /// The share of the buffers that a path may use.
    BufferChoice of BufferPolicy = "buffer-split", "how much of the shared buffers may a path hold?";
    "none" => Shared(NoParameters), buffer::Shared::new,
        "no limit", "RFC 9260";
    "sender" => Sender(buffer::SplitParameters), buffer::Split::<buffer::SplitSender>::new,
        "one n-th of the send buffer", "Dreibholz et al. 2010 (GLOBECOM)";
    "receiver" => Receiver(buffer::SplitParameters), buffer::Split::<buffer::SplitReceiver>::new,
        "one n-th of the peer's receive buffer", "Dreibholz et al. 2010 (GLOBECOM)";
    "both" => Both(buffer::SplitParameters), buffer::Split::<buffer::SplitBoth>::new,
        "one n-th of either", "Dreibholz et al. 2010 (GLOBECOM)";
}

choices! {
    /// The chunks that move to another path when a buffer is blocked.
    ReschedulingChoice of ReschedulingPolicy = "chunk-rescheduling", "a buffer is blocked: which chunks move to another path?";
    "none" => Never(NoParameters), rescheduling::Never::new,
        "none", "RFC 9260";
    "sender" => Sender(rescheduling::ThresholdParameters),
        |parameters| rescheduling::Threshold::new(rescheduling::Watched::Sender, parameters),
        "the oldest chunk, when half the send buffer is blocked", "Dreibholz et al. 2010 (GLOBECOM)";
    "receiver" => Receiver(rescheduling::ThresholdParameters),
        |parameters| rescheduling::Threshold::new(rescheduling::Watched::Receiver, parameters),
        "the oldest chunk, when half the peer's receive buffer is blocked", "Dreibholz et al. 2010 (GLOBECOM)";
    "both" => Both(rescheduling::ThresholdParameters),
        |parameters| rescheduling::Threshold::new(rescheduling::Watched::Both, parameters),
        "the oldest chunk, when half of either is blocked", "Dreibholz et al. 2010 (GLOBECOM)";
    "sar-modified" => SarModified(rescheduling::SarModifiedParameters), rescheduling::SarModified::new,
        "all chunks of its path below the first gap, when half of either is blocked; no pause", "Sarnow 2017 §6.2.3";
}

choices! {
    /// How many packets may be sent at once.
    BurstChoice of BurstPolicy = "burst", "how many packets may be sent at once?";
    "max-burst" => MaxBurst(burst::MaxBurstParameters), burst::MaxBurst::new,
        "four per transmission opportunity", "RFC 9260 §6.1";
    "window-limiting" => WindowLimiting(burst::MaxBurstParameters), burst::WindowLimiting::new,
        "cwnd is reduced to the bytes in flight plus four packets", "RFC 9260 §6.1; FreeBSD";
    "unlimited" => Unlimited(NoParameters), burst::Unlimited::new,
        "as many as the cwnd allows", "ours";
    "paced" => Paced(NoParameters), burst::Paced::new,
        "paced over the round-trip time", "RFC 9002 §7.7";
}

choices! {
    /// When a path is potentially failed, inactive or active again.
    FailoverChoice of FailoverPolicy = "failover", "when is a path potentially failed, inactive or active again?";
    "rfc9260" => Rfc9260(failover::ErrorLimits), failover::rfc9260,
        "inactive after more than Path.Max.Retrans errors in a row", "RFC 9260 §8.2";
    "potentially-failed" => PotentiallyFailed(failover::PotentiallyFailedParameters), failover::potentially_failed,
        "potentially failed after the first error", "RFC 7829";
    "fast-failover" => FastFailover(failover::FastFailoverParameters), failover::fast_failover,
        "potentially failed when only other paths are acknowledged for longer than a round trip", "ours; RFC 7829";
}
