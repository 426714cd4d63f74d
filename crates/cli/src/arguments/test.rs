//! Arguments of `anabranch test`.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use anabranch::{PublicKey, Rate};
use clap::Args;

use crate::output::Output;
use crate::parse::{
    LocalAddresses, Origins, PeerAddresses, Traffic, parse_delay, parse_duration, parse_from, parse_key,
    parse_listen, parse_rate, parse_size, parse_to, parse_traffic,
};
use crate::settings::Settings;

pub(super) const EXAMPLES: &str = "\
Examples:
  anabranch test --server
          on one host; then, on the other:
  anabranch test 192.0.2.1,198.51.100.1
          send for 10 s over all paths
  anabranch test 192.0.2.1 --reverse --time 30s --omit 3s
          receive for 30 s, after 3 s that do not count
  anabranch test 192.0.2.1 --bidir --parallel 4 --streams 8
          both directions, four associations with eight streams each
  anabranch test 192.0.2.1 --traffic poisson --rate 2Mbit --length 1200 --unordered --lifetime 100ms
          unordered messages that are abandoned after 100 ms, at random times
  anabranch test 192.0.2.1 --traffic on-off:500ms,1s --rate 20Mbit
          bursts of half a second
  anabranch test 192.0.2.1 --from eth0 --json
          over one uplink, with results in the shape of iperf3's

The result is what the receiving end has received, in the time from the beginning to its last message. Delays are those of whole messages, from the moment at which the sender hands a message over until the receiver has it, so they contain the sender's queue; --rate below what the paths carry keeps it empty.
Everything is encrypted, unless --insecure is given at both ends: measure without it what `send` and `recv` can reach. The server serves one client at a time, and every host that can reach its port: restrict access with --allow, or with --listen and a firewall.
Exit codes: 0 measured, 1 failed, 2 invalid arguments, 130 interrupted (the results so far are printed).";

/// Arguments of `test`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TestArguments {
    /// Addresses of a host that runs `anabranch test --server`, default port 9899, and the public key that it must have
    #[arg(value_name = "[KEY@]HOST[:PORT],...", value_parser = parse_to, required_unless_present = "server")]
    pub(crate) to: Option<PeerAddresses>,

    /// Serve tests
    #[arg(short, long, conflicts_with = "to")]
    pub(crate) server: bool,

    /// Server: addresses to listen on, default port 9899 [default: all addresses of this host]
    #[arg(long, value_name = "IP[:PORT],...", value_parser = parse_listen, requires = "server")]
    pub(crate) listen: Option<LocalAddresses>,

    /// Server: exit after the first test
    #[arg(short = '1', long, requires = "server")]
    pub(crate) one_off: bool,

    /// Server: refuse clients with other public keys than these [default: everyone may test]
    #[arg(long, value_name = "KEY", value_parser = parse_key, requires = "server")]
    pub(crate) allow: Vec<PublicKey>,

    /// Prove who this host is by the private key in this file (see genkey)
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// Trust a server whose key is not known yet, and remember its key [default: ask, if there is a terminal]
    #[arg(long, conflicts_with = "server")]
    pub(crate) accept_new: bool,

    /// Test in the clear, as the other end must do too
    #[arg(long, conflicts_with_all = ["key", "allow", "accept_new"])]
    pub(crate) insecure: bool,

    /// Uplinks to use: local addresses or devices [default: all devices with a default route]
    #[arg(long, value_name = "IP[:PORT]|DEVICE,...", value_parser = parse_from, conflicts_with = "server")]
    pub(crate) from: Option<Origins>,

    /// The server sends, and the client receives
    #[arg(short = 'R', long, conflicts_with_all = ["bidir", "server"])]
    pub(crate) reverse: bool,

    /// Both ends send at the same time
    #[arg(long, conflicts_with = "server")]
    pub(crate) bidir: bool,

    /// Send for this long
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, conflicts_with = "server")]
    pub(crate) time: Duration,

    /// Send this many bytes in each direction, instead of for a time
    #[arg(short = 'n', long, value_name = "SIZE", value_parser = parse_size, conflicts_with_all = ["time", "server"])]
    pub(crate) bytes: Option<u64>,

    /// Do not count the first so much time, which comes on top
    #[arg(short = 'O', long, value_name = "TIME", default_value = "0s", value_parser = parse_delay, conflicts_with_all = ["bytes", "server"])]
    pub(crate) omit: Duration,

    /// Number of associations
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value = "1",
        conflicts_with = "server"
    )]
    pub(crate) parallel: NonZeroU16,

    /// Number of streams of each association
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "server")]
    pub(crate) streams: NonZeroU16,

    /// Length of a message, 16 bytes to 1 MiB
    #[arg(short, long, value_name = "SIZE", default_value = "64KiB", value_parser = parse_size, conflicts_with = "server")]
    pub(crate) length: u64,

    /// Rate of each stream [default: as fast as the paths allow]
    #[arg(short = 'b', long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "server")]
    pub(crate) rate: Option<Rate>,

    /// When messages are sent: constant, poisson, or on-off:TIME,TIME, which sends for the first time and pauses for the second
    #[arg(long, value_name = "KIND", default_value = "constant", value_parser = parse_traffic, conflicts_with = "server")]
    pub(crate) traffic: Traffic,

    /// Messages are delivered as soon as they arrive
    #[arg(short = 'U', long, conflicts_with = "server")]
    pub(crate) unordered: bool,

    /// Messages are abandoned after this long
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["retransmissions", "server"])]
    pub(crate) lifetime: Option<Duration>,

    /// Messages are abandoned after so many retransmissions
    #[arg(long, value_name = "N", conflicts_with = "server")]
    pub(crate) retransmissions: Option<u16>,

    /// Time between two reports
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, conflicts_with = "server")]
    pub(crate) interval: Duration,

    /// Give up when nothing is heard from the other end for this long
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) output: Output,
}
