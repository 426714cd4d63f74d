//! Statistics of associations, as lines of JSON in the file that `ANABRANCH_STATISTICS` names: when an association ends, and on a signal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};

use anabranch::{Association, AssociationStatistics, PathStatistics, PeerInfo, PublicKey};

use crate::environment::Environment;
use crate::errno::Errno;
use crate::ffi::hooks;
use crate::{mirror, table};

/// Adds a line on an association that has ended, if the environment asks for it.
pub(crate) fn record(association: &Association) {
    add(association, true);
}

/// Adds a line on each association of this process whenever a signal arrives, if the environment names one. A program that handles the
/// signal itself keeps its handler.
///
/// # Errors
///
/// The system denies a pipe or a thread.
pub(crate) fn watch_signal() -> Result<(), Errno> {
    let signal = Environment::current()
        .ok()
        .and_then(|environment| environment.statistics_signal);
    let Some(signal) = signal else {
        return Ok(());
    };
    let (arrived, tell) = std::io::pipe()?;
    // Programs may close the lowest numbers and open other files there.
    let mut arrived = File::from(mirror::far(&arrived.into())?);
    if !hooks::write_on_signal(signal, mirror::far(&tell.into())?) {
        return Ok(());
    }
    let thread = std::thread::Builder::new().name("anabranch signal".into());
    thread.spawn(move || {
        while arrived.read_exact(&mut [0]).is_ok() {
            let sockets = table::all_ours();
            // Several descriptors may refer to one socket.
            let members = sockets.values().flat_map(|socket| socket.all_members());
            let members: BTreeMap<i32, _> = members.map(|member| (member.id, member)).collect();
            members
                .values()
                .for_each(|member| add(&member.association, false));
        }
    })?;
    Ok(())
}

fn add(association: &Association, has_ended: bool) {
    let Ok(Some(file)) = Environment::current().map(|environment| environment.statistics.as_ref()) else {
        return;
    };
    let key = association.peer_identity().and_then(PeerInfo::public_key);
    let line = line(
        association.sctp_ports(),
        key,
        &association.statistics(),
        has_ended,
    );
    // One call, so that lines of several processes do not mix.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        eprintln!("anabranch: {}: {error}", file.display());
    }
}

/// Names, numbers and base64 only, so nothing has to be escaped.
fn line(
    (local, remote): (u16, u16),
    key: Option<PublicKey>,
    statistics: &AssociationStatistics,
    has_ended: bool,
) -> String {
    let key = key.map_or_else(|| String::from("null"), |key| format!("\"{key}\""));
    let paths: Vec<String> = statistics.paths.iter().map(path).collect();
    let mut line = String::from("{");
    // Writing to a string does not fail.
    let _ = writeln!(
        line,
        "\"ended\":{has_ended},\"local_port\":{local},\"peer_port\":{remote},\"peer_key\":{key},\"messages_sent\":{},\"messages_received\":{},\
         \"duplicates_received\":{},\"paths\":[{}]}}",
        statistics.messages_sent,
        statistics.messages_received,
        statistics.duplicates_received,
        paths.join(",")
    );
    line
}

fn path(path: &PathStatistics) -> String {
    let counters = &path.counters;
    format!(
        "{{\"local\":\"{}\",\"remote\":\"{}\",\"packets_sent\":{},\"packets_received\":{},\"payload_sent\":{},\
         \"payload_received\":{},\"payload_retransmitted\":{},\"timeouts\":{},\"srtt_us\":{},\"mtu\":{}}}",
        path.addr.local,
        path.addr.remote,
        counters.packets_sent,
        counters.packets_received,
        counters.payload_sent,
        counters.payload_received,
        counters.payload_retransmitted,
        counters.timeouts,
        path.srtt
            .map_or_else(|| String::from("null"), |srtt| srtt.as_micros().to_string()),
        path.mtu
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_names_ports_and_counters() {
        let line = line((5000, 6000), None, &AssociationStatistics::default(), true);
        assert_eq!(
            line,
            "{\"ended\":true,\"local_port\":5000,\"peer_port\":6000,\"peer_key\":null,\"messages_sent\":0,\"messages_received\":0,\
             \"duplicates_received\":0,\"paths\":[]}\n"
        );
    }
}
