//! Validation of applications: keys, amounts and combinations.

use anabranch_sim::app::LONGEST_MESSAGE;

use super::{Fault, below};
use crate::plan::named::Named;
use crate::plan::setting::{AppKind, AppPlan, AssociationPlan, End};

/// A TCP connection carries a byte stream, and each end runs one application on all of its connections.
pub(super) fn check_tcp_apps(apps: &Named<AppPlan>, path: &[&str]) -> Result<(), Fault> {
    for end in [End::Near, End::Far] {
        let own = apps.iter().filter(|(_, app)| app.end() == end);
        if own.count() > 1 {
            return below(path, "", "over TCP, each end can have only one application");
        }
    }
    let is_supported =
        |app: &AppPlan| matches!(app.kind, AppKind::Bulk | AppKind::Periodic | AppKind::Download);
    let is_uneven = |app: &AppPlan| {
        app.messages
            .is_some_and(|count| count.0 % app.stream_count() != 0)
    };
    if let Some((name, _)) = apps.iter().find(|(_, app)| is_uneven(app)) {
        let text =
            "expected a multiple of `streams`: over TCP, messages are divided evenly among the connections";
        return below(&[path, &[name]].concat(), "messages", text);
    }
    match apps.iter().find(|(_, app)| !is_supported(app)) {
        Some((name, _)) => below(
            path,
            name,
            "over TCP, expected `kind` \"bulk\", \"periodic\" or \"download\"",
        ),
        None => Ok(()),
    }
}

pub(super) fn check_app(app: &AppPlan, association: &AssociationPlan, path: &[&str]) -> Result<(), Fault> {
    check_amounts(app, association, path)?;
    check_keys(app, path)?;
    if app.kind == AppKind::Download {
        check_download(app, path)?;
    }
    match app.interval {
        Some(every) if every.0.is_zero() => below(path, "interval", "expected a time above zero"),
        None if app.kind == AppKind::Periodic => {
            below(path, "interval", "a periodic application needs `interval`")
        }
        _ => Ok(()),
    }
}

/// Amounts are above zero and fit into the buffers.
fn check_amounts(app: &AppPlan, association: &AssociationPlan, path: &[&str]) -> Result<(), Fault> {
    let buffer = association
        .send_buffer
        .bytes()
        .min(association.receive_buffer.bytes());
    let longest = buffer.min(LONGEST_MESSAGE as u64);
    if app.message.0 > longest {
        return below(
            path,
            "message",
            format!(
                "expected at most {longest} bytes, the size of the smaller buffer or of the longest message"
            ),
        );
    }
    if app.streams.is_some() && app.stream.is_some() {
        return below(path, "stream", "expected `streams` or `stream`, not both");
    }
    let stream = app.stream.map_or(0, |stream| stream.0);
    let streams = app.stream_count();
    if streams == 0 || streams > 1_024 || stream >= 1_024 {
        return below(path, "streams", "expected between 1 and 1,024 streams");
    }
    for (key, count) in [("messages", app.messages), ("burst", app.burst)] {
        if count.is_some_and(|count| count.0 == 0) {
            return below(path, key, "expected one message or more");
        }
    }
    Ok(())
}

/// Refuses keys that have no effect on this kind of application.
fn check_keys(app: &AppPlan, path: &[&str]) -> Result<(), Fault> {
    use AppKind::{Balanced, Bulk, Client, Download, Periodic};
    let belongs: [(_, _, &[AppKind]); 10] = [
        (
            "stream",
            app.stream.is_some(),
            &[Bulk, Periodic, Client, Download],
        ),
        (
            "streams",
            app.streams.is_some(),
            &[Bulk, Periodic, Balanced, Download],
        ),
        ("unordered", app.unordered, &[Bulk, Periodic]),
        ("interval", app.interval.is_some(), &[Periodic]),
        ("burst", app.burst.is_some(), &[Periodic]),
        ("think-time", app.think_time.is_some(), &[Client]),
        ("messages", app.messages.is_some(), &[Bulk]),
        ("objects", app.objects.is_some(), &[Download]),
        ("object", app.object.is_some(), &[Download]),
        ("request", app.request.is_some(), &[Download]),
    ];
    for (key, is_there, kinds) in belongs {
        if is_there && !kinds.contains(&app.kind) {
            return below(
                path,
                key,
                format!("`{key}` has no effect on this kind of application"),
            );
        }
    }
    Ok(())
}

fn check_download(app: &AppPlan, path: &[&str]) -> Result<(), Fault> {
    if app.objects.is_none() || app.object_bytes() == 0 {
        return below(
            path,
            "objects",
            "a download needs `objects`, their number, and `object`, the size of each",
        );
    }
    if app.streams.is_some() || app.stream.is_some() {
        return below(
            path,
            "streams",
            "a download uses one stream for each object; remove `streams` and `stream`",
        );
    }
    match app.end() {
        End::Far => Ok(()),
        End::Near => below(path, "end", "a download is sent by the far end"),
    }
}
