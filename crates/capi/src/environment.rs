//! Environment of the process: what does it select for sockets, beside what the program asks for?

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anabranch::PolicyRecipe;

use crate::dialect::Dialect;
use crate::encryption::{Choice, Encryption};
use crate::errno::Errno;
use crate::ffi::privileges;

/// Where SCTP ports are in UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UdpPorts {
    /// UDP port *p + n* for SCTP port *p*.
    Offset(u16),
    /// The same for all.
    One(u16),
    /// None: SCTP directly over IP.
    Raw,
}

impl UdpPorts {
    fn read(text: &str) -> Option<Self> {
        match text.strip_prefix('+') {
            Some(offset) => offset.parse().ok().map(Self::Offset),
            None => text.parse().ok().filter(|port| *port != 0).map(Self::One),
        }
    }

    /// The UDP port of an SCTP port.
    pub(crate) const fn of(self, sctp: u16) -> u16 {
        match self {
            Self::Offset(offset) => sctp.wrapping_add(offset),
            Self::One(port) => port,
            Self::Raw => 0,
        }
    }

    /// The SCTP port of a UDP port that the system has chosen.
    pub(crate) const fn chosen(self, udp: u16) -> u16 {
        match self {
            Self::Offset(offset) => udp.wrapping_sub(offset),
            Self::One(_) | Self::Raw => udp,
        }
    }
}

/// What the environment selects.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// `ANABRANCH_UDP_PORT` or `ANABRANCH_RAW`.
    pub(crate) ports: UdpPorts,
    /// `ANABRANCH_PROFILE`, `ANABRANCH_POLICIES` (a file) and `ANABRANCH_SET`, in this order.
    pub(crate) policies: PolicyRecipe,
    /// `ANABRANCH_STATISTICS`: a file to which each association adds a line when it ends.
    pub(crate) statistics: Option<PathBuf>,
    /// `ANABRANCH_STATISTICS_SIGNAL`: on this signal, associations add a line that have not ended.
    pub(crate) statistics_signal: Option<i32>,
    /// `ANABRANCH_DIALECT`.
    pub(crate) dialect: Dialect,
    /// `ANABRANCH_ENCRYPTION` (a file), `ANABRANCH_KEY` (a file), `ANABRANCH_TRUST` and `ANABRANCH_CLEAR`; `None` in the clear.
    pub(crate) encryption: Option<Arc<Encryption>>,
}

impl Environment {
    /// The environment of this process. It is ignored if the process has more privileges than its starter.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a variable has an invalid value, which is said once on standard error.
    pub(crate) fn current() -> Result<&'static Self, Errno> {
        static CURRENT: OnceLock<Option<Environment>> = OnceLock::new();
        let current = CURRENT.get_or_init(|| {
            let is_ignored = privileges::exceed_those_of_the_starter();
            let is_given = |value: &String| !is_ignored && !value.is_empty();
            let value = |name: &str| std::env::var(name).ok().filter(is_given);
            Self::read(value)
                .inspect_err(|error| eprintln!("anabranch: no SCTP sockets: {error}"))
                .ok()
        });
        current.as_ref().ok_or(Errno(libc::EINVAL))
    }

    fn read(value: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let ports = ports(&value)?;
        let encryption = encryption(&value)?;
        if ports == UdpPorts::Raw && encryption.is_some() {
            return Err("ANABRANCH_RAW=1: encryption needs UDP".to_owned());
        }
        let mut policies = PolicyRecipe::default();
        if let Some(name) = value("ANABRANCH_PROFILE") {
            policies =
                PolicyRecipe::profile(&name).map_err(|error| format!("ANABRANCH_PROFILE={name}: {error}"))?;
        }
        if let Some(file) = value("ANABRANCH_POLICIES") {
            let failed = |error: String| format!("ANABRANCH_POLICIES={file}: {error}");
            let text = std::fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
            policies = policies
                .changed_by(&text)
                .map_err(|error| failed(error.to_string()))?;
        }
        for assignment in value("ANABRANCH_SET").unwrap_or_default().split_whitespace() {
            let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
            policies
                .set(key, value)
                .map_err(|error| format!("ANABRANCH_SET, {assignment}: {error}"))?;
        }
        Ok(Self {
            ports,
            policies,
            statistics: value("ANABRANCH_STATISTICS").map(PathBuf::from),
            statistics_signal: value("ANABRANCH_STATISTICS_SIGNAL")
                .map(|name| signal_number(&name))
                .transpose()?,
            dialect: match value("ANABRANCH_DIALECT") {
                None => Dialect::default(),
                Some(name) => Dialect::read(&name)
                    .ok_or_else(|| format!("ANABRANCH_DIALECT={name}: expected linux or freebsd"))?,
            },
            encryption,
        })
    }
}

/// Where SCTP ports are in UDP, unless there is none.
fn ports(value: impl Fn(&str) -> Option<String>) -> Result<UdpPorts, String> {
    match (value("ANABRANCH_RAW").as_deref(), value("ANABRANCH_UDP_PORT")) {
        (None | Some("0"), None) => Ok(UdpPorts::Offset(0)),
        (None | Some("0"), Some(text)) => UdpPorts::read(&text)
            .ok_or_else(|| format!("ANABRANCH_UDP_PORT={text}: expected a port, or + and an offset")),
        (Some("1"), None) => Ok(UdpPorts::Raw),
        (Some("1"), Some(_)) => {
            Err("ANABRANCH_RAW=1: there are no UDP ports, so unset ANABRANCH_UDP_PORT".to_owned())
        }
        (Some(other), _) => Err(format!("ANABRANCH_RAW={other}: expected 0 or 1")),
    }
}

/// Encryption: what a file says, and single variables add.
fn encryption(value: impl Fn(&str) -> Option<String>) -> Result<Option<Arc<Encryption>>, String> {
    let mut choice = Choice::default();
    if let Some(file) = value("ANABRANCH_ENCRYPTION") {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string());
        let read = text.and_then(|text| choice.read(&text));
        read.map_err(|error| format!("ANABRANCH_ENCRYPTION={file}: {error}"))?;
    }
    if let Some(file) = value("ANABRANCH_KEY") {
        let set = choice.set("key", &file);
        set.map_err(|error| format!("ANABRANCH_KEY, {error}"))?;
    }
    for (variable, name) in [("ANABRANCH_TRUST", "trust"), ("ANABRANCH_CLEAR", "clear")] {
        for one in value(variable).unwrap_or_default().split_whitespace() {
            choice
                .set(name, one)
                .map_err(|error| format!("{variable}, {error}"))?;
        }
    }
    choice.done()
}

/// Signals that are the program's to choose.
fn signal_number(name: &str) -> Result<i32, String> {
    match name {
        "USR1" => Ok(libc::SIGUSR1),
        "USR2" => Ok(libc::SIGUSR2),
        _ => Err(format!(
            "ANABRANCH_STATISTICS_SIGNAL={name}: expected USR1 or USR2"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, String> {
        Environment::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_select_ports_and_policies() {
        let plain = read(&[]).unwrap();
        assert_eq!((plain.ports.of(5000), plain.ports.chosen(5000)), (5000, 5000));
        let one = read(&[("ANABRANCH_UDP_PORT", "9899")]).unwrap().ports;
        assert_eq!((one.of(5000), one.chosen(5000)), (9899, 5000));
        let offset = read(&[("ANABRANCH_UDP_PORT", "+20000")]).unwrap().ports;
        assert_eq!((offset.of(5000), offset.chosen(25_000)), (25_000, 5000));
        assert_eq!(offset.chosen(offset.of(60_000)), 60_000);
        let chosen = [
            ("ANABRANCH_PROFILE", "cmt"),
            ("ANABRANCH_SET", "path-scheduler=round-robin ecn=on"),
        ];
        let all = read(&chosen).unwrap().policies.assignments();
        for wanted in [("path-scheduler", "round-robin"), ("ecn", "on")] {
            assert!(
                all.iter().any(|(k, v)| (k.as_str(), v.as_str()) == wanted),
                "{all:?}"
            );
        }
    }

    #[test]
    fn invalid_variables_are_named() {
        for (name, value) in [
            ("ANABRANCH_UDP_PORT", "70000"),
            ("ANABRANCH_UDP_PORT", "0"),
            ("ANABRANCH_RAW", "yes"),
            ("ANABRANCH_PROFILE", "quic"),
            ("ANABRANCH_POLICIES", "/missing"),
            ("ANABRANCH_SET", "path-scheduler"),
            ("ANABRANCH_STATISTICS_SIGNAL", "KILL"),
            ("ANABRANCH_DIALECT", "solaris"),
            ("ANABRANCH_ENCRYPTION", "/missing"),
            ("ANABRANCH_KEY", "/missing"),
            ("ANABRANCH_TRUST", "nobody"),
            ("ANABRANCH_CLEAR", "somewhere"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
    }
}
