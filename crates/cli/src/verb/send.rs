//! `anabranch send`: connects over all given addresses, sends a file, and waits for the receiver's confirmation.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anabranch::io::Socket;
use anabranch::{Endpoint, PublicKey};

use crate::arguments::SendArguments;
use crate::event_log::EventLog;
use crate::failure::Failure;
use crate::first_use::{FirstUse, learn};
use crate::interrupt::{Interrupt, on_thread};
use crate::keys::{self, SenderKeys};
use crate::known_peers::KnownPeers;
use crate::network;
use crate::output::{Counter, Event, Reporter, Role, observe};
use crate::parse::{Origins, PeerAddresses, is_same_host};
use crate::same_file::is_same_file;
use crate::transfer::{FileName, Sending, Source, conclude_sending, send_file};
use crate::uplinks::{self, Following, Opened};

/// Number of the only transfer.
const TRANSFER: u64 = 1;

/// Sends the file.
pub(crate) async fn run(
    arguments: SendArguments,
    reporter: &Arc<dyn Reporter>,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let name = name_of(&arguments)?;
    let mut config = arguments.settings.association_config()?;
    config.progress_timeout = Some(arguments.progress_timeout);
    let keys = sender_keys(arguments.insecure, arguments.key.as_deref(), &arguments.to)?;
    let file = arguments.file.clone();
    // Opening a pipe blocks until it has a writer.
    let source = interrupt.or(on_thread(move || open(&file))).await?;
    let remotes = interrupt.or(resolve(&arguments.to)).await?;
    let Opened { sockets, warnings } = sockets(arguments.from.as_ref(), &remotes)?;
    let key_log = keys::key_log_warning().filter(|_| !keys.is_insecure());
    for text in warnings.iter().chain(&key_log) {
        warn(text, &**reporter);
    }
    let log = arguments.log.as_deref();
    if log.is_some_and(|log| is_same_file(log, &arguments.file)) {
        let text = "--log names the file to be sent and would overwrite it; choose another file";
        return Err(Failure::usage(text));
    }
    let log = log
        .map(|file| EventLog::create(file, &name.to_string()))
        .transpose()?;
    let keys = match keys {
        SenderKeys::Unknown { .. } => {
            let work = first_use(&arguments, sockets.clone(), &remotes, &**reporter);
            keys.trusting(interrupt.or(work).await?)
        }
        known => known,
    };
    let builder = keys::send_by(network::endpoint_on(sockets, config), &keys);
    let endpoint = EventLog::of(log.as_ref(), builder)
        .connect_timeout(arguments.timeout)
        .bind()
        .await
        .map_err(Failure::work)?;
    let counter = Counter::new(TRANSFER, Role::Send, source.size(), Instant::now());
    let sending = Sending {
        name,
        source,
        patience: arguments.timeout,
    };
    let route = Route {
        endpoint: &endpoint,
        keys: &keys,
        from: arguments.from.as_ref(),
        remotes: &remotes,
    };
    let work = connect_and_send(route, sending, &counter, &**reporter);
    let result = interrupt.or(work).await;
    // After an interruption too, to inform the receiver.
    network::close(&endpoint).await;
    let logged = EventLog::finish(log);
    result.and(logged)
}

/// The keys of a sender by its arguments.
pub(super) fn sender_keys(
    insecure: bool,
    key: Option<&Path>,
    to: &PeerAddresses,
) -> Result<SenderKeys, Failure> {
    match (insecure, to.key) {
        (false, _) => SenderKeys::load(key, to),
        (true, None) => Ok(SenderKeys::Insecure),
        (true, Some(_)) => Err(Failure::usage(
            "--insecure sends in the clear, where the receiver cannot prove its key; leave out one of them",
        )),
    }
}

/// Finds out the receiver's key, and remembers it if it is trusted.
async fn first_use(
    arguments: &SendArguments,
    sockets: Vec<Arc<dyn Socket>>,
    remotes: &[SocketAddr],
    reporter: &dyn Reporter,
) -> Result<PublicKey, Failure> {
    let hosts = &arguments.to.hosts;
    let is_free = arguments.file != Path::new("-") && !arguments.output.is_json();
    let key = learn(sockets, remotes, &arguments.settings, arguments.timeout).await?;
    FirstUse::new(arguments.accept_new, is_free)
        .decide(hosts, key)
        .await?;
    let known = KnownPeers::load(&keys::folder()?)?;
    let shown = known.file().display();
    match known.remember(hosts, key) {
        Ok(()) => warn(&format!("trusted the new key {key}, now in {shown}"), reporter),
        Err(error) => warn(
            &format!("trusted the new key {key} this time; {shown}: {error}"),
            reporter,
        ),
    }
    Ok(key)
}

/// From where to where.
#[derive(Clone, Copy, Debug)]
struct Route<'a> {
    endpoint: &'a Endpoint,
    keys: &'a SenderKeys,
    from: Option<&'a Origins>,
    remotes: &'a [SocketAddr],
}

fn warn(message: &str, reporter: &dyn Reporter) {
    reporter.report(&Event::Warning {
        transfer: Some(TRANSFER),
        path: None,
        message,
    });
}

async fn connect_and_send(
    route: Route<'_>,
    sending: Sending,
    counter: &Counter,
    reporter: &dyn Reporter,
) -> Result<(), Failure> {
    let Route {
        endpoint,
        keys,
        from,
        remotes,
    } = route;
    let association = network::connect(endpoint, remotes, sending.patience, keys).await?;
    let following = Following {
        endpoint,
        association: &association,
        from,
        remotes,
    };
    let name = sending.name.to_string();
    let on_wait = |ahead| {
        reporter.report(&Event::Waiting {
            transfer: TRANSFER,
            ahead,
        });
    };
    let result = tokio::select! {
        result = send_file(&association, sending, &counter.bytes, on_wait) => result,
        never = observe(&association, counter, reporter) => match never {},
        never = following.run(|text| warn(text, reporter)) => match never {},
    };
    if let Ok(receipt) = &result {
        let summary = super::summary(&association, counter, name.clone(), receipt.size, receipt.digest);
        reporter.report(&Event::Summary(&summary));
    }
    conclude_sending(&association, &result).await;
    result
        .map(|_| ())
        .map_err(|failure| Failure::Work(format!("{name} to {}: {failure}", network::named(remotes))))
}

fn name_of(arguments: &SendArguments) -> Result<FileName, Failure> {
    let own = || {
        arguments
            .file
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned)
    };
    let name = arguments.name.clone().or_else(own);
    let name =
        name.ok_or_else(|| Failure::usage("the file name is not valid UTF-8; give a name with --name"))?;
    FileName::parse(&name)
        .map_err(|error| Failure::Usage(format!("{name:?}: {error}; give another name with --name")))
}

fn open(file: &Path) -> Result<Source, Failure> {
    match file.to_str() {
        Some("-") => Ok(Source::stdin()),
        _ => Source::file(file).map_err(Failure::usage),
    }
}

/// Resolves a name on a separate thread: the runtime would wait for a resolver that does not answer.
async fn look_up(host: String, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    on_thread(move || {
        let found = (host.as_str(), port).to_socket_addrs();
        let found = found
            .map_err(|error| Failure::Work(format!("cannot resolve {host}: {error}; check the name")))?;
        Ok(found.collect())
    })
    .await
}

/// All addresses of the receiver, each once.
pub(super) async fn resolve(addresses: &PeerAddresses) -> Result<Vec<SocketAddr>, Failure> {
    let mut remotes: Vec<SocketAddr> = Vec::new();
    for address in &addresses.hosts {
        for remote in look_up(address.host.clone(), address.port).await? {
            if !remotes.iter().any(|known| is_same_host(known, &remote)) {
                remotes.push(remote);
            }
        }
    }
    Ok(remotes)
}

fn sockets(from: Option<&Origins>, remotes: &[SocketAddr]) -> Result<Opened, Failure> {
    let mut opened = Opened::default();
    for local in uplinks::locals(from, remotes)? {
        opened.open(local, remotes)?;
    }
    Ok(opened)
}
