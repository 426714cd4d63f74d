//! Forwards, `[BIND:]PORT:HOST:HOSTPORT`, and addresses of proxies. Where does this host listen, and where do connections lead?

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anabranch_tunnel::Target;

/// A port of this host that leads to a target at the far side, as `ssh -L` has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Forward {
    pub(super) listen: SocketAddr,
    pub(super) target: Target,
}

const FORM: &str =
    "expected [BIND:]PORT:HOST:HOSTPORT, such as 8080:intranet.example:80, with IPv6 addresses in brackets";

/// A forward; without an address to listen at, 127.0.0.1.
pub(super) fn parse_forward(text: &str) -> Result<Forward, String> {
    let form = || format!("{text:?} is no forward: {FORM}");
    let starts_with_port = text.split(':').next().is_some_and(is_port);
    let (bind, rest) = if starts_with_port {
        (Ipv4Addr::LOCALHOST.into(), text)
    } else {
        let end = match text.strip_prefix('[') {
            Some(_) => text.find(']').map(|end| end + 1),
            None => text.find(':'),
        };
        let (bind, rest) = end.and_then(|end| text.split_at_checked(end)).ok_or_else(form)?;
        (parse_bind(bind)?, rest.strip_prefix(':').ok_or_else(form)?)
    };
    let (port, target) = rest.split_once(':').ok_or_else(form)?;
    let port = port.parse().map_err(|_| form())?;
    Ok(Forward {
        listen: SocketAddr::new(bind, port),
        target: target.parse().map_err(|error| format!("{error}; {FORM}"))?,
    })
}

/// The address of a proxy, `[BIND:]PORT`; without an address, 127.0.0.1.
pub(super) fn parse_proxy(text: &str) -> Result<SocketAddr, String> {
    let form = || {
        format!("{text:?} is no place to listen at: expected ADDRESS:PORT or PORT, such as 127.0.0.1:1080")
    };
    if is_port(text) {
        let port = text.parse().map_err(|_| form())?;
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let (bind, port) = text.rsplit_once(':').ok_or_else(form)?;
    let port = port.parse().map_err(|_| form())?;
    Ok(SocketAddr::new(parse_bind(bind).map_err(|_| form())?, port))
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse_bind(text: &str) -> Result<IpAddr, String> {
    if text == "localhost" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let parsed = inner.unwrap_or(text).parse::<IpAddr>().ok();
    // IPv6 is in brackets, IPv4 is not.
    let fits = parsed.filter(|address| address.is_ipv6() == inner.is_some());
    fits.ok_or_else(|| {
        format!("{text:?} is no address to listen at: expected one such as 127.0.0.1 or [::1]")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_have_an_address_or_none() {
        for (text, listen, target) in [
            (
                "8080:intranet.example:80",
                "127.0.0.1:8080",
                "intranet.example:80",
            ),
            ("0.0.0.0:8080:192.0.2.1:80", "0.0.0.0:8080", "192.0.2.1:80"),
            ("localhost:1:[2001:db8::1]:2", "127.0.0.1:1", "[2001:db8::1]:2"),
            ("[::1]:8080:[2001:db8::1]:80", "[::1]:8080", "[2001:db8::1]:80"),
            ("0:a:1", "127.0.0.1:0", "a:1"),
        ] {
            let forward = parse_forward(text).unwrap();
            assert_eq!(
                (
                    forward.listen.to_string().as_str(),
                    forward.target.to_string().as_str()
                ),
                (listen, target)
            );
        }
        for text in [
            "",
            "8080",
            "8080:a",
            "8080:a:0",
            "x:8080:a:80",
            "70000:a:80",
            "[::1:8080:a:80",
            "8080::80",
        ] {
            let error = parse_forward(text).unwrap_err();
            assert!(
                error.contains("[BIND:]PORT:HOST:HOSTPORT") || error.contains("no address to listen at"),
                "{error}"
            );
        }
    }

    #[test]
    fn proxies_listen_on_loopback_unless_told() {
        assert_eq!(parse_proxy("1080").unwrap().to_string(), "127.0.0.1:1080");
        assert_eq!(parse_proxy("[::1]:1080").unwrap().to_string(), "[::1]:1080");
        assert_eq!(
            parse_proxy("192.0.2.1:1080").unwrap().to_string(),
            "192.0.2.1:1080"
        );
        for text in ["", "x", "192.0.2.1", "::1:1080", "127.0.0.1:70000"] {
            assert!(
                parse_proxy(text).unwrap_err().contains("127.0.0.1:1080"),
                "{text}"
            );
        }
    }
}
