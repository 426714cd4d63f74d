//! Core options. Which mechanisms of the core can be chosen by name, though they are no policies?

use super::choice::options;
use crate::options;
use crate::parameters::NoParameters;

options! {
    /// How the retransmission timeout is bounded.
    RtoChoice = "rto", "when does a retransmission timer expire?";
    "rfc9260" => Rfc9260(options::RtoParameters),
        "smoothed round-trip time and its variation, within bounds", "RFC 9260 §6.3.1";
}

options! {
    /// How the sender finds what a SACK acknowledges. The results are the same; the cost differs.
    SackHandlingChoice = "sack-handling", "how does the sender find what a SACK acknowledges?";
    "indexed" => Indexed(NoParameters),
        "by the difference to the last SACK: the cost depends on what changed", "ours";
    "scan" => Scan(NoParameters),
        "walks the sent queue three times for each SACK", "FreeBSD, as described in Sarnow 2017 §5.1.4";
    "outstanding-array" => OutstandingArray(options::OutstandingArrayParameters),
        "walks it once, then an array of the outstanding chunks", "Sarnow 2017 §5.2";
}

options! {
    /// How fast a path sends in fast recovery. Chunks declared lost leave the bytes in flight at once.
    RecoveryChoice = "recovery", "how fast does a path send in fast recovery?";
    "window" => Window(NoParameters),
        "as fast as the reduced cwnd allows", "RFC 9260 §7.2.4";
    "prr" => Proportional(NoParameters),
        "proportional rate reduction: in proportion to the data delivered", "RFC 9937";
}

options! {
    /// Whether SACKs report which data the receiver will not renege on.
    NrSackChoice = "nr-sack", "do SACKs report which data the receiver will not renege on?";
    "off" => Off(NoParameters),
        "no: the sender keeps all data until it is acknowledged cumulatively", "RFC 9260 §3.3.4";
    "on" => On(NoParameters),
        "yes, if the peer supports it, for all data received: the sender frees it at once", "Natarajan et al. 2008";
    "delivered" => Delivered(NoParameters),
        "yes, if the peer supports it, for data that can be delivered in the order of its stream", "Natarajan et al. 2008, Dreibholz et al. 2010 (PFLDNeT)";
}

options! {
    /// How far above the cumulative TSN SACKs report and are processed.
    SackWindowChoice = "sack-window", "how far above the cumulative TSN are SACKs written and processed?";
    "none" => Unlimited(NoParameters),
        "without limit", "RFC 9260 §6.7";
    "fixed" => Fixed(options::SackWindowParameters),
        "the receiver reports TSNs within a window only", "Sarnow 2017 §6.2.2";
    "sliding" => Sliding(options::SlidingWindowParameters),
        "the sender processes the first window always and one of the next ones in turn", "Sarnow 2017 §6.2.2";
}

options! {
    /// Which gap ack blocks a SACK has if there are many.
    GapLimitChoice = "gap-limit", "which gap ack blocks does a SACK have if there are many?";
    "mtu" => Mtu(NoParameters),
        "as many as fit into the packet, lowest first", "RFC 9260 §6.7";
    "recent" => Recent(NoParameters),
        "as many as fit, those of the TSNs that arrived last and the lowest, if the peer supports it", "ours; RFC 2018 §4";
    "fixed" => Fixed(options::GapLimitParameters),
        "at most a fixed number, lowest first", "INET model";
}

options! {
    /// Whether messages of several streams may be interleaved (I-DATA).
    InterleavingChoice = "interleaving", "may fragments of different messages be interleaved?";
    "off" => Off(NoParameters),
        "no: a message is sent completely before the next one begins", "RFC 9260 §6.9";
    "on" => On(NoParameters),
        "yes, if the peer supports I-DATA", "RFC 8260";
}

options! {
    /// How the path MTU is determined.
    PathMtuChoice = "pmtu", "how large may a packet be on each path?";
    "fixed" => Fixed(NoParameters),
        "the configured size", "RFC 9260 §7.3";
    "search" => Search(options::MtuSearchParameters),
        "path MTU discovery by probe packets (DPLPMTUD)", "RFC 8899";
}

options! {
    /// How a chunk is sent that is larger than a reduced path MTU.
    OversizeChoice = "oversize", "how is a chunk sent that is larger than a reduced path MTU?";
    "ip-fragmentation" => IpFragmentation(NoParameters),
        "in a packet that IP may fragment, or on a path that takes it whole", "RFC 9260 §6.9";
    "split" => Split(NoParameters),
        "in several chunks, if the peer supports it", "ours";
}

options! {
    /// How often a failed path is probed while data waits.
    ProbingChoice = "probing", "how often is a path that does not respond probed while data waits?";
    "heartbeat" => Heartbeat(NoParameters),
        "as often as when nothing waits: after HB.interval and a backed-off RTO", "RFC 9260 §8.3, RFC 7829 §3.2";
    "frequent" => Frequent(options::ProbingParameters),
        "at least once per interval, by heartbeats whose loss counts as no error", "ours";
}

options! {
    /// Whether routers may mark packets instead of dropping them (ECN).
    EcnChoice = "ecn", "may routers mark packets instead of dropping them?";
    "off" => Off(NoParameters),
        "no: congestion shows by losses", "RFC 9260 §7.2";
    "on" => On(NoParameters),
        "yes, if the peer supports it: marks reduce the cwnd of their path like losses", "RFC 4960 Appendix A, draft-stewart-tsvwg-sctpecn";
}

options! {
    /// Whether addresses may be added and removed in a running association.
    AddIpChoice = "add-ip", "may addresses be added and removed while the association runs?";
    "off" => Off(NoParameters),
        "no", "RFC 9260";
    "on" => On(NoParameters),
        "yes, if the peer supports it: authenticated ASCONF chunks", "RFC 5061, RFC 4895";
}
