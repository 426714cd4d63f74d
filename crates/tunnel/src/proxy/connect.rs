//! HTTP CONNECT (RFC 9110 §9.3.6). What does a program ask for, and what is it told?

use std::io;

use thiserror::Error;
use tokio::net::TcpStream;

use super::{Head, LONGEST_REQUEST, Request, tell_last};
use crate::frame::Reason;
use crate::target::{Target, TargetError};

/// More fields than any program sends.
const MAX_FIELDS: usize = 100;

/// Why a request is not served.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
enum Refusal {
    #[error("this is no request of HTTP/1: {0}")]
    Malformed(#[from] httparse::Error),
    #[error(
        "this proxy serves CONNECT, as it is used for https, and not {0}. For http, use the SOCKS proxy, or have the program use CONNECT \
         for everything (curl --proxytunnel)"
    )]
    Method(String),
    #[error("{0}")]
    Target(#[from] TargetError),
    #[error("the head of the request has more than {LONGEST_REQUEST} bytes")]
    TooLong,
}

/// Finds out what a program wants. `None` if that is not served, which it was told.
pub(super) async fn negotiate(socket: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut head = Head::default();
    match head.read(socket, parse).await? {
        Ok(target) => Ok(Some(Request {
            target,
            early: head.0.freeze(),
            answer: |outcome| match outcome {
                Ok(()) => b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec(),
                Err(reason) => response(status(reason), &reason.to_string()),
            },
        })),
        Err(refusal) => {
            let status = match refusal {
                Refusal::Malformed(_) | Refusal::Target(_) => "400 Bad Request",
                Refusal::Method(_) => "501 Not Implemented",
                Refusal::TooLong => "431 Request Header Fields Too Large",
            };
            tell_last(socket, &response(status, &refusal.to_string())).await?;
            Ok(None)
        }
    }
}

/// The target of a request, and its length; `None` if more is to come.
fn parse(bytes: &[u8]) -> Result<Option<(Target, usize)>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(length) = request.parse(bytes)? else {
        return if bytes.len() > LONGEST_REQUEST {
            Err(Refusal::TooLong)
        } else {
            Ok(None)
        };
    };
    match (request.method, request.path) {
        (Some("CONNECT"), Some(authority)) => Ok(Some((authority.parse()?, length))),
        (method, _) => Err(Refusal::Method(method.unwrap_or_default().to_owned())),
    }
}

const fn status(reason: Reason) -> &'static str {
    match reason {
        Reason::NotPermitted => "403 Forbidden",
        Reason::Down | Reason::TooMany => "503 Service Unavailable",
        Reason::TimedOut => "504 Gateway Timeout",
        Reason::Failed
        | Reason::NetworkUnreachable
        | Reason::HostUnreachable
        | Reason::Refused
        | Reason::UnknownName
        | Reason::Reset => "502 Bad Gateway",
    }
}

fn response(status: &str, text: &str) -> Vec<u8> {
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_found_once_the_head_is_complete() {
        let head = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nUser-Agent: x\r\n\r\n";
        for short in 0..head.len() {
            assert_eq!(parse(&head[..short]), Ok(None));
        }
        let (target, length) = parse(&[head.as_slice(), b"early"].concat()).unwrap().unwrap();
        assert_eq!(
            (target.to_string().as_str(), length),
            ("example.org:443", head.len())
        );
    }

    #[test]
    fn what_is_not_served_is_refused() {
        let refusal = |head: &[u8]| parse(head).unwrap_err();
        let get = refusal(b"GET http://example.org/ HTTP/1.1\r\n\r\n");
        assert_eq!(get, Refusal::Method("GET".into()));
        for head in [
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT a/b:80 HTTP/1.1\r\n\r\n",
        ] {
            assert!(matches!(refusal(head.as_bytes()), Refusal::Target(_)), "{head}");
        }
        assert!(matches!(refusal(b"\x05\x01\x00"), Refusal::Malformed(_)));
        let many = format!(
            "CONNECT a:80 HTTP/1.1\r\n{}\r\n",
            "a: b\r\n".repeat(MAX_FIELDS + 1)
        );
        assert!(matches!(refusal(many.as_bytes()), Refusal::Malformed(_)));
        let long = format!("CONNECT a:80 HTTP/1.1\r\na: {}", "b".repeat(LONGEST_REQUEST));
        assert_eq!(refusal(long.as_bytes()), Refusal::TooLong);
    }

    #[test]
    fn response_has_a_text_of_its_length() {
        let response = String::from_utf8(response(status(Reason::Refused), "no")).unwrap();
        assert!(
            response.starts_with("HTTP/1.1 502 Bad Gateway\r\n")
                && response.contains("Content-Length: 3\r\n")
        );
        assert!(response.ends_with("\r\n\r\nno\n"));
    }
}
