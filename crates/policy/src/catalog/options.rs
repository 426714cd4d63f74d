//! Which ways of the core itself can be chosen? Named like algorithms, carried out by the core, so without a policy.

use super::choice::options;
use crate::options;
use crate::parameters::NoParameters;

options! {
    /// How the retransmission timeout is bounded.
    RtoChoice = "rto", "how long is an answer waited for?";
    "rfc9260" => Rfc9260(options::RtoParameters),
        "smoothed round-trip time and its variation, within bounds", "RFC 9260 §6.3.1";
}

options! {
    /// How the sender finds out what a SACK changed. The results are the same; the cost differs.
    SackHandlingChoice = "sack-handling", "how does the sender find out what a SACK changed?";
    "indexed" => Indexed(NoParameters),
        "from the difference to the last SACK: cost follows what changed", "ours";
    "scan" => Scan(NoParameters),
        "walks the sent queue three times", "FreeBSD, as described in Sarnow 2017 §5.1.4";
    "outstanding-array" => OutstandingArray(options::OutstandingArrayParameters),
        "walks it once, then an array of what is not acknowledged", "Sarnow 2017 §5.2";
}

options! {
    /// How fast a path sends between a loss and its repair. What is found lost makes room in the window at once.
    RecoveryChoice = "recovery", "how fast does a path send while it recovers from a loss?";
    "window" => Window(NoParameters),
        "as fast as the window lets it that the loss has left", "RFC 9260 §7.2.4";
    "prr" => Proportional(NoParameters),
        "in proportion to what arrives", "RFC 9937";
}

options! {
    /// Whether SACKs say what the receiver will never throw away.
    NrSackChoice = "nr-sack", "do SACKs say what the receiver will never throw away?";
    "off" => Off(NoParameters),
        "no: the sender keeps everything until the cumulative TSN passes it", "RFC 9260 §3.3.4";
    "on" => On(NoParameters),
        "yes, if the peer understands, of all that arrived: the sender frees it at once", "Natarajan et al. 2008";
    "delivered" => Delivered(NoParameters),
        "yes, if the peer understands, of what can be read: in its stream's order", "Natarajan et al. 2008, Dreibholz et al. 2010";
}

options! {
    /// How far above the cumulative TSN SACKs report and are read.
    SackWindowChoice = "sack-window", "how far above the cumulative TSN do SACKs report and are they read?";
    "none" => Unlimited(NoParameters),
        "as far as they reach", "RFC 9260 §6.7";
    "fixed" => Fixed(options::SackWindowParameters),
        "the receiver reports a window of TSNs only", "Sarnow 2017 §6.2.2";
    "sliding" => Sliding(options::SlidingWindowParameters),
        "the sender reads the first window always and one of the next ones in turn", "Sarnow 2017 §6.2.2";
}

options! {
    /// How many gap blocks a SACK has.
    GapLimitChoice = "gap-limit", "how many gap blocks may a SACK have?";
    "mtu" => Mtu(NoParameters),
        "as many as fit the packet, the lowest first", "RFC 9260 §6.7";
    "fixed" => Fixed(options::GapLimitParameters),
        "a fixed number at most, the lowest first", "INET model";
}

options! {
    /// Whether messages of several streams may be sent piece by piece in turn.
    InterleavingChoice = "interleaving", "may pieces of one message be sent between those of another?";
    "off" => Off(NoParameters),
        "no: a message is sent to its end before the next one begins", "RFC 9260 §6.9";
    "on" => On(NoParameters),
        "yes, if the peer understands I-DATA", "RFC 8260";
}

options! {
    /// How large packets are.
    PathMtuChoice = "pmtu", "how large may a packet be on each path?";
    "fixed" => Fixed(NoParameters),
        "as large as configured", "RFC 9260 §7.3";
    "search" => Search(options::MtuSearchParameters),
        "as large as probes show", "RFC 8899";
}

options! {
    /// Whether addresses come and go in a running association.
    AddIpChoice = "add-ip", "may addresses come and go while the association runs?";
    "off" => Off(NoParameters),
        "no", "RFC 9260";
    "on" => On(NoParameters),
        "yes, if the peer understands: authenticated ASCONF chunks", "RFC 5061, RFC 4895";
}
