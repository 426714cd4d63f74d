//! Which algorithms are there? All of them, by extension point, with names, sources and parameters.
//!
//! One list for each extension point is all it takes to register an algorithm: from it come the type that
//! recipes are made of, the construction by name, the documentation and the laws that it has to obey.

use alloc::boxed::Box;

use crate::parameters::{NoParameters, Parameter, Parameters, Refused};
use crate::unknown_name::UnknownName;
use crate::{
    AckPolicy, BufferPolicy, BurstPolicy, CongestionControl, FailoverPolicy, LossDetection, PathScheduler,
    RescuePolicy, RetransmissionPolicy, SackPath, StreamScheduler,
};
use crate::{
    ack, buffer, burst, congestion, failover, loss, path_scheduler, rescue, retransmission, sack_path,
    stream_scheduler,
};

/// One algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Algorithm {
    /// The name that users type.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
}

/// One question and all answers to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtensionPoint {
    /// The name that users type.
    pub name: &'static str,
    /// The question.
    pub question: &'static str,
    /// The answers.
    pub algorithms: &'static [Algorithm],
}

/// Which algorithm answers a question, and with which parameters.
pub trait Choice: Copy + PartialEq + core::fmt::Debug {
    /// The question.
    const POINT: ExtensionPoint;
    /// The trait object that it is made into.
    type Policy: ?Sized;

    /// The algorithm called `name`, with its parameters as they are unless set.
    ///
    /// # Errors
    ///
    /// [`UnknownName`] with the names there are.
    fn named(name: &str) -> Result<Self, UnknownName>;

    /// The name of the algorithm.
    fn name(&self) -> &'static str;

    /// Sets a parameter of the algorithm.
    ///
    /// # Errors
    ///
    /// [`Refused`] if it has no such parameter, or none with such a value.
    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), Refused>;

    /// A new policy.
    fn build(&self) -> Box<Self::Policy>;

    /// The entry in the catalog.
    #[must_use]
    fn algorithm(&self) -> &'static Algorithm {
        let mut algorithms = Self::POINT.algorithms.iter();
        algorithms
            .find(|algorithm| algorithm.name == self.name())
            .expect("invariant: names and algorithms come from one list")
    }
}

/// Makes the type of an extension point's choices out of the list of its algorithms.
///
/// A macro because a function cannot define the variants, and a list kept twice would drift apart.
macro_rules! choices {
    (
        $(#[$doc:meta])*
        $choice:ident of $trait:ident = $point:literal, $question:literal;
        $(
            $name:literal $(| $alias:literal)* => $variant:ident($parameters:ty), $constructor:expr,
            $summary:literal, $source:literal;
        )+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $choice {
            $(
                #[doc = concat!("`", $name, "`: ", $summary, " (", $source, ").")]
                $variant($parameters),
            )+
        }

        impl Choice for $choice {
            const POINT: ExtensionPoint = ExtensionPoint {
                name: $point,
                question: $question,
                algorithms: &[$(
                    Algorithm {
                        name: $name,
                        summary: $summary,
                        source: $source,
                        parameters: <$parameters>::LIST,
                    },
                )+],
            };
            type Policy = dyn $trait;

            fn named(name: &str) -> Result<Self, UnknownName> {
                match name {
                    $($name $(| $alias)* => Ok(Self::$variant(Default::default())),)+
                    _ => Err(UnknownName::new($point, name, [$($name),+])),
                }
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), Refused> {
                match self {
                    $(Self::$variant(parameters) => parameters.set(name, value),)+
                }
            }

            fn build(&self) -> Box<dyn $trait> {
                match *self {
                    $(Self::$variant(parameters) => Box::new($constructor(parameters)),)+
                }
            }
        }
    };
}

choices! {
    /// How much may be in flight on each path.
    CongestionChoice of CongestionControl = "cc", "how much may be in flight on each path?";
    "cmt" => Cmt(congestion::CmtParameters), congestion::Cmt::new,
        "the standard's rules on each path alone", "RFC 9260 §7.2, CUC of Iyengar et al. 2006";
    "cubic" => Cubic(congestion::CubicParameters), congestion::Cubic::new,
        "window as a cubic function of the time since the last loss", "RFC 9438, RFC 9406";
    "lia" => Lia(congestion::LiaParameters), congestion::Lia::new,
        "all paths together no greedier than one flow on the best path", "RFC 6356";
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
}

choices! {
    /// Whose bytes are next.
    StreamSchedulerChoice of StreamScheduler = "stream-scheduler", "whose bytes are next?";
    "fcfs" => FirstCome(NoParameters), stream_scheduler::FirstCome::new,
        "messages leave in the order of handing over", "RFC 8260 §3.1";
    "rr" => RoundRobin(NoParameters), stream_scheduler::RoundRobin::new,
        "streams take turns, one message each", "RFC 8260 §3.2";
}

choices! {
    /// Which outstanding chunks are lost.
    LossChoice of LossDetection = "loss", "which outstanding chunks are lost?";
    "miss-count" | "sfr" => MissCount(loss::MissCountParameters), loss::MissCount::new,
        "three miss indications, counted on each path alone", "RFC 9260 §7.2.4, SFR and DAC of Iyengar et al. 2006";
    "miss-count-association" => Association(NoParameters), loss::MissCountAssociation::new,
        "three miss indications, whatever path they come from", "RFC 9260 §7.2.4";
}

choices! {
    /// Where a lost chunk goes.
    RetransmissionChoice of RetransmissionPolicy = "rtx-policy", "where does a lost chunk go?";
    "same" => Same(NoParameters), retransmission::Same::new,
        "back to its path", "Iyengar et al. 2004";
    "alternate" => Alternate(NoParameters), retransmission::Alternate::new,
        "to another path after a timeout, else back to its path", "RFC 9260 §6.4.1";
    "cwnd" => Cwnd(NoParameters), retransmission::Cwnd::new,
        "to the largest window that has room", "Iyengar et al. 2004";
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
}

choices! {
    /// On which path a SACK is sent.
    SackPathChoice of SackPath = "sack-path", "on which path is a SACK sent?";
    "data-source" => DataSource(NoParameters), sack_path::DataSource::new,
        "back to where the last data came from", "RFC 9260 §6.4";
    "primary" => Primary(NoParameters), sack_path::Primary::new,
        "on the primary path", "INET model";
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
    RescueChoice of RescuePolicy = "chunk-rescheduling", "the buffer is blocked: what moves to another path?";
    "none" => Never(NoParameters), rescue::Never::new,
        "nothing", "RFC 9260";
    "sender" => Sender(rescue::ThresholdParameters),
        |parameters| rescue::Threshold::new(rescue::Watched::Sender, parameters),
        "the oldest chunk, when half the send buffer is blocked", "Dreibholz et al. 2010";
    "receiver" => Receiver(rescue::ThresholdParameters),
        |parameters| rescue::Threshold::new(rescue::Watched::Receiver, parameters),
        "the oldest chunk, when half the peer's receive buffer is blocked", "Dreibholz et al. 2010";
    "both" => Both(rescue::ThresholdParameters),
        |parameters| rescue::Threshold::new(rescue::Watched::Both, parameters),
        "the oldest chunk, when half of either is blocked", "Dreibholz et al. 2010";
}

choices! {
    /// How many packets may leave at once.
    BurstChoice of BurstPolicy = "burst", "how many packets may leave at once?";
    "max-burst" => MaxBurst(burst::MaxBurstParameters), burst::MaxBurst::new,
        "four at a moment", "RFC 9260 §6.1";
    "unlimited" => Unlimited(NoParameters), burst::Unlimited::new,
        "as many as the window lets through", "ours";
    "paced" => Paced(NoParameters), burst::Paced::new,
        "spread over the round-trip time", "RFC 9002 §7.7";
}

choices! {
    /// When a path is suspected, dead, back, primary.
    FailoverChoice of FailoverPolicy = "failover", "when is a path suspected, dead, back, primary?";
    "rfc9260" => Rfc9260(failover::Rfc9260Parameters), failover::Rfc9260::new,
        "dead after Path.Max.Retrans errors in a row", "RFC 9260 §8.2";
    "potentially-failed" => PotentiallyFailed(failover::PotentiallyFailedParameters), failover::PotentiallyFailed::new,
        "suspected after the first error", "RFC 7829";
}

/// All extension points, in the order in which a packet meets them.
pub const CATALOG: [ExtensionPoint; 11] = [
    StreamSchedulerChoice::POINT,
    PathSchedulerChoice::POINT,
    CongestionChoice::POINT,
    BurstChoice::POINT,
    BufferChoice::POINT,
    RescueChoice::POINT,
    AckChoice::POINT,
    SackPathChoice::POINT,
    LossChoice::POINT,
    RetransmissionChoice::POINT,
    FailoverChoice::POINT,
];
