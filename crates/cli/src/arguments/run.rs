//! Arguments of `anabranch run`.

use std::ffi::OsString;
use std::path::PathBuf;

use anabranch::PublicKey;
use clap::Args;

use crate::parse::parse_key;
use crate::settings::Choices;

pub(super) const EXAMPLES: &str = "\
Examples:
  anabranch run -- iperf3 --server
          a server whose SCTP sockets are in user space; then, on the client:
  anabranch run -- iperf3 --sctp --client 192.0.2.1
  anabranch run --udp-port 9899 -- ncat --sctp 192.0.2.1 5000
          to a peer that expects all SCTP packets at UDP port 9899
  anabranch run --udp-port +20000 -- netperfmeter 9000
          for programs that use UDP at the port of their SCTP socket themselves; peers need the same
  anabranch run --profile cmt --set path-scheduler=round-robin -- iperf3 --sctp --client 192.0.2.1
          with other policies
  anabranch run --encrypt -- iperf3 --server
          prints the key of this host; then, on the client, which prints its own:
  anabranch run --encrypt --trust AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= -- iperf3 --sctp --client 192.0.2.1

SCTP packets are sent in UDP (without it by --raw), in the clear unless --encrypt, --key or --encryption is given. SCTP port p is UDP port p, unless --udp-port says otherwise.
A library is preloaded into programs that are linked dynamically against glibc. System calls of others (static programs, those in Go)
are answered by a second process, by seccomp user notification. docs/sockets.md lists programs that work.
Exit codes: those of PROGRAM; 2 invalid arguments, 126 PROGRAM cannot be run with these sockets, 127 PROGRAM is not found.";

/// Arguments of `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// UDP port of all peers and of sockets that are bound to a port, or what to add to SCTP ports [default: +0]
    #[arg(long, value_name = "PORT|+N", value_parser = parse_udp_port)]
    pub(crate) udp_port: Option<String>,

    /// SCTP directly over IP (protocol 132) instead of in UDP, as kernels speak it; needs the capability CAP_NET_RAW, and no SCTP in the
    /// kernel of this host
    #[arg(long, conflicts_with_all = ["udp_port", "encrypt", "key", "encryption"])]
    pub(crate) raw: bool,

    #[command(flatten)]
    pub(crate) choices: Choices,

    #[command(flatten)]
    pub(crate) encryption: EncryptionArguments,

    /// Add a line of JSON (docs/sockets.md) to this file when an association ends
    #[arg(long, value_name = "FILE")]
    pub(crate) statistics: Option<PathBuf>,

    /// At this signal, USR1 or USR2, add a line for each association that has not ended; not under seccomp
    #[arg(long, value_name = "SIGNAL", requires = "statistics", value_parser = ["USR1", "USR2"])]
    pub(crate) statistics_signal: Option<String>,

    /// What calls do where RFC 6458 leaves it open (docs/sockets.md) [default: linux]
    #[arg(long, value_name = "SYSTEM", value_parser = ["linux", "freebsd"])]
    pub(crate) dialect: Option<String>,

    /// Preload this library [default: the one that this program carries, or libanabranch_sctp.so beside it or in ../lib]
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,

    /// Answer system calls by a second process instead of preloading a library, as for static programs and those in Go
    #[arg(long)]
    pub(crate) seccomp: bool,

    /// Program to run
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: OsString,

    /// Arguments of the program
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Encryption of all sockets. Peers that do not encrypt are refused, unless they are listed.
#[derive(Args, Debug)]
pub(crate) struct EncryptionArguments {
    /// Encrypt, under the key that this user's receivers have
    #[arg(long, conflicts_with = "key")]
    pub(crate) encrypt: bool,

    /// Encrypt, and prove who this host is by the private key in this file (see genkey)
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// Trust the holder of this public key, as server and as client; repeatable. Without one, everyone is accepted and nobody connected to
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) trust: Vec<PublicKey>,

    /// Connect to these peers in the clear; repeatable
    #[arg(long, value_name = "ADDRESS[/BITS]")]
    pub(crate) clear: Vec<String>,

    /// File with lines such as `key = FILE`, `trust = KEY` and `clear = ADDRESS/BITS`
    #[arg(long, value_name = "FILE")]
    pub(crate) encryption: Option<PathBuf>,
}

fn parse_udp_port(text: &str) -> Result<String, String> {
    let number: Option<u16> = text.strip_prefix('+').unwrap_or(text).parse().ok();
    match number {
        Some(number) if number != 0 || text.starts_with('+') => Ok(text.to_owned()),
        _ => Err("expected a port, as 9899, or + and a number, as +20000".to_owned()),
    }
}
