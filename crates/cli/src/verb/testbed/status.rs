//! `anabranch testbed status`: lists the test beds and the accuracy of their links.

use anabranch_emu::bed::{self, BedStatus};

use super::state::State;
use crate::failure::Failure;
use crate::output::{Output, print};

pub(super) fn run(output: Output) -> Result<(), Failure> {
    let beds = bed::list();
    for bed in &beds {
        let state = bed.owner.and_then(|owner| State::load(&bed.name, owner));
        if output.is_json() {
            print(format!("{}\n", object(bed, state.as_ref())))?;
        } else if !output.is_quiet() {
            print(text(bed, state.as_ref()))?;
        }
    }
    if beds.is_empty() && !output.is_json() && !output.is_quiet() {
        print("no test bed is up\n")?;
    }
    Ok(())
}

fn object(bed: &BedStatus, state: Option<&State>) -> serde_json::Value {
    serde_json::json!({ "event": "testbed", "name": bed.name, "owner": bed.owner, "state": state })
}

fn text(bed: &BedStatus, state: Option<&State>) -> String {
    let name = &bed.name;
    let Some(owner) = bed.owner else {
        return format!("{name}: left by a crash; `anabranch testbed down --name {name}` removes it\n");
    };
    let mut text = format!("{name}: up, process {owner}\n");
    let Some(state) = state else {
        return text;
    };
    for (index, path) in state.paths.iter().enumerate() {
        let [forward, reverse] = [2 * index, 2 * index + 1].map(|link| match state.links.get(link) {
            Some(tally) => format!("{} delivered, {} dropped", tally.delivered, tally.dropped),
            None => "unknown".to_owned(),
        });
        text += &format!("  path{index}  {path}; forward: {forward}; reverse: {reverse}\n");
    }
    if let (Some(median), Some(p99), Some(max)) = (
        state.lateness_p50_us,
        state.lateness_p99_us,
        state.lateness_max_us,
    ) {
        let packets = state.packets;
        text += &format!(
            "  lateness     median {median} µs, 99 % {p99} µs, maximum {max} µs, {packets} packets\n"
        );
    }
    if state.host_stalls > 0 {
        let (times, millis) = (state.host_stalls, state.host_stalls_ms);
        text += &format!("  host stalls  {times}, {millis} ms in total\n");
    }
    if state.stray_losses > 0 {
        text += &format!("  stray losses {} packets\n", state.stray_losses);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::state::{State, Tally};
    use super::{BedStatus, text};

    #[test]
    fn status_shows_links_lateness_and_stalls() {
        let bed = BedStatus {
            name: "bed".into(),
            owner: Some(7),
        };
        let tally = Tally {
            delivered: 5,
            dropped: 1,
        };
        let state = State {
            owner: 7,
            paths: vec!["10 Mbit/s, 1 ms".into()],
            links: vec![tally; 2],
            packets: 10,
            lateness_p50_us: Some(20),
            lateness_p99_us: Some(70),
            lateness_max_us: Some(900),
            host_stalls: 2,
            host_stalls_ms: 61,
            stray_losses: 0,
        };
        let expected = "bed: up, process 7\n  \
            path0  10 Mbit/s, 1 ms; forward: 5 delivered, 1 dropped; reverse: 5 delivered, 1 dropped\n  \
            lateness     median 20 µs, 99 % 70 µs, maximum 900 µs, 10 packets\n  \
            host stalls  2, 61 ms in total\n";
        assert_eq!(text(&bed, Some(&state)), expected);
        let left = BedStatus { owner: None, ..bed };
        assert!(text(&left, None).contains("testbed down --name bed"));
    }
}
