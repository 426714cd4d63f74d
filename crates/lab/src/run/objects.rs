//! Object completion times. When was each object there? Over SCTP a stream has carried it, over TCP a connection.

use anabranch_sim::Overhead;
use anabranch_types::Instant;

use super::record::Record;
use crate::plan::{AppPlan, Setting};

/// The download of a setting, if there is one.
pub(super) fn download(setting: &Setting) -> Option<&AppPlan> {
    let mut apps = setting.apps.iter().map(|(_, app)| app);
    apps.find(|app| app.objects.is_some())
}

/// Writes when objects were there: `carriers` are all streams or connections, each with the bytes that it has
/// delivered and the moment of the last one.
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

/// What one end sent in the measuring time.
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
