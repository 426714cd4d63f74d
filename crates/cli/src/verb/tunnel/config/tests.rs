//! Tests of the configuration: what is accepted, and what users are told of the rest.

use anabranch_tunnel::Class;

use super::*;

/// Private keys of this host and of two peers.
fn keys() -> [PrivateKey; 3] {
    [1, 2, 3].map(|_| PrivateKey::generate().unwrap())
}

fn parse_text(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("t.conf"), text).map_err(|error| error.to_string())
}

#[test]
fn server_with_two_peers_is_parsed() {
    let [own, first, second] = keys();
    let text = format!(
        "# a comment\n[Interface]\nPrivateKey = {}\nlisten = 9900 # another\n\n[Peer]\nPublicKey={}\nName = van\n\
         Allow = 10.0.0.0/8:22, 192.0.2.1\nForward = 2222:localhost:22\n[peer]\nPUBLICKEY = {}\nAllow = nothing\n",
        own.to_base64(),
        first.public_key(),
        second.public_key()
    );
    let config = parse_text(&text).unwrap();
    assert!(matches!(config.listen, Some(Listen::Everywhere(9900))));
    assert_eq!(config.key.public_key(), own.public_key());
    let [van, other] = &config.peers[..] else { panic!() };
    assert_eq!((van.name.as_str(), van.key), ("van", first.public_key()));
    assert_eq!(van.reach.to_string(), "10.0.0.0/8:22, 192.0.2.1/32");
    assert_eq!(
        (other.name.as_str(), other.reach.clone()),
        ("peer 2", Reach::Only(Vec::new()))
    );
    assert!(config.peers.iter().all(|peer| peer.endpoints.is_empty()));
    let [forward] = &config.entrances[..] else {
        panic!()
    };
    assert_eq!(
        (forward.peer, forward.listen.to_string().as_str()),
        (first.public_key(), "127.0.0.1:2222")
    );
}

#[test]
fn client_leads_its_proxies_to_the_peer_with_an_endpoint() {
    let [own, server, _] = keys();
    let text = format!(
        "[Interface]\nPrivateKey = {}\nPath = wwan0\nPath = 192.0.2.7\nSocks = 1080\nHttp = 0.0.0.0:8118\n\
         [Peer]\nPublicKey = {}\nEndpoint = server.example:9900\nEndpoint = 192.0.2.1\n",
        own.to_base64(),
        server.public_key()
    );
    let config = parse_text(&text).unwrap();
    assert_eq!(config.paths, Some(parse_from("wwan0,192.0.2.7").unwrap()));
    let [peer] = &config.peers[..] else { panic!() };
    let endpoints: Vec<String> = peer.endpoints.iter().map(ToString::to_string).collect();
    assert_eq!(endpoints, ["server.example:9900", "192.0.2.1:9899"]);
    // A server gets nothing of its client's network.
    assert_eq!(peer.reach, Reach::Only(Vec::new()));
    assert_eq!(config.entrances.len(), 2);
    assert!(
        config.warnings[0].contains("0.0.0.0:8118"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn preferences_hold_for_the_paths_of_their_line() {
    let [own, server, _] = keys();
    let text = format!(
        "[Interface]\nPrivateKey = {}\nPath = eth0\nPath = wwan0, 192.0.2.7, cost=3, cap=20Mbit\nPath = wwan1, backup\n\
         [Peer]\nPublicKey = {}\nEndpoint = 192.0.2.1\n",
        own.to_base64(),
        server.public_key()
    );
    let config = parse_text(&text).unwrap();
    assert_eq!(
        config.paths,
        Some(parse_from("eth0,wwan0,192.0.2.7,wwan1").unwrap())
    );
    let known: Vec<(u8, Option<u64>)> = config
        .preferences
        .iter()
        .map(|(_, known)| (known.cost, known.limit.map(|limit| limit.get())))
        .collect();
    assert_eq!(known, [(3, Some(2_500_000)), (3, Some(2_500_000)), (255, None)]);
    let address = "192.0.2.7".parse().unwrap();
    let of_address = crate::verb::tunnel::preferences::of_address(&config, address);
    assert_eq!(of_address, Some(config.preferences[1].1));
}

/// `text` is refused with an error that begins with `place` and contains `hint`, on one line and without secrets.
fn assert_refused(text: &str, place: &str, hint: &str) {
    let error = parse_text(text)
        .err()
        .unwrap_or_else(|| panic!("accepted:\n{text}"));
    assert!(
        error.starts_with(place) && error.contains(hint),
        "{error}\n{text}"
    );
    assert!(!error.contains('\n'), "{error}");
    let secrets = text.lines().filter_map(|line| line.strip_prefix("PrivateKey = "));
    assert!(
        secrets
            .filter(|key| key.len() > 1)
            .all(|key| !error.contains(key)),
        "{error}"
    );
}

#[test]
fn malformed_lines_are_refused_with_their_number() {
    for (text, place, hint) in [
        ("", "t.conf: ", "[Interface]"),
        ("Listen = 1", "t.conf:1: ", "before this line"),
        ("[Interface\n", "t.conf:1: ", "expected ]"),
        ("[Interface]\nx\n", "t.conf:2: ", "KEY = VALUE"),
        ("[Interface]\nListen =\n", "t.conf:2: ", "no value"),
        ("[Wifi]\n", "t.conf:1: ", "[Interface] or [Peer]"),
        (
            "[Interface]\nPort = 1\n",
            "t.conf:2: Port: ",
            "PrivateKeyFile, Listen",
        ),
        ("[Interface]\nListen = 1\n", "t.conf:1: ", "anabranch genkey"),
        (
            "[Interface]\nPrivateKey = x\n",
            "t.conf:2: PrivateKey: ",
            "anabranch genkey",
        ),
        (
            "[Interface]\nPrivateKeyFile = none\n",
            "t.conf:2: PrivateKeyFile: ",
            "none",
        ),
    ] {
        assert_refused(text, place, hint);
    }
}

#[test]
fn wrong_values_are_refused_with_what_to_write() {
    let interface = format!("[Interface]\nPrivateKey = {}\n", keys()[0].to_base64());
    let again = interface.lines().last().unwrap();
    for (line, hint) in [
        (again, "twice"),
        ("Listen = here", "all addresses"),
        ("Path = a b", "such as wwan0"),
        ("Path = wwan0, wwan0", "twice"),
        ("Path = backup", "the device or address first"),
        ("Path = wwan0, cost=255", "0 to 254"),
        ("Path = wwan0, backup, cost=1", "leave the other out"),
        ("Path = wwan0, cap=20", "10Mbit"),
        ("Path = wwan0, weight=2", "cap=20Mbit, cost=1 or backup"),
        ("Path = wwan0, metered=yes", "cost=1"),
        ("Socks = x", "127.0.0.1:1080"),
        ("Forward = 1:2", "[BIND:]PORT:HOST:HOSTPORT"),
    ] {
        let (key, _) = line.split_once(" = ").unwrap();
        assert_refused(
            &format!("{interface}{line}\n"),
            &format!("t.conf:3: {key}: "),
            hint,
        );
    }
    assert_refused(&interface, "t.conf: ", "[Peer]");
    assert_refused(&interface.repeat(2), "t.conf:3: ", "one only");
}

/// The file that others must not read is the one with the key.
#[test]
fn permissions_of_the_file_with_the_key_are_checked() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("t.conf"), folder.path().join("key"));
    let [own, peer, _] = keys();
    let write = |file: &Path, text: String, mode: u32| {
        fs::write(file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    };
    let peer = peer.public_key();
    let text = format!("[Interface]\nPrivateKeyFile = key\nListen = 9899\n[Peer]\nPublicKey = {peer}\n");
    write(&file, text, 0o644);
    write(&key, own.to_base64(), 0o600);
    assert_eq!(Config::load(&file).unwrap().warnings, [""; 0]);
    write(&key, own.to_base64(), 0o640);
    let warnings = Config::load(&file).unwrap().warnings;
    assert!(warnings[0].contains("/key; `chmod 600` it"), "{warnings:?}");
}

#[test]
fn peers_that_do_not_fit_are_refused() {
    let [own, peer, other] = keys();
    let (peer, other) = (peer.public_key(), other.public_key());
    let interface = format!("[Interface]\nPrivateKey = {}\n", own.to_base64());
    let listening = format!("{interface}Listen = 9899\n");
    let rest = format!("[Peer]\nPublicKey = {peer}\n");
    let server = format!("{listening}{rest}");
    for (text, place, hint) in [
        (format!("{interface}{rest}"), "t.conf:3: ", "Endpoint"),
        (format!("{listening}[Peer]\n"), "t.conf:4: ", "anabranch pubkey"),
        (
            format!("{server}Allow = example.org\n"),
            "t.conf:6: Allow: ",
            "10.0.0.0/8",
        ),
        (
            format!("{server}Endpoint = {peer}@192.0.2.1\n"),
            "t.conf:6: Endpoint: ",
            "alone",
        ),
        (format!("{server}{rest}"), "t.conf:6: ", "of its own"),
        (
            format!("{server}AllowedIPs = ::/0\n"),
            "t.conf:6: AllowedIPs: ",
            "Allow, Quota and Forward",
        ),
        (
            format!("{listening}Socks = 1080\n{rest}"),
            "t.conf:4: ",
            "there are 0",
        ),
        (
            format!("{listening}Path = eth0\n{rest}"),
            "t.conf:4: Path: ",
            "by Listen",
        ),
        (
            format!("{server}Name = a\n[Peer]\nPublicKey = {other}\nName = a\n"),
            "t.conf:7: ",
            "\"a\" too",
        ),
        (
            format!("{interface}Socks = 1\nHttp = 1\n{rest}Endpoint = a\n"),
            "t.conf:4: ",
            "127.0.0.1:1",
        ),
        (
            format!("{server}Forward = 2:a:1\nForward = 2:b:1\n"),
            "t.conf:7: ",
            "127.0.0.1:2",
        ),
    ] {
        assert_refused(&text, place, hint);
    }
    let ours = format!("{listening}[Peer]\nPublicKey = {}\n", own.public_key());
    assert_refused(&ours, "t.conf:4: ", "that of the other end");
}

#[test]
fn allow_of_two_kinds_is_refused() {
    let [own, peer, _] = keys();
    let (own, peer) = (own.to_base64(), peer.public_key());
    let server = format!("[Interface]\nPrivateKey = {own}\nListen = 9899\n[Peer]\nPublicKey = {peer}\n");
    for (lines, place) in [
        ("Allow = others\nAllow = ::/0\n", "t.conf:4: "),
        ("Allow = nothing\nAllow = 10.0.0.0/8\n", "t.conf:4: "),
        ("Allow = others\nAllow = nothing\n", "t.conf:4: "),
        ("Allow = others, 10.0.0.0/8\n", "t.conf:6: Allow: "),
    ] {
        assert_refused(&format!("{server}{lines}"), place, "one or the other");
    }
}

/// A client's file with these lines in `[Interface]`, and this endpoint.
fn with_tun(lines: &str, endpoint: &str) -> String {
    let [own, server, _] = keys();
    format!(
        "[Interface]\nPrivateKey = {}\n{lines}\n[Peer]\nPublicKey = {}\nEndpoint = {endpoint}\n",
        own.to_base64(),
        server.public_key()
    )
}

#[cfg(target_os = "linux")]
#[test]
fn device_carries_everything_of_its_versions_unless_told() {
    let tun = |lines: &str| parse_text(&with_tun(lines, "192.0.2.1")).unwrap();
    let config = tun("Tun = anabranch0\nAddress = 10.9.0.1/24, fd09::1/64");
    let device = config.tun.unwrap();
    assert_eq!(device.peer, config.peers[0].key);
    let routes: Vec<String> = device.routes.iter().map(ToString::to_string).collect();
    assert_eq!(routes, ["0.0.0.0/0", "::/0"]);
    assert!((device.mtu, device.has_kill_switch) == (1_500, false) && config.warnings.is_empty());
    let config = tun(
        "Tun = t\nAddress = 10.9.0.1/30\nMTU = 9000\nDNS = 192.0.2.53\nRoute = 10.0.0.1/8\nKillSwitch = on",
    );
    let device = config.tun.unwrap();
    assert_eq!(device.routes, ["10.0.0.0/8".parse().unwrap()]);
    assert!(device.mtu == 9_000 && device.has_kill_switch && device.dns.len() == 1);
    // IPv6 would pass by, and a name has to be resolved through the tunnel.
    let config = parse_text(&with_tun("Tun = t\nAddress = 10.9.0.1/24", "server.example")).unwrap();
    assert!(
        config.warnings.iter().any(|text| text.contains("IPv6")),
        "{:?}",
        config.warnings
    );
    assert!(
        config.warnings.iter().any(|text| text.contains("server.example")),
        "{:?}",
        config.warnings
    );
}

#[cfg(target_os = "linux")]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn keys_of_a_device_are_refused_with_what_to_write() {
    let device = "Tun = t\nAddress = 10.9.0.1/24";
    for (lines, endpoint, place, hint) in [
        ("Tun = a/b", "192.0.2.1", "t.conf:3: Tun: ", "anabranch0"),
        ("Tun = t", "192.0.2.1", "t.conf:3: ", "Address = 10.9.0.1/24"),
        (
            "Address = 10.9.0.1/24",
            "192.0.2.1",
            "t.conf:3: ",
            "Tun = anabranch0",
        ),
        (
            "Tun = t\nAddress = 10.9.0.0/24",
            "192.0.2.1",
            "t.conf:4: Address: ",
            "a host",
        ),
        (
            "Tun = t\nAddress = 10.9.0.1/32",
            "192.0.2.1",
            "t.conf:4: Address: ",
            "/30",
        ),
        (
            "Tun = t\nAddress = 10.9.0.1",
            "192.0.2.1",
            "t.conf:4: Address: ",
            "prefix length",
        ),
        (
            "Tun = t\nAddress = 10.9.0.1/24, 10.8.0.1/24",
            "192.0.2.1",
            "t.conf:4: Address: ",
            "already",
        ),
        (
            &format!("{device}\nMTU = 576"),
            "192.0.2.1",
            "t.conf:5: MTU: ",
            "1280",
        ),
        (
            &format!("{device}\nRoute = ::/0"),
            "192.0.2.1",
            "t.conf:3: ",
            "same IP version",
        ),
        (
            &format!("{device}\nRoute = everything"),
            "192.0.2.1",
            "t.conf:5: Route: ",
            "10.0.0.0/8",
        ),
        (
            &format!("{device}\nDNS = dns.example"),
            "192.0.2.1",
            "t.conf:5: DNS: ",
            "192.0.2.53",
        ),
        (
            &format!("{device}\nKillSwitch = yes"),
            "192.0.2.1",
            "t.conf:5: KillSwitch: ",
            "`on`",
        ),
        (
            &format!("{device}\nKillSwitch = on"),
            "192.0.2.1",
            "t.conf:3: KillSwitch: ",
            "::/0",
        ),
        (
            &format!("{device}\nRoute = none\nKillSwitch = on"),
            "192.0.2.1",
            "t.conf:3: KillSwitch: ",
            "nothing",
        ),
        (
            &format!("{device}\nKillSwitch = on"),
            "server.example",
            "t.conf:3: KillSwitch: ",
            "addresses",
        ),
    ] {
        assert_refused(&with_tun(lines, endpoint), place, hint);
    }
    let [own, peer, _] = keys();
    let text = format!(
        "[Interface]\nPrivateKey = {}\nListen = 9900\n{device}\n[Peer]\nPublicKey = {}\n",
        own.to_base64(),
        peer.public_key()
    );
    assert_refused(&text, "t.conf:4: Tun: ", "there are 0");
}

#[test]
fn what_needs_a_restart_stays_as_it_was_and_is_named() {
    let [own, peer, other] = keys();
    let file = |interface: &str, peer: &str| {
        let text = format!("[Interface]\nPrivateKey = {interface}\n[Peer]\nPublicKey = {peer}\n");
        parse_text(&text).unwrap()
    };
    let (own, peer) = (own.to_base64(), peer.public_key());
    let before = file(
        &format!("{own}\nListen = 9899\nPath = eth0, cap=1Mbit\nSocks = 1080"),
        &format!("{peer}\nEndpoint = 192.0.2.1"),
    );
    // What can be changed at once, and nothing else.
    let new = file(
        &format!("{own}\nListen = 9899\nPath = eth0, backup\nHttp = 8118"),
        &format!("{peer}\nEndpoint = 192.0.2.1\nName = server\nAllow = others"),
    );
    let (next, restart) = before.replaced_by(new.clone());
    assert!(restart.is_empty(), "{restart:?}");
    assert_eq!(next.preferences, new.preferences);
    assert_eq!((&next.entrances, &next.peers), (&new.entrances, &new.peers));
    // Everything else.
    let new = file(
        &format!("{}\nListen = 9900\nPath = eth1, cap=2Mbit", other.to_base64()),
        &format!("{peer}\nEndpoint = 192.0.2.2\nName = server"),
    );
    let (next, restart) = before.replaced_by(new);
    assert_eq!(restart, ["PrivateKey", "Listen", "Path", "Endpoint of server"]);
    assert_eq!(next.key.public_key(), before.key.public_key());
    assert_eq!((&next.listen, &next.paths), (&before.listen, &before.paths));
    assert_eq!(next.preferences, before.preferences);
    assert_eq!(next.peers[0].endpoints, before.peers[0].endpoints);
    assert_eq!(next.peers[0].name, "server");
}

#[cfg(target_os = "linux")]
#[test]
fn keys_of_a_device_need_a_restart() {
    let text = with_tun("Tun = anabranch0\nAddress = 10.9.0.1/24", "192.0.2.1");
    let before = parse_text(&text).unwrap();
    let restart = |text: &str| {
        let (next, restart) = before.replaced_by(parse_text(text).unwrap());
        assert_eq!(next.tun, before.tun);
        restart
    };
    assert!(restart(&text).is_empty());
    let other = text.replace(
        "Address = 10.9.0.1/24",
        "Address = 10.9.0.2/24\nMTU = 1400\nDNS = 192.0.2.53",
    );
    assert_eq!(restart(&other), ["Address", "MTU", "DNS"]);
    let without = text.replace("Tun = anabranch0\nAddress = 10.9.0.1/24\n", "");
    assert_eq!(restart(&without), ["Tun"]);
}

#[test]
fn classes_have_rules_and_others_are_refused() {
    let [own, peer, _] = keys();
    let file = |class: &str| {
        let (own, peer) = (own.to_base64(), peer.public_key());
        format!(
            "[Interface]\nPrivateKey = {own}\nListen = 9899\nClass = {class}\n[Peer]\nPublicKey = {peer}\n"
        )
    };
    let config = parse_text(&file("real-time, udp/5060, dscp=46\nClass = bulk, 873")).unwrap();
    let rule = |class, text| ClassRule::new(class, text).unwrap();
    assert_eq!(
        config.classes,
        [
            rule(Class::RealTime, "udp/5060"),
            rule(Class::RealTime, "dscp=46"),
            rule(Class::Bulk, "873")
        ]
    );
    let config = parse_text(&file(
        "real-time, redundant, udp/5004, 3478\nClass = real-time, redundant",
    ))
    .unwrap();
    let redundant = |text| ClassRule::redundant(Class::RealTime, text).unwrap();
    assert_eq!(
        config.classes,
        [
            redundant("udp/5004"),
            redundant("3478"),
            ClassRule::all_redundant(Class::RealTime).unwrap()
        ]
    );
    for (class, hint) in [
        ("fast, 22", "bulk, interactive or real-time"),
        ("bulk", "name what is bulk"),
        ("bulk, ssh", "udp/16384-32767"),
        ("bulk, redundant", "only real-time datagrams are redundant"),
        (
            "interactive, redundant, 22",
            "only real-time datagrams are redundant",
        ),
        ("real-time, redundant, tcp/22", "without `redundant`"),
        ("real-time, redundant, udp/5004, redundant", "written twice"),
        ("real-time, redundancy, udp/5004", "\"redundancy\" is nothing"),
    ] {
        assert_refused(&file(class), "t.conf:4: Class: ", hint);
    }
}
