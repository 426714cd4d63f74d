//! Object completion times. When was each object complete? Each has its own stream over SCTP and its own connection
//! over TCP.

use anabranch_sim::Overhead;
use anabranch_types::Instant;

use super::record::Record;
use crate::plan::{AppPlan, Setting};

/// The download application of a setting, if any.
pub(super) fn download(setting: &Setting) -> Option<&AppPlan> {
    let mut apps = setting.apps.iter().map(|(_, app)| app);
    apps.find(|app| app.objects.is_some())
}

/// Writes the completion times. `carriers` are all streams or connections, each with its delivered bytes and the time
/// of the last delivery.
pub(super) fn write(
    record: &mut Record,
    setting: &Setting,
    carriers: impl Iterator<Item = (u64, Option<Instant>)>,
) {
    let Some(download) = download(setting) else {
        return;
    };
    let (count, bytes) = (download.stream_count() as usize, download.object_bytes());
    let complete = carriers.filter(|(delivered, _)| *delivered >= bytes);
    let mut times: Vec<f64> = complete
        .filter_map(|(_, at)| Some((at? - Instant::ZERO).as_secs_f64()))
        .collect();
    times.sort_by(f64::total_cmp);
    record.set("object.first", times.first().copied());
    if times.len() == count {
        record.set("object.mean", times.iter().sum::<f64>() / count as f64);
        record.set("object.last", times.last().copied());
    }
}

/// Writes what one end sent in the measuring time.
pub(super) fn write_overhead(
    record: &mut Record,
    group: &str,
    before: Option<Overhead>,
    after: Option<Overhead>,
) {
    let Some(after) = after else {
        return;
    };
    let sent = after.since(&before.unwrap_or_default());
    for (name, count) in [
        ("packets", sent.packets),
        ("payload", sent.payload),
        ("headers", sent.headers),
        ("control", sent.control),
    ] {
        record.set(format!("{group}.{name}"), count as f64);
    }
}
