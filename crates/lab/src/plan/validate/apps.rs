//! What may an application of a plan say?

use anabranch_sim::app::LONGEST_MESSAGE;

use super::{Fault, below};
use crate::plan::named::Named;
use crate::plan::setting::{AppKind, AppPlan, AssociationPlan, End};

/// A connection carries bytes, and each end has one application for all its connections.
pub(super) fn check_tcp_apps(apps: &Named<AppPlan>, path: &[&str]) -> Result<(), Fault> {
    for end in [End::Near, End::Far] {
        let here = apps.iter().filter(|(_, app)| app.end() == end);
        if here.count() > 1 {
            return below(path, "", "over TCP each end has one application");
        }
    }
    let is_known = |app: &AppPlan| matches!(app.kind, AppKind::Bulk | AppKind::Paced | AppKind::Download);
    let is_uneven = |app: &AppPlan| app.messages.is_some_and(|count| count.0 % app.carriers() != 0);
    if let Some((name, _)) = apps.iter().find(|(_, app)| is_uneven(app)) {
        let text = "expected a multiple of `streams`: over TCP each connection has as many messages";
        return below(&[path, &[name]].concat(), "messages", text);
    }
    match apps.iter().find(|(_, app)| !is_known(app)) {
        Some((name, _)) => below(
            path,
            name,
            "over TCP an application is `bulk`, `paced` or a `download`",
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
    match app.every {
        Some(every) if every.0.is_zero() => below(path, "every", "expected a time above zero"),
        None if app.kind == AppKind::Paced => below(path, "every", "a paced application needs `every`"),
        _ => Ok(()),
    }
}

/// No more than fits, and not nothing.
fn check_amounts(app: &AppPlan, association: &AssociationPlan, path: &[&str]) -> Result<(), Fault> {
    let buffer = association.send_buffer.0.min(association.receive_buffer.0);
    let longest = buffer.min(LONGEST_MESSAGE as u64);
    if app.message.0 > longest {
        return below(
            path,
            "message",
            format!("expected at most {longest} bytes, as buffers allow"),
        );
    }
    if app.streams.is_some() && app.stream.is_some() {
        return below(path, "stream", "expected `streams` or `stream`, not both");
    }
    let stream = app.stream.map_or(0, |stream| stream.0);
    let streams = app.carriers();
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

/// What one kind of application is told means nothing to another one, and would be passed over.
fn check_keys(app: &AppPlan, path: &[&str]) -> Result<(), Fault> {
    use AppKind::{Bulk, Client, Download, Even, Paced};
    let belongs: [(_, _, &[AppKind]); 10] = [
        ("stream", app.stream.is_some(), &[Bulk, Paced, Client, Download]),
        ("streams", app.streams.is_some(), &[Bulk, Paced, Even, Download]),
        ("unordered", app.unordered, &[Bulk, Paced]),
        ("every", app.every.is_some(), &[Paced]),
        ("burst", app.burst.is_some(), &[Paced]),
        ("thinks", app.thinks.is_some(), &[Client]),
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
                format!("`{key}` is nothing that this kind of application has"),
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
            "a download needs `objects` and the bytes of each, `object`",
        );
    }
    if app.streams.is_some() || app.stream.is_some() {
        return below(path, "streams", "the streams of a download are its `objects`");
    }
    match app.end() {
        End::Far => Ok(()),
        End::Near => below(path, "end", "the far end has what is downloaded"),
    }
}
