//! Interoperability with Linux' TCP: ten megabytes each way with 1 % loss. Needs root for a network namespace.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anabranch_interop::{Kernel, TcpHost};
use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkConfig, Probability};
use anabranch_tcp::{Connection, Event, TcpConfig};
use anabranch_types::{Rate, Seed};

use crate::ends::{App, PORT, TIMEOUT, in_here, judge, kernel_talks, policies};

fn lossy() -> LinkConfig {
    LinkConfig::new(Rate::mbit(100), Duration::from_millis(5)).loss(Loss::Bernoulli(Probability::of(0.01)))
}

fn config() -> TcpConfig {
    TcpConfig {
        policies: policies(),
        ..TcpConfig::default()
    }
}

#[test]
fn kernel_connects_and_both_send() -> io::Result<()> {
    let Some(kernel) = Kernel::isolated(1)? else {
        return Ok(());
    };
    let mut host = TcpHost::new(&kernel.devices, &lossy(), Seed(1))?;
    host.endpoint.listen(PORT, config());
    let ours = SocketAddr::from((kernel.devices[0].ours, PORT));
    let (theirs, kernel_side) = in_here(move || TcpStream::connect(ours).and_then(kernel_talks));
    let mut app = App::new();
    let finished = host.talk(TIMEOUT, |host| {
        if let Some((id, _)) = host.events.first() {
            host.endpoint.with(*id, |connection| app.act(connection));
        }
        app.done && theirs.try_recv().is_ok()
    })?;
    assert!(finished, "{:?}", host.events);
    judge(&app, &kernel_side.join().expect("no panic")?);
    Ok(())
}

#[test]
fn we_connect_to_kernel_and_both_send() -> io::Result<()> {
    let Some(kernel) = Kernel::isolated(1)? else {
        return Ok(());
    };
    let mut host = TcpHost::new(&kernel.devices, &lossy(), Seed(2))?;
    let listener = TcpListener::bind((kernel.devices[0].theirs, PORT))?;
    let (theirs, kernel_side) = in_here(move || kernel_talks(listener.accept()?.0));
    let ours = SocketAddr::from((kernel.devices[0].ours, 0));
    let remote = SocketAddr::from((kernel.devices[0].theirs, PORT));
    let id = host.endpoint.connect(ours, remote, config()).unwrap();
    let mut app = App::new();
    let finished = host.talk(TIMEOUT, |host| {
        if host.events.contains(&(id, Event::Connected)) {
            host.endpoint.with(id, |connection| app.act(connection));
        }
        app.done && theirs.try_recv().is_ok()
    })?;
    assert!(finished, "{:?}", host.events);
    let statistics = host.endpoint.connection(id).map(Connection::statistics);
    println!("{statistics:?}");
    judge(&app, &kernel_side.join().expect("no panic")?);
    Ok(())
}
