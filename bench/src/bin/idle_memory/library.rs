//! Associations of the library, in the clear and encrypted: CPU time of their set-up and heap while they are idle, with sockets, tasks
//! and sessions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anabranch::{Association, Endpoint, EndpointBuilder, PrivateKey};
use anabranch_bench::{Arguments, Column, Stopwatch, Table, median};
use tokio::runtime::{Builder, Runtime};

use crate::freed_by_drop;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Associations of a measurement: an endpoint accepts 4,096 of a network unless told otherwise.
const ASSOCIATIONS: usize = 4_000;

/// Private keys of client and server, which know each other.
const KEYS: [[u8; 32]; 2] = [[1; 32], [2; 32]];

/// How often the server looks whether the client has finished.
const PAUSE: Duration = Duration::from_millis(1);

/// One end, whose runtime does not run any more.
struct End {
    _associations: Vec<Association>,
    _endpoint: Endpoint,
    _runtime: Runtime,
}

impl End {
    const fn new(runtime: Runtime, endpoint: Endpoint, associations: Vec<Association>) -> Self {
        Self {
            _associations: associations,
            _endpoint: endpoint,
            _runtime: runtime,
        }
    }
}

pub(crate) fn table(arguments: &Arguments) -> Result<Table, Failure> {
    let columns = [("set_ups_per_s", 0), ("client_bytes", 0), ("server_bytes", 0)];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let mut table = Table::new("associations of the library over UDP, one path", &columns);
    for (name, encrypts) in [("in the clear", false), ("encrypted", true)] {
        let runs = (0..arguments.runs).map(|_| once(encrypts));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        let median_of = |column: usize| median(&runs.iter().map(|run| run[column]).collect::<Vec<_>>());
        table.row(format!("{ASSOCIATIONS} {name}"), &[0, 1, 2].map(median_of));
    }
    Ok(table)
}

/// The figures of one row. What the endpoints themselves need is not counted.
fn once(encrypts: bool) -> Result<[f64; 3], Failure> {
    let (_, of_one) = measure(encrypts, 1)?;
    let (seconds, of_all) = measure(encrypts, ASSOCIATIONS)?;
    let each = |of: usize| (of_all[of] - of_one[of]) / (ASSOCIATIONS - 1) as f64;
    Ok([ASSOCIATIONS as f64 / seconds, each(0), each(1)])
}

/// CPU seconds for setting up `count` associations, and the bytes that each end frees.
fn measure(encrypts: bool, count: usize) -> Result<(f64, [f64; 2]), Failure> {
    let is_done = Arc::new(AtomicBool::new(false));
    let (sender, address) = mpsc::channel();
    let until = Arc::clone(&is_done);
    let server = thread::spawn(move || serve(encrypts, count, &sender, &until));
    let (client, at_client) = connect(encrypts, count, address.recv()?)?;
    is_done.store(true, Ordering::Release);
    let (server, at_server) = server.join().map_err(|_| "the server panicked")??;
    let freed = [freed_by_drop(client), freed_by_drop(server)];
    Ok((at_client + at_server, freed))
}

fn builder(encrypts: bool, listens: bool) -> EndpointBuilder {
    let builder = Endpoint::builder().local("127.0.0.1:0");
    let [client, server] = KEYS.map(PrivateKey::from);
    match (encrypts, listens) {
        (false, _) => builder.insecure(),
        (true, true) => builder.trust(client.public_key()).identity(server),
        (true, false) => builder.trust(server.public_key()).identity(client),
    }
}

fn connect(encrypts: bool, count: usize, server: SocketAddr) -> Result<(End, f64), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let watch = Stopwatch::start();
    let (endpoint, associations) = runtime.block_on(async {
        let endpoint = builder(encrypts, false).bind().await?;
        let mut associations = Vec::with_capacity(count);
        for _ in 0..count {
            associations.push(endpoint.connect(&[server][..]).await?);
        }
        Ok::<_, Failure>((endpoint, associations))
    })?;
    Ok((
        End::new(runtime, endpoint, associations),
        watch.elapsed().as_secs_f64(),
    ))
}

fn serve(
    encrypts: bool,
    count: usize,
    address: &mpsc::Sender<SocketAddr>,
    is_done: &AtomicBool,
) -> Result<(End, f64), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let watch = Stopwatch::start();
    let (endpoint, associations) = runtime.block_on(async {
        let endpoint = builder(encrypts, true).listen().bind().await?;
        address.send(endpoint.local_addrs()[0])?;
        let mut associations = Vec::with_capacity(count);
        for _ in 0..count {
            associations.push(endpoint.accept().await.ok_or("the endpoint closed")?);
        }
        // The last answers are still to be sent.
        while !is_done.load(Ordering::Acquire) {
            tokio::time::sleep(PAUSE).await;
        }
        Ok::<_, Failure>((endpoint, associations))
    })?;
    Ok((
        End::new(runtime, endpoint, associations),
        watch.elapsed().as_secs_f64(),
    ))
}
