//! Tests of the server by HTTP over loopback, with the statistics of real associations.
#![cfg(test)]

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;

use anabranch::{Association, Endpoint, Message, StreamId};
use anabranch_dashboard::{Amount, Dashboard, Note, Server, Severity, Token, url};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

type Outcome = Result<(), Box<dyn Error>>;

const TOKEN: &str = "0123456789abcdef";

/// A dashboard and its server, whose status is `{"is":"status"}`.
async fn start() -> Result<(Dashboard, Server), Box<dyn Error>> {
    let dashboard = Dashboard::new("a test", "1.2.3");
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let status = || "{\"is\":\"status\"}".to_owned();
    let server = Server::start(local, dashboard.clone(), Token::parse(TOKEN)?, status).await?;
    Ok((dashboard, server))
}

/// An answer: status code, fields by their names in lower case, and body.
struct Answer(u16, BTreeMap<String, String>, String);

/// Sends a request as it is, and returns the whole answer.
async fn ask(server: &Server, request: &str) -> Result<Answer, Box<dyn Error>> {
    let mut socket = TcpStream::connect(server.address()).await?;
    socket.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    socket.read_to_string(&mut text).await?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no head")?;
    let (first, fields) = head.split_once("\r\n").ok_or("no fields")?;
    let status = first.split(' ').nth(1).ok_or("no status")?.parse()?;
    let fields = fields.lines().filter_map(|line| line.split_once(": "));
    let fields = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    Ok(Answer(status, fields.collect(), body.to_owned()))
}

/// GET with further fields of the head.
async fn get(server: &Server, target: &str, fields: &str) -> Result<Answer, Box<dyn Error>> {
    ask(
        server,
        &format!("GET {target} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n"),
    )
    .await
}

const HERE: &str = "Host: localhost\r\n";

#[tokio::test]
async fn page_and_data_need_the_token() -> Outcome {
    let (_dashboard, server) = start().await?;
    for target in [
        "/",
        "/events",
        "/metrics",
        "/status.json",
        "/?token=0123456789abcdeX",
        "/nothing",
    ] {
        let Answer(status, fields, body) = get(&server, target, HERE).await?;
        assert_eq!(
            (status, fields["www-authenticate"].as_str()),
            (401, "Bearer"),
            "{target}"
        );
        assert!(body.starts_with("Open the address"), "{body}");
    }
    let with_token = |target: &str| format!("{target}?token={TOKEN}");
    for target in ["/", "/metrics", "/status.json"] {
        assert_eq!(get(&server, &with_token(target), HERE).await?.0, 200, "{target}");
        let bearer = format!("{HERE}Authorization: Bearer {TOKEN}\r\n");
        assert_eq!(get(&server, target, &bearer).await?.0, 200, "{target}");
    }
    assert_eq!(get(&server, &with_token("/nothing"), HERE).await?.0, 404);
    // They tell nothing of what the program does.
    for target in ["/dashboard.js", "/dashboard.css", "/uPlot.js", "/uPlot.css"] {
        assert_eq!(get(&server, target, HERE).await?.0, 200, "{target}");
    }
    Ok(())
}

#[tokio::test]
async fn other_host_names_are_refused_even_with_the_token() -> Outcome {
    let (_dashboard, server) = start().await?;
    let target = format!("/status.json?token={TOKEN}");
    for host in [
        "Host: attacker.example\r\n",
        "Host: 127.0.0.1\r\nHost: attacker.example\r\n",
        "Host: \r\n",
    ] {
        assert_eq!(get(&server, &target, host).await?.0, 421, "{host}");
    }
    let whole = format!("http://attacker.example{target}");
    assert_eq!(get(&server, &whole, HERE).await?.0, 421);
    assert_eq!(
        get(&server, "/uPlot.js", "Host: attacker.example\r\n").await?.0,
        421
    );
    let port = server.address().port();
    for host in [
        format!("127.0.0.1:{port}"),
        "[::1]".to_owned(),
        "localhost:8080".to_owned(),
    ] {
        assert_eq!(
            get(&server, &target, &format!("Host: {host}\r\n")).await?.0,
            200,
            "{host}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn only_reading_is_possible() -> Outcome {
    let (_dashboard, server) = start().await?;
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let request = format!("{method} /?token={TOKEN} HTTP/1.1\r\n{HERE}Connection: close\r\n\r\n");
        assert_eq!(ask(&server, &request).await?.0, 405, "{method}");
    }
    let request = format!("HEAD /?token={TOKEN} HTTP/1.1\r\n{HERE}Connection: close\r\n\r\n");
    let Answer(status, _, body) = ask(&server, &request).await?;
    assert_eq!((status, body.as_str()), (200, ""));
    // No requests of HTTP, and one that is too long.
    assert_eq!(ask(&server, "hello\r\n\r\n").await?.0, 400);
    let long = format!("GET /?{} HTTP/1.1\r\n\r\n", "a".repeat(20_000));
    assert!(matches!(ask(&server, &long).await?.0, 414 | 431));
    Ok(())
}

#[tokio::test]
async fn answers_forbid_what_the_page_does_not_need() -> Outcome {
    let (_dashboard, server) = start().await?;
    for target in ["/", "/status.json"] {
        let Answer(_, fields, body) = get(&server, &format!("{target}?token={TOKEN}"), HERE).await?;
        let policy = &fields["content-security-policy"];
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(fields["referrer-policy"], "no-referrer");
        assert_eq!(fields["cache-control"], "no-store");
        assert_eq!(fields["x-content-type-options"], "nosniff");
        // Nothing is loaded from elsewhere.
        assert!(!body.contains("http://") && !body.contains("https://"), "{body}");
    }
    Ok(())
}

#[tokio::test]
async fn whole_page_has_at_most_100_kilobytes() -> Outcome {
    let (_dashboard, server) = start().await?;
    let mut size = get(&server, &format!("/?token={TOKEN}"), HERE).await?.2.len();
    for part in ["/dashboard.js", "/dashboard.css", "/uPlot.js", "/uPlot.css"] {
        size += get(&server, part, HERE).await?.2.len();
    }
    // As it is sent: without compression.
    assert!((60_000..100_000).contains(&size), "{size}");
    Ok(())
}

/// Two ends of an association over two paths.
async fn associations() -> Result<(Association, Association, [Endpoint; 2]), Box<dyn Error>> {
    let server = Endpoint::builder()
        .insecure()
        .local("127.0.0.1:0")
        .local("127.0.0.2:0");
    let server = server.listen().bind().await?;
    let client = Endpoint::builder()
        .insecure()
        .local("127.0.0.3:0")
        .local("127.0.0.4:0");
    let client = client.bind().await?;
    let near = client.connect(&server.local_addrs()[..]).await?;
    let far = server.accept().await.ok_or("no association")?;
    Ok((near, far, [server, client]))
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_the_counters_of_the_association() -> Outcome {
    let (dashboard, server) = start().await?;
    let (near, far, _endpoints) = associations().await?;
    dashboard.begin(7, "big \"file\"");
    for _ in 0..50 {
        near.send(Message::new(StreamId(0), vec![0; 10_000])).await?;
        far.recv().await?.ok_or("no message")?;
    }
    let statistics = near.statistics();
    dashboard.sample(7, &statistics, None);
    let Answer(_, fields, text) = get(&server, &format!("/metrics?token={TOKEN}"), HERE).await?;
    assert!(fields["content-type"].starts_with("text/plain; version=0.0.4"));
    let mut sum = 0;
    for path in &statistics.paths {
        let labels = format!(
            "name=\"big \\\"file\\\"\",transfer=\"7\",path=\"{}\",direction=\"sent\"",
            path.id.0
        );
        let value = value_of(&text, &format!("anabranch_path_bytes_total{{{labels}}}"))?;
        assert_eq!(value, path.counters.payload_sent as f64);
        sum += path.counters.payload_sent;
    }
    assert_eq!(sum, 500_000);
    assert!(!text.contains("127.0.0."), "no addresses: {text}");
    check_format(&text);
    dashboard.end(7);
    let text = get(&server, &format!("/metrics?token={TOKEN}"), HERE).await?.2;
    assert_eq!(value_of(&text, "anabranch_associations")?, 0.0);
    assert!(!text.contains("transfer="), "{text}");
    Ok(())
}

fn value_of(text: &str, series: &str) -> Result<f64, Box<dyn Error>> {
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    Ok(line
        .ok_or_else(|| format!("no {series} in {text}"))?
        .trim()
        .parse()?)
}

/// Each line is a comment or a sample, after the type of its metric.
fn check_format(text: &str) {
    let mut metric = "";
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ').unwrap();
            assert!(matches!(kind, "counter" | "gauge"), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            metric = name;
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert_eq!(series.split('{').next(), Some(metric), "{line}");
        }
    }
    assert!(text.ends_with('\n'));
}

/// A browser that reads the stream of updates.
struct Stream(BufReader<TcpStream>);

impl Stream {
    async fn open(server: &Server) -> Result<Self, Box<dyn Error>> {
        let mut socket = TcpStream::connect(server.address()).await?;
        let request = format!("GET /events?token={TOKEN} HTTP/1.1\r\n{HERE}\r\n");
        socket.write_all(request.as_bytes()).await?;
        Ok(Self(BufReader::new(socket)))
    }

    /// The next event, and its data.
    async fn next(&mut self) -> Result<(String, serde_json::Value), Box<dyn Error>> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await? == 0 {
                return Err("the stream has ended".into());
            }
            if let Some(event) = line.strip_prefix("event: ") {
                event.trim().clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Ok((name, serde_json::from_str(data)?));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_has_everything_so_far_then_updates_then_the_end() -> Outcome {
    let (dashboard, server) = start().await?;
    let (near, _far, _endpoints) = associations().await?;
    let note = |text: &str| Note {
        severity: Severity::Warning,
        transfer: Some(1),
        path: Some((1, "inactive")),
        text: text.to_owned(),
    };
    dashboard.begin(1, "a file");
    dashboard.sample(
        1,
        &near.statistics(),
        Some(Amount {
            bytes: 3,
            size: Some(9),
        }),
    );
    dashboard.note(note("before"));
    let mut stream = Stream::open(&server).await?;
    let (name, snapshot) = stream.next().await?;
    assert_eq!(name, "snapshot");
    assert_eq!(
        (&snapshot["title"], &snapshot["version"]),
        (&"a test".into(), &"1.2.3".into())
    );
    let known = &snapshot["transfers"][0];
    assert_eq!(
        (&known["name"], &known["ended"]),
        (&"a file".into(), &false.into())
    );
    assert_eq!(known["sample"]["paths"].as_array().map(Vec::len), Some(2));
    assert_eq!(known["sample"]["amount"]["size"], 9);
    assert_eq!(known["history"].as_array().map(Vec::len), Some(0), "no rates yet");
    assert_eq!(snapshot["events"][0]["text"], "before");
    dashboard.sample(1, &near.statistics(), None);
    dashboard.note(note("after"));
    dashboard.end(1);
    let mut names = Vec::new();
    for _ in 0..3 {
        let (name, data) = stream.next().await?;
        assert!(
            name != "note" || data["text"] == "after" && data["path"][1] == "inactive",
            "{data}"
        );
        names.push(name);
    }
    assert_eq!(names, ["sample", "note", "end"]);
    server.close().await;
    assert_eq!(stream.next().await?.0, "close");
    assert!(stream.next().await.is_err(), "the stream has ended");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_that_does_not_read_gets_everything_anew() -> Outcome {
    let (dashboard, server) = start().await?;
    let (near, _far, _endpoints) = associations().await?;
    dashboard.begin(1, "a file");
    let mut stream = Stream::open(&server).await?;
    assert_eq!(stream.next().await?.0, "snapshot");
    // More than fits the sockets' buffers: notes of 64 KiB.
    let text = "x".repeat(65_536);
    for _ in 0..2_000 {
        dashboard.note(Note {
            severity: Severity::Info,
            transfer: None,
            path: None,
            text: text.clone(),
        });
    }
    dashboard.sample(1, &near.statistics(), None);
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name == "note") {
        names.push(stream.next().await?.0);
    }
    assert_eq!(
        names.last().map(String::as_str),
        Some("snapshot"),
        "after {}",
        names.len()
    );
    assert!(names.len() < 1_000, "{}", names.len());
    Ok(())
}

#[tokio::test]
async fn printed_address_opens_the_page() -> Outcome {
    let (_dashboard, server) = start().await?;
    let url = url(server.address(), &Token::parse(TOKEN)?);
    let (host, target) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .ok_or("no path")?;
    let Answer(status, fields, body) =
        get(&server, &format!("/{target}"), &format!("Host: {host}\r\n")).await?;
    assert_eq!(
        (status, fields["content-type"].as_str()),
        (200, "text/html; charset=utf-8")
    );
    assert!(body.starts_with("<!doctype html>"), "{body}");
    let Answer(_, fields, body) = get(&server, &format!("/status.json?token={TOKEN}"), HERE).await?;
    assert_eq!(
        (fields["content-type"].as_str(), body.as_str()),
        ("application/json", "{\"is\":\"status\"}")
    );
    Ok(())
}
