//! WebRTC data channels with pion and aiortc, over UDP and over DTLS: both ends open channels, send, echo, close, and open them again.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anabranch::dtls::{Certificate, DtlsSocket};
use anabranch::{
    ChannelOptions, ChannelReliability, CloseCause, DataChannel, DataChannels, Endpoint, Payload, Role,
    StreamId, priority, udp_socket,
};
use anabranch_interop::tools::{TSHARK, free_udp_port};
use anabranch_interop::{Peer, Recording, Report, Stack, TsharkReport};
use anabranch_wire::chunk::kind;

/// Timeout, ample for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Channels that each end opens, one after the other.
const ROUNDS: u32 = 6;

/// Messages on each of these channels.
const MESSAGES: u32 = 4;

/// The name of the channel that the peer opens when it has closed all others.
const DONE: &str = "done";

#[test]
fn channels_with_pion_as_server() -> io::Result<()> {
    talk(Stack::Pion, Role::Client, Below::Udp)
}

#[test]
fn channels_with_pion_as_client() -> io::Result<()> {
    talk(Stack::Pion, Role::Server, Below::Udp)
}

#[test]
fn channels_with_aiortc_as_server() -> io::Result<()> {
    talk(Stack::Aiortc, Role::Client, Below::Udp)
}

#[test]
fn channels_with_aiortc_as_client() -> io::Result<()> {
    talk(Stack::Aiortc, Role::Server, Below::Udp)
}

#[test]
fn channels_over_dtls_with_pion_as_server() -> io::Result<()> {
    talk(Stack::Pion, Role::Client, Below::Dtls)
}

#[test]
fn channels_over_dtls_with_pion_as_client() -> io::Result<()> {
    talk(Stack::Pion, Role::Server, Below::Dtls)
}

#[test]
fn channels_over_dtls_with_aiortc_as_server() -> io::Result<()> {
    talk(Stack::Aiortc, Role::Client, Below::Dtls)
}

#[test]
fn channels_over_dtls_with_aiortc_as_client() -> io::Result<()> {
    talk(Stack::Aiortc, Role::Server, Below::Dtls)
}

/// The layer below SCTP.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    Udp,
    Dtls,
}

/// Runs both ends; the client sets up the association.
fn talk(stack: Stack, role: Role, below: Below) -> io::Result<()> {
    let Some(program) = stack.program(Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let recording = Recording::new();
    let (report, port) = runtime.block_on(call(program, role, below, &recording))?;
    agrees(&report);
    judge(&recording, port, stack);
    Ok(())
}

/// Returns the peer's report and our port.
async fn call(
    mut program: Command,
    role: Role,
    below: Below,
    recording: &Recording,
) -> io::Result<(Report, u16)> {
    let socket = udp_socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let ours = socket.local_addr().port();
    let peer_address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_udp_port()));
    program.args(["--own-udp", &peer_address.port().to_string()]);
    program.args(["--peer-udp", &ours.to_string(), "--peer", "127.0.0.1"]);
    program.args(["--channels", &ROUNDS.to_string()]);
    if role == Role::Server {
        program.args(["--connect", "--client"]);
    }
    let certificate = Certificate::generate().expect("randomness");
    if below == Below::Dtls {
        program.args(["--dtls", &certificate.fingerprint().to_string()]);
    }
    let mut peer = Peer::start(&mut program)?;
    let builder = match below {
        Below::Udp => {
            if role == Role::Client {
                peer.wait_until_listening()?;
            }
            Endpoint::builder().insecure().webrtc().socket(socket)
        }
        Below::Dtls => {
            let fingerprint = peer.wait_until_listening()?.expect("it uses DTLS");
            let fingerprint = fingerprint.parse().expect("of SHA-256");
            let session = DtlsSocket::handshake(socket, peer_address, role, &certificate, fingerprint);
            Endpoint::builder().dtls(session.await.expect("the announced peer"))
        }
    };
    let endpoint = builder.observe(recording.clone()).listen().bind().await;
    let endpoint = endpoint.expect("a socket");
    let association = match role {
        Role::Client => endpoint.connect(peer_address).await.expect("an answer"),
        Role::Server => endpoint.accept().await.expect("the peer connects"),
    };
    let channels = DataChannels::new(association, role);
    tokio::time::timeout(TIMEOUT, converse(&channels, role)).await?;
    let finished = channels.association().shutdown().await;
    finished.expect("the peer is there");
    let report = tokio::time::timeout(TIMEOUT, async {
        loop {
            if let Some(report) = peer.report().expect("a report") {
                break report.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    Ok((report.await?, ours))
}

fn agrees(report: &Report) {
    assert_eq!(report.error, "", "{report:?}");
    assert_eq!(report.ended, "finished", "{report:?}");
    assert!(report.connected, "{report:?}");
    let messages = ROUNDS * MESSAGES;
    assert_eq!((report.sent, report.received), (messages, messages), "{report:?}");
}

/// pion's DATA_CHANNEL_ACK has four bytes instead of one (RFC 8832 §5.2), to which tshark objects.
fn judge(recording: &Recording, port: u16, stack: Stack) {
    assert!(recording.received().contains(&kind::RE_CONFIG));
    assert!(
        recording.undissected().is_empty(),
        "{:#?}",
        recording.undissected()
    );
    if let Some(tshark) = TSHARK.find() {
        let report = recording.judge(|file| TsharkReport::of(&tshark, file, port));
        let mut report = report.expect("tshark reads it");
        let is_ours = |line: &str| line.starts_with(&format!("{port}\t"));
        let is_known = |line: &str| line.ends_with("Message too long") && !is_ours(line);
        report
            .malformed
            .retain(|line| stack != Stack::Pion || !is_known(line));
        assert!(report.is_clean() && report.good_checksums > 0, "{report:#?}");
    }
}

/// Opens our channels, and serves those of the peer until it says that it is done.
async fn converse(channels: &DataChannels, role: Role) {
    let serve = async {
        let mut count = 0;
        loop {
            let channel = channels.accept().await.expect("the association lives");
            if channel.label() == DONE {
                assert_eq!(count, ROUNDS);
                return;
            }
            check(&channel, count, role);
            echo(&channel).await;
            count += 1;
        }
    };
    let open = async {
        for number in 0..ROUNDS {
            round(channels, number, role).await;
        }
    };
    tokio::join!(serve, open);
}

/// The properties of channel `number`.
fn options(number: u32) -> ChannelOptions {
    let options = ChannelOptions::new(format!("round {number}")).protocol("echo");
    match number % 3 {
        0 => options,
        1 => options
            .unordered()
            .reliability(ChannelReliability::Retransmissions(3)),
        _ => options.reliability(ChannelReliability::Lifetime(5_000)),
    }
}

/// Checks a channel of the peer. aiortc has no priorities.
fn check(channel: &DataChannel, number: u32, role: Role) {
    let priority = channel.options().priority;
    assert!([0, priority::HIGH].contains(&priority), "{priority}");
    assert_eq!(channel.options(), &options(number).priority(priority));
    let first = u16::from(role == Role::Client);
    assert_eq!(channel.stream(), StreamId(first), "the stream is used again");
}

/// Echoes what the peer sends, until it closes the channel or asks us to.
async fn echo(channel: &DataChannel) {
    while let Some(message) = channel.recv().await {
        if message == "close".into() {
            channel.close();
            assert_eq!(channel.closed().await, CloseCause::Local);
            return;
        }
        channel.send(message).await.expect("an open channel");
    }
    assert_eq!(channel.closed().await, CloseCause::Peer);
}

/// Opens a channel, sends, waits for the echo and closes, in every second round by the peer.
async fn round(channels: &DataChannels, number: u32, role: Role) {
    let channel = channels
        .open(options(number).priority(priority::HIGH))
        .expect("a free stream");
    let first = u16::from(role == Role::Server);
    assert_eq!(channel.stream(), StreamId(first), "the stream is used again");
    let mut expected: Vec<Payload> = vec![
        format!("text {number}").into(),
        bytes::Bytes::from_static(&[1, 0, 255]).into(),
        "".into(),
        bytes::Bytes::new().into(),
    ];
    // The first ones are sent before the channel is acknowledged.
    for message in expected.clone() {
        channel.send(message).await.expect("an open channel");
    }
    while !expected.is_empty() {
        let message = channel.recv().await.expect("an echo");
        let at = expected.iter().position(|sent| *sent == message);
        expected.remove(at.expect("what was sent"));
    }
    if number.is_multiple_of(2) {
        channel.close();
        assert_eq!(channel.closed().await, CloseCause::Local);
    } else {
        channel.send_text("close").await.expect("an open channel");
        assert_eq!(channel.recv().await, None);
        assert_eq!(channel.closed().await, CloseCause::Peer);
    }
}
