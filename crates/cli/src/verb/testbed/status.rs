//! Which beds are there, and how well do they keep the time?

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
        return format!("{name}: left behind; anabranch testbed down --name {name} removes it\n");
    };
    let mut text = format!("{name}: up, process {owner}\n");
    let Some(state) = state else {
        return text;
    };
    for (index, path) in state.paths.iter().enumerate() {
        let [there, back] = [2 * index, 2 * index + 1].map(|link| match state.links.get(link) {
            Some(tally) => format!("{} delivered, {} dropped", tally.delivered, tally.dropped),
            None => "nothing known".to_owned(),
        });
        text += &format!("  path{index}  {path}; there: {there}; back: {back}\n");
    }
    if let (Some(half), Some(most), Some(worst)) = (state.late_p50_us, state.late_p99_us, state.late_max_us) {
        let packets = state.packets;
        text += &format!(
            "  late   {half} µs at the median, {most} µs for 99 %, {worst} µs at most, of {packets} packets\n"
        );
    }
    if state.standstills > 0 {
        let (times, millis) = (state.standstills, state.stood_still_ms);
        text += &format!("  stood  still {times} times, {millis} ms in all, with the whole machine\n");
    }
    if state.strays > 0 {
        text += &format!("  lost   {} packets outside of the links\n", state.strays);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::state::{State, Tally};
    use super::{BedStatus, text};

    #[test]
    fn a_bed_is_told_with_what_its_links_did_and_how_late_they_were() {
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
            late_p50_us: Some(20),
            late_p99_us: Some(70),
            late_max_us: Some(900),
            standstills: 2,
            stood_still_ms: 61,
            strays: 0,
        };
        let expected = "bed: up, process 7\n  \
            path0  10 Mbit/s, 1 ms; there: 5 delivered, 1 dropped; back: 5 delivered, 1 dropped\n  \
            late   20 µs at the median, 70 µs for 99 %, 900 µs at most, of 10 packets\n  \
            stood  still 2 times, 61 ms in all, with the whole machine\n";
        assert_eq!(text(&bed, Some(&state)), expected);
        let left = BedStatus { owner: None, ..bed };
        assert!(text(&left, None).contains("testbed down --name bed"));
    }
}
