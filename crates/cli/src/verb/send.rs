//! `anabranch send`: connects over all given addresses, sends files and folders, and waits for the receiver's confirmation.

use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anabranch::io::Socket;
use anabranch::{Association, Endpoint, PeerInfo, PublicKey};
use tokio::time::sleep;

use crate::arguments::SendArguments;
use crate::certificates;
use crate::event_log::EventLog;
use crate::failure::Failure;
use crate::first_use::{self, Meeting};
use crate::interrupt::{Interrupt, on_thread};
use crate::keys::{self, SenderKeys};
use crate::network;
use crate::output::{Counter, Event, Reporter, Role, observe};
use crate::parse::{Origins, PeerAddress, PeerAddresses, is_same_host, no_device};
use crate::same_file::is_same_file;
use crate::transfer::{Note, Pace, Plan, Planned, Sending, conclude_sending, send};
use crate::uplinks::{self, Following, Opened};

/// Number of the only transfer.
const TRANSFER: u64 = 1;

/// Pause before the second attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Sends everything.
pub(crate) async fn run(
    arguments: SendArguments,
    reporter: &Arc<dyn Reporter>,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let plan = interrupt.or(plan(&arguments)).await?;
    for text in &plan.notes {
        warn(text, &**reporter);
    }
    if arguments.dry_run {
        report_plan(&plan, &**reporter);
        return Ok(());
    }
    let mut config = arguments.settings.association_config()?;
    config.progress_timeout = Some(arguments.progress_timeout);
    let keys = keys(&arguments)?;
    let remotes = interrupt.or(resolve(&arguments.to)).await?;
    let Opened { sockets, warnings } = sockets(arguments.from.as_ref(), &remotes)?;
    for text in warnings.iter().chain(&keys.key_log_warning()) {
        warn(text, &**reporter);
    }
    let log = arguments.log.as_deref();
    if log.is_some_and(|log| plan.paths().any(|path| is_same_file(log, path))) {
        let text = "--log names the file to be sent and would overwrite it; choose another file";
        return Err(Failure::usage(text));
    }
    let log = log.map(|file| EventLog::create(file, &plan.title)).transpose()?;
    let keys = match keys {
        // With a word, the receiver proves itself within the transfer.
        SenderKeys::Unknown { .. } if arguments.word.is_none() => {
            let trusted = meet(&arguments, sockets.clone(), &remotes, &**reporter);
            keys.trusting(interrupt.or(trusted).await?)
        }
        known_or_proven => known_or_proven,
    };
    let builder = keys::send_by(network::endpoint_on(sockets, config), &keys);
    let endpoint = EventLog::of(log.as_ref(), builder)
        .connect_timeout(arguments.timeout)
        .bind()
        .await
        .map_err(Failure::work)?;
    let sending = Sending {
        plan: Arc::new(plan),
        patience: arguments.timeout,
        pace: Pace::new(arguments.limit_rate),
        word: arguments.word.clone(),
    };
    let route = Route {
        endpoint: &endpoint,
        keys: &keys,
        from: arguments.from.as_ref(),
        hosts: &arguments.to.hosts,
        remotes: &remotes,
    };
    let work = send_with_retries(route, &sending, arguments.retry, &**reporter);
    let result = interrupt.or(work).await;
    // After an interruption too, to inform the receiver.
    network::close(&endpoint).await;
    let logged = EventLog::finish(log);
    result.and(logged)
}

/// With what both ends prove who they are.
fn keys(arguments: &SendArguments) -> Result<SenderKeys, Failure> {
    let to = &arguments.to;
    match &arguments.ca {
        None => sender_keys(arguments.insecure, arguments.key.as_deref(), to),
        Some(_) if to.key.is_some() => Err(Failure::usage(
            "--ca is for receivers with a certificate, which have no key; leave out one of them",
        )),
        Some(authorities) => Ok(SenderKeys::Authority {
            config: Box::new(authorities.client_config()?),
            name: certificates::name_of(to)?,
        }),
    }
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

/// Finds out the key of a receiver that is not known, and whether the user trusts it.
async fn meet(
    arguments: &SendArguments,
    sockets: Vec<Arc<dyn Socket>>,
    remotes: &[SocketAddr],
    reporter: &dyn Reporter,
) -> Result<PublicKey, Failure> {
    let is_pipe = arguments.paths.iter().any(|path| path == Path::new("-"));
    let meeting = Meeting {
        hosts: &arguments.to.hosts,
        remotes,
        settings: &arguments.settings,
        patience: arguments.timeout,
        accepts: arguments.accept_new,
        is_free: !is_pipe && !arguments.output.is_json(),
        program: network::RECEIVER,
    };
    meeting.trust(sockets, |text| warn(text, reporter)).await
}

/// From where to where.
#[derive(Clone, Copy, Debug)]
struct Route<'a> {
    endpoint: &'a Endpoint,
    keys: &'a SenderKeys,
    from: Option<&'a Origins>,
    /// As the user has named the receiver.
    hosts: &'a [PeerAddress],
    remotes: &'a [SocketAddr],
}

fn warn(message: &str, reporter: &dyn Reporter) {
    reporter.report(&Event::Warning {
        transfer: Some(TRANSFER),
        path: None,
        message,
    });
}

/// Why an attempt failed.
#[derive(Debug)]
struct Attempted {
    failure: Failure,
    /// Whether another attempt may succeed.
    may_retry: bool,
}

/// Sends until it is confirmed, or until no attempt has brought anything for as long as `retry` says.
async fn send_with_retries(
    route: Route<'_>,
    sending: &Sending,
    retry: Option<Duration>,
    reporter: &dyn Reporter,
) -> Result<(), Failure> {
    let (mut best, mut pause) = (0, FIRST_PAUSE);
    let mut until = retry.map(|retry| Instant::now() + retry);
    loop {
        let counter = Counter::new(TRANSFER, Role::Send, sending.plan.size, Instant::now());
        let Err(attempted) = connect_and_send(route, sending, &counter, reporter).await else {
            return Ok(());
        };
        let (reached, now) = (counter.confirmed.load(Ordering::Relaxed), Instant::now());
        if reached > best {
            (best, pause) = (reached, FIRST_PAUSE);
            until = retry.map(|retry| now + retry);
        }
        let left = until.and_then(|until| until.checked_duration_since(now));
        let (true, Some(left)) = (attempted.may_retry, left) else {
            return Err(attempted.failure);
        };
        let wait = pause.min(left);
        reporter.report(&Event::Retry {
            transfer: TRANSFER,
            message: &attempted.failure.to_string(),
            seconds: wait.as_secs_f64(),
        });
        sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn connect_and_send(
    route: Route<'_>,
    sending: &Sending,
    counter: &Counter,
    reporter: &dyn Reporter,
) -> Result<(), Attempted> {
    let Route {
        endpoint,
        keys,
        from,
        hosts,
        remotes,
    } = route;
    let name = &sending.plan.title;
    let connected = network::try_connect(endpoint, remotes, sending.patience, keys, network::RECEIVER).await;
    let association = connected.map_err(|unconnected| Attempted {
        failure: match unconnected.failure {
            Failure::Work(text) => Failure::Work(format!("{name}: {text}")),
            other => other,
        },
        may_retry: unconnected.is_absent,
    })?;
    let following = Following {
        preference: &|_| None,
        endpoint,
        association: &association,
        from,
        remotes,
        beside: None,
    };
    if let Some(live) = reporter.live() {
        live.name(TRANSFER, name);
    }
    let on_note = |note: Note<'_>| match note {
        Note::Proven => remember_proven(&association, keys, hosts, reporter),
        other => report_note(other, counter, reporter),
    };
    let result = tokio::select! {
        result = send(&association, sending, &counter.bytes, on_note) => result,
        never = observe(&association, counter, reporter) => match never {},
        never = following.run(|text| warn(text, reporter)) => match never {},
    };
    counter
        .confirmed
        .store(counter.arrived(&association), Ordering::Relaxed);
    if let Ok(receipt) = &result {
        let contents = super::Contents {
            name: name.clone(),
            peer: network::named(remotes),
            files: receipt.files,
            size: receipt.size,
            sha256: receipt.digest,
        };
        let summary = super::summary(&association, counter, contents);
        reporter.report(&Event::Summary(&summary));
    }
    conclude_sending(&association, &result).await;
    result.map(|_| ()).map_err(|failure| Attempted {
        may_retry: failure.is_lost() && sending.plan.id.is_some(),
        failure: Failure::Work(format!("{name} to {}: {failure}", network::named(remotes))),
    })
}

/// The receiver knows the word: its key is remembered, unless it was known.
fn remember_proven(
    association: &Association,
    keys: &SenderKeys,
    hosts: &[PeerAddress],
    reporter: &dyn Reporter,
) {
    let key = association.peer_identity().and_then(PeerInfo::public_key);
    if let (SenderKeys::Unknown { .. }, Some(key)) = (keys, key) {
        match first_use::remember(hosts, key) {
            Ok(told) => told.iter().for_each(|told| warn(told, reporter)),
            Err(failure) => warn(&failure.to_string(), reporter),
        }
    }
}

fn report_note(note: Note<'_>, counter: &Counter, reporter: &dyn Reporter) {
    let transfer = TRANSFER;
    match note {
        Note::Proven => {}
        Note::Waiting(ahead) => reporter.report(&Event::Waiting { transfer, ahead }),
        Note::Sent {
            path,
            size,
            from,
            sha256,
        } => {
            counter.resumed.fetch_add(from, Ordering::Relaxed);
            reporter.report(&Event::File {
                transfer,
                path,
                size,
                from,
                sha256: Some(sha256),
            });
        }
        Note::Damaged { path, from } => {
            counter.resumed.fetch_sub(from, Ordering::Relaxed);
            let text =
                format!("what the receiver had of {path} was wrong; it is sent again from its beginning");
            warn(&text, reporter);
        }
        Note::Known { path, size } => {
            counter.resumed.fetch_add(size, Ordering::Relaxed);
            reporter.report(&Event::File {
                transfer,
                path,
                size,
                from: size,
                sha256: None,
            });
        }
        Note::Skipped { path, reason } => {
            warn(
                &format!("{path} was left out by the receiver: {reason}"),
                reporter,
            );
        }
    }
}

fn report_plan(plan: &Plan, reporter: &dyn Reporter) {
    for Planned { entry, .. } in &plan.entries {
        reporter.report(&Event::Planned {
            path: &entry.path,
            kind: entry.kind,
            size: entry.size,
        });
    }
    reporter.report(&Event::Plan {
        files: plan.files,
        entries: plan.entries.len() as u64,
        size: plan.size,
    });
}

/// Looks for everything that is to be sent.
async fn plan(arguments: &SendArguments) -> Result<Plan, Failure> {
    let (paths, name) = (arguments.paths.clone(), arguments.name.clone());
    if name.is_some() && paths.len() > 1 {
        return Err(Failure::usage(
            "--name is for one path; leave it out, or send the paths one after the other",
        ));
    }
    let is_typed = paths.iter().any(|path| path == Path::new("-")) && io::stdin().is_terminal();
    if arguments.dashboard.tui && is_typed {
        return Err(Failure::usage(
            "with -, the file is read from the terminal that --tui takes keys from; pipe it in, or leave out one of them",
        ));
    }
    let retries = arguments.retry.is_some();
    // Opening a pipe blocks until it has a writer.
    let plan = on_thread(move || {
        let mut plan = Plan::of(&paths, name.as_deref()).map_err(Failure::usage)?;
        if let Some(secret) = keys::transfer_secret() {
            plan.identify(&secret);
        }
        Ok(plan)
    });
    let plan = plan.await?;
    if retries && plan.size.is_none() {
        return Err(Failure::usage("a pipe cannot be sent again; leave out --retry"));
    }
    Ok(plan)
}

/// Resolves a name on a separate thread: the runtime would wait for a resolver that does not answer.
async fn look_up(host: String, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    on_thread(move || {
        let found = (host.as_str(), port).to_socket_addrs();
        let found = found.map_err(|error| {
            // Names have no percent sign: it is an address with its device.
            if host.contains('%') {
                return Failure::usage(no_device(&host));
            }
            Failure::Work(format!("cannot resolve {host}: {error}; check the name"))
        })?;
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

/// Sockets for all uplinks.
pub(super) fn sockets(from: Option<&Origins>, remotes: &[SocketAddr]) -> Result<Opened, Failure> {
    sockets_beside(None, from, remotes)
}

/// The same without a device that is no uplink.
pub(super) fn sockets_beside(
    device: Option<&str>,
    from: Option<&Origins>,
    remotes: &[SocketAddr],
) -> Result<Opened, Failure> {
    let mut opened = Opened::default();
    for local in uplinks::locals(device, from, remotes)? {
        opened.open(local, remotes)?;
    }
    Ok(opened)
}
