//! Interoperability with Linux' MPTCP: ten megabytes each way over two subflows with 1 % loss. Needs root for a network
//! namespace, and a kernel with MPTCP.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use anabranch_interop::{Kernel, MultipathRole, TcpHost};
use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_tcp::{ConnectionId, Event, MptcpConfig, TcpConfig};
use anabranch_types::{Rate, Seed};
use socket2::{Domain, Protocol, Socket, Type};

use crate::ends::{App, PORT, TIMEOUT, in_here, judge, kernel_talks, policies};

/// `IPPROTO_MPTCP`.
const MULTIPATH: i32 = 262;

fn lossy() -> LinkConfig {
    LinkConfig::new(Rate::mbit(50), Duration::from_millis(5)).loss(Loss::Bernoulli(Probability::of(0.01)))
}

/// Configuration of a host whose second address is at the second device.
fn config(kernel: &Kernel, checksum: bool) -> TcpConfig {
    TcpConfig {
        policies: policies(),
        mptcp: Some(MptcpConfig {
            local: vec![IpAddr::V4(kernel.devices[1].ours)],
            checksum,
            ..MptcpConfig::default()
        }),
        ..TcpConfig::default()
    }
}

/// An MPTCP socket of the kernel.
fn socket() -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::from(MULTIPATH)))
}

/// Runs until both have received everything, then checks the data and that both subflows carried some.
fn talk(
    host: &mut TcpHost,
    theirs: &Receiver<()>,
    kernel_side: thread::JoinHandle<io::Result<Vec<u8>>>,
) -> io::Result<()> {
    let mut app = App::new();
    let mut id: Option<ConnectionId> = None;
    let mut carried = Vec::new();
    let finished = host.talk(TIMEOUT, |host| {
        let opened = |(id, event): &(ConnectionId, Event)| (*event == Event::Connected).then_some(*id);
        id = id.or_else(|| host.events.iter().find_map(opened));
        if let Some(id) = id {
            host.endpoint.with(id, |connection| app.act(connection));
            if let Some(connection) = host.endpoint.connection(id) {
                let flows = connection.paths().map(|path| path.counters);
                carried = flows
                    .map(|counters| (counters.bytes_sent, counters.bytes_received))
                    .collect();
            }
        }
        app.done && theirs.try_recv().is_ok()
    })?;
    println!("bytes sent and received by flow: {carried:?}; {:?}", host.events);
    assert!(finished, "{:?}", host.events);
    judge(&app, &kernel_side.join().expect("no panic")?);
    assert_eq!(carried.len(), 2, "two flows");
    for (sent, received) in carried {
        assert!(
            sent > 500_000 && received > 500_000,
            "both flows carry data, both ways"
        );
    }
    Ok(())
}

/// A kernel with two devices; `None` if not available.
fn kernel(role: MultipathRole) -> io::Result<Option<Kernel>> {
    match Kernel::isolated(2)? {
        Some(kernel) => kernel.with_multipath(role),
        None => Ok(None),
    }
}

#[test]
fn kernel_connects_and_both_send_over_two_subflows() -> io::Result<()> {
    let Some(kernel) = kernel(MultipathRole::InitiatesSubflows)? else {
        return Ok(());
    };
    let mut host = TcpHost::new(&kernel.devices, &lossy(), Seed(1))?;
    host.endpoint.listen(PORT, config(&kernel, false));
    let ours = SocketAddr::from((kernel.devices[0].ours, PORT));
    let (theirs, kernel_side) = in_here(move || {
        let socket = socket()?;
        socket.connect(&ours.into())?;
        kernel_talks(socket.into())
    });
    talk(&mut host, &theirs, kernel_side)
}

#[test]
fn we_connect_and_both_send_over_two_subflows_with_checksums() -> io::Result<()> {
    let Some(kernel) = kernel(MultipathRole::AnnouncesAddresses)? else {
        return Ok(());
    };
    let mut host = TcpHost::new(&kernel.devices, &lossy(), Seed(2))?;
    let socket = socket()?;
    socket.bind(&SocketAddr::from(([0, 0, 0, 0], PORT)).into())?;
    socket.listen(1)?;
    let listener = TcpListener::from(socket);
    let (theirs, kernel_side) = in_here(move || kernel_talks(listener.accept()?.0));
    let ours = SocketAddr::from((kernel.devices[0].ours, 0));
    let remote = SocketAddr::from((kernel.devices[0].theirs, PORT));
    let connected = host.endpoint.connect(ours, remote, config(&kernel, true));
    connected.expect("both ends are of one IP version");
    talk(&mut host, &theirs, kernel_side)
}
