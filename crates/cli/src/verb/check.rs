//! `anabranch check`: tests each uplink against a receiver. Which uplinks work, and what can the user do about the others?

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch::io::{Egress, device_of, mtus};
use anabranch::{
    Association, AssociationConfig, AssociationEvent, ConnectError, PathChange, PathStatistics,
    SEAL_OVERHEAD, uplink_socket,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::send::{resolve, sender_keys};
use crate::arguments::CheckArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::keys::{self, SenderKeys};
use crate::network::{self, Guarded};
use crate::output::{Event, Reporter, UplinkReport};
use crate::transfer::address_seen;
use crate::uplinks;

/// If no larger packet has passed for this long, the path MTU counts as found: three probes of one size are lost by then
/// (RFC 8899 §5.1.2).
const MTU_SETTLED: Duration = Duration::from_secs(4);

/// Tests all uplinks at once and reports each.
pub(crate) async fn run(
    arguments: CheckArguments,
    reporter: &Arc<dyn Reporter>,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    // It sends nothing that others must not read: any key will do if the receiver's is not known.
    let keys = sender_keys(arguments.insecure, arguments.key.as_deref(), &arguments.to)?;
    if let Some(message) = keys.key_log_warning() {
        reporter.report(&Event::Warning {
            transfer: None,
            path: None,
            message: &message,
        });
    }
    let remotes = interrupt.or(resolve(&arguments.to)).await?;
    let locals = uplinks::locals(None, arguments.from.as_ref(), &remotes)?;
    let mut checks = JoinSet::new();
    for local in &locals {
        for remote in remotes
            .iter()
            .filter(|remote| remote.is_ipv4() == local.is_ipv4())
        {
            checks.spawn(check((*local, *remote), keys.clone(), arguments.timeout));
        }
    }
    let (mut uplinks, mut working) = (0, 0);
    let all = async {
        while let Some(report) = checks.join_next().await {
            let report = report.map_err(Failure::work)?;
            uplinks += 1;
            working += u64::from(report.works);
            reporter.report(&Event::Uplink(&report));
        }
        Ok(())
    };
    interrupt.or(all).await?;
    reporter.report(&Event::Check { uplinks, working });
    match uplinks - working {
        0 if uplinks > 0 => Ok(()),
        0 => Err(Failure::work(
            "no uplink has the IP version of the receiver; give another address of it",
        )),
        failed => Err(Failure::Work(format!(
            "{failed} of {uplinks} uplinks do not work"
        ))),
    }
}

/// Tests the uplink with the address `local`.
async fn check(
    (local, remote): (SocketAddr, SocketAddr),
    keys: SenderKeys,
    patience: Duration,
) -> UplinkReport {
    let mut report = UplinkReport {
        device: device_of(local.ip()).ok().flatten(),
        local: local.ip(),
        remote,
        route: "unknown",
        works: false,
        rtt_ms: None,
        mtu: None,
        seen_as: None,
        nat: None,
        advice: None,
    };
    if let Err(advice) = attempt((local, remote), &keys, patience, &mut report).await {
        report.advice = Some(advice);
    }
    report
}

/// Fills in the report; the error is advice for the user.
async fn attempt(
    (local, remote): (SocketAddr, SocketAddr),
    keys: &SenderKeys,
    patience: Duration,
    report: &mut UplinkReport,
) -> Result<(), String> {
    let opened = uplink_socket(local, &[remote]);
    let (socket, egress) = opened.map_err(|error| network::bind_failure(local, &error).to_string())?;
    report.route = route_name(&egress);
    if let Some(warning) = uplinks::warning(local.ip(), &egress) {
        return Err(warning);
    }
    let local = socket.local_addr();
    let builder = network::endpoint_on(vec![socket], AssociationConfig::default()).connect_timeout(patience);
    let overhead = if keys.is_insecure() { 0 } else { SEAL_OVERHEAD };
    let endpoint = keys::send_by(builder, keys)
        .bind()
        .await
        .map_err(|error| error.to_string())?;
    let connected = endpoint.connect(remote).await;
    let association = Guarded(connected.map_err(|error| advice(&error, remote, patience, report))?);
    report.works = true;
    // A receiver that does not know this message, or is busy, is reachable nevertheless.
    if let Ok(Some(address)) = timeout(patience, address_seen(&association)).await {
        report.seen_as = Some(address);
        report.nat = Some(address != local);
        report.mtu = timeout(patience, settled_mtu(&association, (local, remote), overhead))
            .await
            .ok();
    }
    if let Some(path) = path_between(&association, local, remote) {
        report.rtt_ms = path.srtt.map(|srtt| srtt.as_micros() as f64 / 1e3);
        report.mtu = Some(report.mtu.unwrap_or(path.mtu) + overhead);
    }
    network::shut_down(&association).await;
    network::close(&endpoint).await;
    Ok(())
}

const fn route_name(egress: &Egress) -> &'static str {
    match egress {
        Egress::Routed => "routing-table",
        Egress::Bound { .. } => "bound-to-device",
        Egress::Elsewhere { .. } => "none",
    }
}

fn advice(error: &ConnectError, remote: SocketAddr, patience: Duration, report: &UplinkReport) -> String {
    let port = remote.port();
    match error {
        ConnectError::Refused => format!(
            "the host is reached, but nothing listens at UDP port {port}: start `anabranch recv` there, or check the port"
        ),
        ConnectError::NoAnswer => {
            let device = report.device.as_deref().unwrap_or("DEVICE");
            format!(
                "no answer within {} s: is `anabranch recv` running there, is the uplink up (`ping -I {device} {}`), and does \
                 every firewall on it let UDP to port {port} through? A receiver with --insecure answers only to a check with it.",
                patience.as_secs_f64(),
                remote.ip(),
            )
        }
        other => other.to_string(),
    }
}

fn path_between(association: &Association, local: SocketAddr, remote: SocketAddr) -> Option<PathStatistics> {
    let mut paths = association.statistics().paths.into_iter();
    paths.find(|path| path.addr.local == local && path.addr.remote == remote)
}

/// The size of the largest IP packets that pass, without the `overhead` of the seal: that of the interface, or the one reached when no larger packet passes.
async fn settled_mtu(
    association: &Association,
    (local, remote): (SocketAddr, SocketAddr),
    overhead: u16,
) -> u16 {
    let mut events = association.events();
    let limit = mtus(&[local]).map_or(u32::MAX, |mtus| *mtus.end());
    let limit = limit.min(AssociationConfig::default().mtu.into()) - u32::from(overhead);
    loop {
        let mtu = path_between(association, local, remote).map_or(0, |path| path.mtu);
        if u32::from(mtu) >= limit {
            return mtu;
        }
        let larger = async {
            while let Some(event) = events.next().await {
                if matches!(event, AssociationEvent::Path(event) if matches!(event.change, PathChange::Mtu(_)))
                {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        if timeout(MTU_SETTLED, larger).await.is_err() {
            return mtu;
        }
    }
}
