//! Statistics of associations that have ended, as lines of JSON in the file that `ANABRANCH_STATISTICS` names.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

use anabranch::{Association, AssociationStatistics, PathStatistics};

use crate::environment::Environment;

/// Adds a line on an association, if the environment asks for it.
pub(crate) fn record(association: &Association) {
    let Ok(Some(file)) = Environment::current().map(|environment| environment.statistics.as_ref()) else {
        return;
    };
    let line = line(association.sctp_ports(), &association.statistics());
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

/// Names and numbers only, so nothing has to be escaped.
fn line((local, remote): (u16, u16), statistics: &AssociationStatistics) -> String {
    let paths: Vec<String> = statistics.paths.iter().map(path).collect();
    let mut line = String::from("{");
    // Writing to a string does not fail.
    let _ = writeln!(
        line,
        "\"local_port\":{local},\"peer_port\":{remote},\"messages_sent\":{},\"messages_received\":{},\
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
        let line = line((5000, 6000), &AssociationStatistics::default());
        assert_eq!(
            line,
            "{\"local_port\":5000,\"peer_port\":6000,\"messages_sent\":0,\"messages_received\":0,\
             \"duplicates_received\":0,\"paths\":[]}\n"
        );
    }
}
