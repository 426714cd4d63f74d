//! Answers of the server: the page and its parts, texts, the stream of updates, refusals.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

/// The page runs its own script only, shows its own style only, and asks this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) media_type: &'static str,
    pub(super) text: &'static str,
}

/// The page.
pub(super) const PAGE: Asset = Asset {
    path: "/",
    media_type: "text/html; charset=utf-8",
    text: include_str!("../../assets/dashboard.html"),
};

/// What the page consists of; it has no secrets.
pub(super) const PARTS: &[Asset] = &[
    Asset {
        path: "/dashboard.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("../../assets/dashboard.js"),
    },
    Asset {
        path: "/dashboard.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("../../assets/dashboard.css"),
    },
    Asset {
        path: "/uPlot.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("../../assets/uplot/uPlot.iife.min.js"),
    },
    Asset {
        path: "/uPlot.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("../../assets/uplot/uPlot.min.css"),
    },
];

/// Body of an answer: a text, or updates until the browser has gone.
#[derive(Debug)]
pub(super) enum Body {
    Text(Option<Bytes>),
    Updates(mpsc::Receiver<Bytes>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Text(text) => Poll::Ready(text.take()),
            Self::Updates(updates) => updates.poll_recv(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Self::Updates(_) => SizeHint::default(),
        }
    }
}

pub(super) fn asset(asset: &'static Asset) -> Response<Body> {
    let bytes = Bytes::from_static(asset.text.as_bytes());
    answer(asset.media_type, Body::Text(Some(bytes)))
}

pub(super) fn text(media_type: &'static str, text: String) -> Response<Body> {
    answer(media_type, Body::Text(Some(text.into())))
}

pub(super) fn events(updates: mpsc::Receiver<Bytes>) -> Response<Body> {
    answer("text/event-stream", Body::Updates(updates))
}

pub(super) fn refusal(status: StatusCode, text: &'static str) -> Response<Body> {
    let bytes = Bytes::from_static(text.as_bytes());
    let mut response = answer("text/plain; charset=utf-8", Body::Text(Some(bytes)));
    *response.status_mut() = status;
    let needed: Option<(HeaderName, &str)> = match status {
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, "Bearer")),
        StatusCode::METHOD_NOT_ALLOWED => Some((ALLOW, "GET, HEAD")),
        _ => None,
    };
    if let Some((name, value)) = needed {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn answer(media_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, media_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        // The address of the page has the token.
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
