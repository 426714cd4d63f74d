//! Command-line arguments of the transfer of files: `send` and `recv`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anabranch::{PublicKey, Rate};
use clap::Args;

use super::DashboardArguments;
use crate::certificates::Authorities;
use crate::output::Output;
use crate::parse::{
    LocalAddresses, Origins, PeerAddresses, parse_duration, parse_from, parse_key, parse_listen, parse_rate,
    parse_size, parse_to,
};
use crate::settings::Settings;
use crate::transfer::Word;

pub(super) const SEND_EXAMPLES: &str = "\
Examples:
  anabranch send big.iso --to 192.0.2.1
          to one address; the receiver announces its other addresses
  anabranch send big.iso --to 192.0.2.1,198.51.100.1
          to both addresses of a server at once
  anabranch send big.iso --to server.example:9900 --from 192.168.1.5,10.0.0.7
          over both uplinks of this host
  anabranch send photos notes.txt --to 192.0.2.1 --retry 1h
          a folder and a file, over outages of up to an hour
  pg_dump app | anabranch send - --name app.sql --to 192.0.2.1
          from a pipe
  anabranch send photos --to 192.0.2.1 --dry-run
          print what would be sent
  anabranch send big.iso --to AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=@192.0.2.1
          to the holder of this key, as the receiver prints it
  anabranch send big.iso --to 192.0.2.1 --word k7fq-2dmx
          to a receiver that was started with --word and printed this one
  anabranch send big.iso --to server.example --ca system
          to a receiver with a certificate, as web servers have one
  anabranch send big.iso --to 192.0.2.1 --insecure
          in the clear, where the path itself is trusted

Everything is encrypted. The first time, the program asks whether the receiver's key is right; it remembers the key in known_peers in ~/.config/anabranch, and then accepts no other.
Folders are sent with everything in them: permissions, times, symbolic links as links, holes of sparse files as holes. Not sent: owners, hard links as such, devices, sockets and pipes.
The same command after an interruption goes on where it was, if the receiver stores in the same folder; every file is verified as a whole.
Exit code 0 means that the receiver has confirmed that every file is on its disk and verified by its SHA-256. Files that it has from an earlier attempt are recognised by size and time.
Exit codes: 0 stored, 1 not stored or not confirmed, 2 invalid arguments, 130 interrupted.";

pub(super) const RECV_EXAMPLES: &str = "\
Examples:
  anabranch recv downloads
          receive files at all addresses of this host, port 9899, until Ctrl-C
  anabranch recv --once --listen 192.0.2.1,198.51.100.1 .
          receive one transfer over these two addresses
  anabranch recv --key server.key --allow AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= downloads
          under this key, from the holder of that key only
  anabranch recv --word downloads
          from those who are told the word that it prints
  anabranch recv --certificate fullchain.pem --key privkey.pem downloads
          with a certificate for the name of this host
  anabranch recv - > big.iso
          receive one file and write it to standard output; exit code 0 means that it is complete and verified
  anabranch recv --json --max-size 1GB downloads
          with output for programs
  anabranch recv --max-transfers 4 --idle-timeout 10s downloads
          four transfers at once; further senders wait, and take the slots of transfers without progress

Everything gets its name only when it is complete, on the disk and matches the sender's SHA-256. Existing files are not overwritten and existing folders not added to without --force: their senders are refused.
What an interrupted transfer has left is in a hidden folder, .anabranch-*.part; its sender goes on there.
Permissions are those at the sender, as far as the umask lets them. Symbolic links are made if they stay within what is sent.
Every host that can reach the port can send files: restrict access with --allow or --word, or with --listen and a firewall. A word is for a short time: it ends the program when 10 senders did not know it.
Everything is encrypted, under a key that is kept as receiver.key in ~/.config/anabranch; the line that `recv` prints tells senders this key.
Exit codes: 0 stored (--once), 1 failed, 2 invalid arguments, 130 interrupted.";

/// Arguments of `recv`.
#[derive(Args, Debug)]
pub(crate) struct RecvArguments {
    /// Existing folder to store files and folders in, or - to write one file to standard output
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Addresses to listen on, default port 9899 [default: all addresses of this host]
    #[arg(long, value_name = "IP[:PORT],...", value_parser = parse_listen)]
    pub(crate) listen: Option<LocalAddresses>,

    /// Prove who this host is by the private key in this file (see genkey) [default: a key that is made once and kept]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// Prove this host's name by the certificates in this file (PEM), its own first; --key is then the file with the private key (PEM)
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "allow")]
    pub(crate) certificate: Option<PathBuf>,

    /// Refuse senders with other public keys than these [default: everyone may send]
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) allow: Vec<PublicKey>,

    /// Refuse senders that do not know this word, and prove to senders that this host knows it [default word: a new one]
    #[arg(long, value_name = "WORD", num_args = 0..=1, require_equals = true, conflicts_with = "allow")]
    pub(crate) word: Option<Option<Word>>,

    /// Receive in the clear, from senders that do so too: others can read and change what arrives
    #[arg(long, conflicts_with_all = ["key", "certificate", "allow", "word"])]
    pub(crate) insecure: bool,

    /// Exit after the first transfer
    #[arg(long)]
    pub(crate) once: bool,

    /// Overwrite existing files, and add to existing folders
    #[arg(long)]
    pub(crate) force: bool,

    /// Make symbolic links that lead out of what is sent, too
    #[arg(long)]
    pub(crate) all_links: bool,

    /// Remove what an interrupted transfer has left after this long
    #[arg(long, value_name = "TIME", default_value = "168h", value_parser = parse_duration)]
    pub(crate) keep_partial: Duration,

    /// Reject larger transfers
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,

    /// Abort a transfer when no packet arrives from the sender for this long
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,

    /// Receive this many transfers at once; further senders wait
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) max_transfers: NonZeroUsize,

    /// Receive this many transfers at once from one IPv4 address or IPv6 network of 64 bits
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) max_per_source: NonZeroUsize,

    /// End a transfer that makes no progress for this long while other senders wait
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub(crate) idle_timeout: Duration,

    #[command(flatten)]
    pub(crate) dashboard: DashboardArguments,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) output: Output,
}

impl RecvArguments {
    /// Whether the file goes to standard output.
    pub(crate) fn is_to_output(&self) -> bool {
        self.folder.as_os_str() == "-"
    }
}

/// Arguments of `send`.
#[derive(Args, Debug)]
pub(crate) struct SendArguments {
    /// Files and folders to send, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Addresses of the receiver, default port 9899, and the public key that it must have [default: the key it had before]
    #[arg(long, value_name = "[KEY@]HOST[:PORT],...", value_parser = parse_to)]
    pub(crate) to: PeerAddresses,

    /// Prove who this host is by the private key in this file (see genkey) [default: a new key each time]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// Trust a receiver whose key is not known yet, and remember its key [default: ask, if there is a terminal]
    #[arg(long)]
    pub(crate) accept_new: bool,

    /// Trust a receiver that proves the first name in --to by a certificate of these authorities: of this host, or of a file (PEM)
    #[arg(long, value_name = "system|FILE", conflicts_with_all = ["key", "accept_new"])]
    pub(crate) ca: Option<Authorities>,

    /// Trust a receiver that proves that it knows this word, and prove the same to it
    #[arg(long, value_name = "WORD", conflicts_with = "accept_new")]
    pub(crate) word: Option<Word>,

    /// Send in the clear, to a receiver that receives so: others can read and change what is sent
    #[arg(long, conflicts_with_all = ["key", "accept_new", "ca", "word"])]
    pub(crate) insecure: bool,

    /// Uplinks to send from: local addresses or devices [default: all devices with a default route]
    #[arg(long, value_name = "IP[:PORT]|DEVICE,...", value_parser = parse_from)]
    pub(crate) from: Option<Origins>,

    /// Name at the receiver, of the only file or folder [default: its name]
    #[arg(long, required_if_eq("paths", "-"))]
    pub(crate) name: Option<String>,

    /// Print what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Send the files at this rate at most
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) limit_rate: Option<Rate>,

    /// If the receiver is lost or not there, try again until nothing more has arrived for this long
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) retry: Option<Duration>,

    /// Abort when no packet arrives from the receiver for this long
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,

    /// Abort when packets arrive from the receiver but it acknowledges no data for this long
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse_duration)]
    pub(crate) progress_timeout: Duration,

    /// Write an event log (docs/event-log.md) to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) dashboard: DashboardArguments,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) output: Output,
}
