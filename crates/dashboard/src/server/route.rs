//! Route of a request. What is asked for, and may it be answered?

use hyper::header::{AUTHORIZATION, HOST, HeaderMap};
use hyper::{Method, StatusCode, Uri};

use super::access::{Token, is_known_host};
use super::answer::{Asset, PAGE, PARTS};

/// What a request gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    Asset(&'static Asset),
    Events,
    Metrics,
    Status,
    Refused(StatusCode, &'static str),
}

/// Finds out what is asked for. Nothing is told before the host is known, and nothing of the associations without the token.
pub(super) fn route(method: &Method, uri: &Uri, headers: &HeaderMap, token: &Token) -> Route {
    if !host(uri, headers).is_some_and(is_known_host) {
        return Route::Refused(
            StatusCode::MISDIRECTED_REQUEST,
            "Open this page by an IP address or localhost: a name may lead here without your knowledge.",
        );
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Route::Refused(StatusCode::METHOD_NOT_ALLOWED, "There is nothing to change here.");
    }
    // The parts of the page are the same everywhere.
    if let Some(asset) = PARTS.iter().find(|asset| asset.path == uri.path()) {
        return Route::Asset(asset);
    }
    if !told_token(uri, headers).is_some_and(|told| token.is(told)) {
        return Route::Refused(
            StatusCode::UNAUTHORIZED,
            "Open the address that the program has printed; it ends with a token.",
        );
    }
    match uri.path() {
        "/" => Route::Asset(&PAGE),
        "/events" => Route::Events,
        "/metrics" => Route::Metrics,
        "/status.json" => Route::Status,
        _ => Route::Refused(StatusCode::NOT_FOUND, "There is no such page."),
    }
}

/// The host that the client wants (RFC 9112 §3.2.2): the one of the URI if that is whole, or else of the only Host field.
fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    if let Some(authority) = uri.authority() {
        return Some(authority.as_str());
    }
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    }
}

/// The token in the query or, for programs, in the field Authorization (RFC 6750 §2.1).
fn told_token<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let queried = uri
        .query()
        .and_then(|query| query.split('&').find_map(|part| part.strip_prefix("token=")));
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    queried.or(bearer)
}
