//! A tunnel with a TUN device: programs that know nothing of it, over two links. Needs root, curl and Python.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anabranch::PrivateKey;
use anabranch_types::Seed;
use tempfile::TempDir;

use super::harness::{PROGRAM, Running, needs_root, run};
use super::network::{Host, Network};

/// What stands behind the server: HTTP at port 80, and UDP echo at port 53 and 5000, of both IP versions.
const SITE: &str = r#"
import http.server, socket, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        with open(FILE, 'rb') as file:
            while (part := file.read(1 << 16)): self.wfile.write(part)
    def do_PUT(self):
        left = int(self.headers['Content-Length'])
        while left: left -= len(self.rfile.read(min(left, 1 << 16)))
        self.send_response(200); self.end_headers(); self.wfile.write(b'stored')
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6
def echo(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(('::', port))
    while True:
        data, source = s.recvfrom(65535); s.sendto(data, source)
for port in (53, 5000): threading.Thread(target=echo, args=(port,)).start()
server = Server(('::', 80), Handler)
print('ready', flush=True)
server.serve_forever()
"#;

/// Sends datagrams to a host and port, one by one and many at once, and prints where answers come from; or an ICMP echo request.
const ASK: &str = r#"
import socket, struct, sys
host, port = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ':' in host else socket.AF_INET
if port == 0:
    s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMP); s.settimeout(20)
    body = struct.pack('!HH', 77, 1) + b'anabranch!'
    total = 0x800 + sum(struct.unpack('!7H', body)); total = (total >> 16) + (total & 0xffff)
    s.sendto(struct.pack('!BBH', 8, 0, ~total & 0xffff) + body, (host, 0))
    answer = s.recv(100)
    assert answer[20:22] == b'\0\0' and answer[24:] == body, answer
    print(host)
else:
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(20)
    for length in (0, 1, 1400):
        data = bytes(length); s.sendto(data, (host, port))
        answer, source = s.recvfrom(65535)
        assert answer == data, len(answer)
        print(source[0])
    # Those that come back together may be one packet with many segments.
    length = lambda number: 30 if number % 7 == 0 else 1200
    burst = [bytes([number]) * length(number) for number in range(40)]
    for data in burst: s.sendto(data, (host, port))
    assert sorted(s.recv(65535) for _ in burst) == burst
"#;

const CONTENT: usize = 12 << 20;

/// The longest time until the kernel has taken back what a killed process had.
const MOMENT: Duration = Duration::from_secs(5);

/// A client with two links to a server, which would also forward its packets to the site behind it.
struct Site {
    client: Host,
    server: Host,
    folder: TempDir,
    files: [PathBuf; 2],
    content: Vec<u8>,
    // In the order in which they end.
    _site: Child,
    _network: Network,
}

/// A program that is killed when dropped.
struct Child(std::process::Child);

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A download by a program that knows nothing of the tunnel, of which two megabytes have arrived.
struct Download {
    _curl: Child,
    output: ChildStdout,
    got: Vec<u8>,
}

impl Download {
    fn start(site: &Site) -> Self {
        let mut curl = site.client.command("curl");
        let curl = curl.args(["--disable", "--silent", "--noproxy", "*", "http://192.0.2.2/"]);
        let mut curl = Child(curl.stdout(Stdio::piped()).spawn().unwrap());
        let mut output = curl.0.stdout.take().unwrap();
        let mut got = vec![0; 2 << 20];
        output.read_exact(&mut got).unwrap();
        Self {
            _curl: curl,
            output,
            got,
        }
    }

    fn finish(mut self, site: &Site) {
        self.output.read_to_end(&mut self.got).unwrap();
        assert!(
            self.got == site.content,
            "{} bytes arrived, or others",
            self.got.len()
        );
    }
}

impl Site {
    /// The links have 20 and 10 Mbit/s in both directions. `keys` are added to the `[Interface]` of the client.
    fn make(keys: &str) -> Option<Self> {
        let mut network = Network::new()?;
        let (client, server, site) = (
            network.host("client"),
            network.router("server"),
            network.host("site"),
        );
        for (number, rate) in [(1, 20), (2, 10)] {
            let (ours, theirs) = (format!("up{number}"), format!("down{number}"));
            client.connect(&ours, &server, &theirs);
            for (host, device, last) in [(&client, &ours, 1), (&server, &theirs, 2)] {
                host.add_address(device, &format!("10.83.{number}.{last}/24"));
                host.add_address(device, &format!("fd83:{number}::{last}/64"));
                host.shape_with_queue(device, rate, 60);
            }
            client.run(&format!(
                "ip route add default via 10.83.{number}.2 metric {number}"
            ));
            client.run(&format!(
                "ip -6 route add default via fd83:{number}::2 metric {number}"
            ));
        }
        server.connect("lan", &site, "eth0");
        for (host, device, last) in [(&server, "lan", 1), (&site, "eth0", 2)] {
            host.add_address(device, &format!("192.0.2.{last}/24"));
            host.add_address(device, &format!("2001:db8::{last}/64"));
        }
        site.run("ip route add default via 192.0.2.1");
        site.run("ip -6 route add default via 2001:db8::1");
        let mut sysctl = server.command("sysctl");
        // `ping` without privileges, as most distributions have it.
        let set = sysctl
            .args(["-q", "net.ipv4.ping_group_range=0 2147483647"])
            .status();
        assert!(set.unwrap().success());
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..CONTENT)
            .map(|place| (place * 31 + (place >> 11)) as u8)
            .collect();
        let file = folder.path().join("content");
        fs::write(&file, &content).unwrap();
        let script = format!("FILE = {:?}\n{SITE}", file.to_str().unwrap());
        let mut python = site.command("python3");
        let mut python = python
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        python.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        let files = files(folder.path(), keys);
        Some(Self {
            client,
            server,
            folder,
            files,
            content,
            _site: Child(python),
            _network: network,
        })
    }

    /// Starts the server, and the client. Returns both when there is a tunnel, with two paths.
    fn start(&self) -> [Running; 2] {
        let mut server = tunnel(&self.server, &self.files[0]);
        server.event("tunnel-listening");
        let client = self.start_client();
        [server, client]
    }

    fn start_client(&self) -> Running {
        let mut client = tunnel(&self.client, &self.files[1]);
        client.event("tunnel-device");
        let up = client.event("tunnel-up");
        if up["paths"].as_array().is_some_and(|paths| paths.len() < 2) {
            client.event("path");
        }
        client
    }

    fn curl(&self, arguments: &[&str]) -> Output {
        let mut curl = self.client.command("curl");
        let curl = curl.args([
            "--disable",
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--max-time",
            "100",
        ]);
        curl.args(arguments).output().unwrap()
    }

    /// Where answers come from to what a program sends to `host`.
    fn ask(&self, host: &str, port: &str) -> String {
        let mut python = self.client.command("python3");
        let asked = python.args(["-c", ASK, host, port]).output().unwrap();
        assert!(
            asked.status.success(),
            "{host} {port}: {}",
            String::from_utf8_lossy(&asked.stderr)
        );
        String::from_utf8(asked.stdout).unwrap()
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Devices, routes and rules of the client.
    fn configuration(&self) -> String {
        let lists = [
            &["-o", "link"][..],
            &["route"],
            &["-6", "route"],
            &["rule"],
            &["-6", "rule"],
        ];
        let list = |arguments: &&[&str]| {
            let output = self.client.command("ip").args(*arguments).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        lists.iter().map(list).collect()
    }
}

fn tunnel(host: &Host, file: &Path) -> Running {
    let mut command = host.command(PROGRAM);
    command.args(["tunnel", "--json"]).arg(file);
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running::start(command)
}

/// Both files of `anabranch tunnel init --tun`.
fn files(folder: &Path, keys: &str) -> [PathBuf; 2] {
    let named = folder.join("files");
    let servers = "10.83.1.2,10.83.2.2";
    let made = run(&[
        "tunnel",
        "init",
        "--tun",
        "--server",
        servers,
        named.to_str().unwrap(),
    ]);
    assert!(made.status.success(), "{made:?}");
    let files = ["server.conf", "client.conf"].map(|name| named.join(name));
    let text = fs::read_to_string(&files[1]).unwrap();
    fs::write(
        &files[1],
        text.replace("[Interface]\n", &format!("[Interface]\n{keys}")),
    )
    .unwrap();
    files
}

#[test]
fn programs_use_both_links_through_the_device() {
    let made = needs_root("network namespaces", || {
        Site::make("DNS = 192.0.2.2, 2001:db8::2\n")
    });
    let Some(site) = made else { return };
    let _tunnel = site.start();
    let sent = || ["down1", "down2"].map(|device| site.server.bytes_sent(device));
    let before = sent();
    let fetched = site.file("fetched");
    let got = site.curl(&["--output", &fetched, "http://192.0.2.2/"]);
    assert!(got.status.success(), "{got:?}");
    assert!(fs::read(&fetched).unwrap() == site.content, "other bytes arrived");
    let after = sent();
    let carried = [0, 1].map(|link| (after[link] - before[link]) as f64 / CONTENT as f64);
    println!("of a download, the links carried {carried:.2?}");
    // The better link has two thirds of the capacity; alone, it would carry everything.
    assert!(carried[0] < 0.85 && carried[1] > 0.2, "{carried:?}");
    let stored = site.curl(&["--upload-file", &fetched, "http://[2001:db8::2]/"]);
    assert_eq!(String::from_utf8_lossy(&stored.stdout), "stored", "{stored:?}");

    for host in ["192.0.2.2", "2001:db8::2"] {
        assert_eq!(site.ask(host, "5000"), format!("{host}\n").repeat(3));
    }
    // Wherever a program sends a query, the name server of the file answers.
    assert_eq!(site.ask("198.51.100.53", "53"), "198.51.100.53\n".repeat(3));
    assert_eq!(site.ask("192.0.2.2", "0"), "192.0.2.2\n");
    // A port at which nothing listens, and the host of the server itself: curl cannot connect (7), and is told at once.
    for url in ["http://192.0.2.2:81/", "http://192.0.2.1/"] {
        let refused = site.curl(&[url]);
        assert_eq!(refused.status.code(), Some(7), "{refused:?}");
    }
}

#[test]
fn download_through_the_device_survives_a_cut_link() {
    let Some(site) = needs_root("network namespaces", || Site::make("")) else {
        return;
    };
    let _tunnel = site.start();
    let download = Download::start(&site);
    // The link that carries most of it.
    site.server.run("nft add table inet cut");
    for hook in ["input", "output"] {
        site.server.run(&format!(
            "nft add chain inet cut {hook} {{ type filter hook {hook} priority 0 ; }}"
        ));
        let device = if hook == "input" { "iifname" } else { "oifname" };
        site.server
            .run(&format!("nft add rule inet cut {hook} {device} down1 drop"));
    }
    download.finish(&site);
}

/// Both links get other addresses, one after the other, as those of cellular networks do.
#[test]
fn download_through_the_device_survives_new_addresses_of_both_links() {
    let Some(site) = needs_root("network namespaces", || Site::make("")) else {
        return;
    };
    let [_server, mut client] = site.start();
    let download = Download::start(&site);
    for link in [1, 2] {
        site.client
            .run(&format!("ip address delete 10.83.{link}.1/24 dev up{link}"));
        site.client
            .add_address(&format!("up{link}"), &format!("10.83.{link}.9/24"));
        site.client.run(&format!(
            "ip route replace default via 10.83.{link}.2 metric {link}"
        ));
        let local = format!("10.83.{link}.9:");
        let works = client.skip_until(|event| {
            event["local"]
                .as_str()
                .is_some_and(|address| address.starts_with(&local))
                && event["change"] == "active"
        });
        assert!(works, "no path from {local} works");
    }
    download.finish(&site);
}

#[test]
fn killed_client_leaves_nothing_behind() {
    let Some(site) = needs_root("network namespaces", || Site::make("DNS = 192.0.2.2\n")) else {
        return;
    };
    let before = site.configuration();
    let [_server, mut client] = site.start();
    assert_ne!(site.configuration(), before);
    client.kill();
    assert_eq!(site.configuration(), before);
    let client = site.start_client();
    client.interrupt();
    assert_eq!(client.end().0, Some(130));
    assert_eq!(site.configuration(), before);
}

#[test]
fn kill_switch_lets_nothing_past_a_killed_client() {
    let Some(site) = needs_root("network namespaces", || Site::make("KillSwitch = on\n")) else {
        return;
    };
    let before = site.configuration();
    let urls = ["http://192.0.2.2:81/", "http://[2001:db8::2]:81/"];
    // Without a tunnel, packets pass: the site refuses the connection.
    let forwarded = |table: &str| {
        let listed = site
            .server
            .command("nft")
            .args(["list", "table", "inet", table])
            .output();
        let text = String::from_utf8(listed.unwrap().stdout).unwrap();
        !text.contains("counter packets 0")
    };
    let count = |table: &str| {
        site.server.run(&format!("nft add table inet {table}"));
        site.server.run(&format!(
            "nft add chain inet {table} through {{ type filter hook forward priority 0 ; }}"
        ));
        site.server.run(&format!(
            "nft add rule inet {table} through iifname != lan counter"
        ));
    };
    count("before");
    urls.iter().for_each(|url| drop(site.curl(&[url])));
    assert!(forwarded("before"));

    let [_server, mut client] = site.start();
    count("after");
    let attempts = |site: &Site| {
        for url in urls {
            assert_eq!(site.curl(&[url]).status.code(), Some(7), "{url}");
        }
        let mut python = site.client.command("python3");
        let asked = python.args([
            "-c",
            "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.2', 53))",
        ]);
        asked.output().unwrap()
    };
    attempts(&site);
    client.kill();
    assert!(!attempts(&site).status.success());
    // The next start takes it over, and its end takes it away.
    let client = site.start_client();
    assert_eq!(site.ask("192.0.2.2", "5000"), "192.0.2.2\n".repeat(3));
    assert!(!forwarded("after"), "a packet has passed the tunnel by");
    client.interrupt();
    assert_eq!(client.end().0, Some(130));
    assert_eq!(site.configuration(), before);
    urls.iter().for_each(|url| drop(site.curl(&[url])));
    assert!(forwarded("after"));
}

#[test]
fn start_that_fails_leaves_the_kill_switch_of_a_killed_client_on() {
    let Some(site) = needs_root("network namespaces", || Site::make("KillSwitch = on\n")) else {
        return;
    };
    let ipv6_of_new_devices = |is_off: u8| {
        let value = format!("net.ipv6.conf.default.disable_ipv6={is_off}");
        let set = site.client.command("sysctl").args(["-q", &value]).status();
        assert!(set.unwrap().success());
    };
    let fails = || {
        let mut client = tunnel(&site.client, &site.files[1]);
        assert!(client.skip_until(|event| event.to_string().contains("address add")));
        assert_eq!(client.exit_code(), Some(1));
    };
    let before = site.configuration();
    // Without an earlier run, nothing is left.
    ipv6_of_new_devices(1);
    fails();
    assert_eq!(site.configuration(), before);

    ipv6_of_new_devices(0);
    let [_server, mut client] = site.start();
    client.kill();
    // One that was killed while it took the rules over.
    site.client.run("ip rule add preference 9900 unreachable");
    ipv6_of_new_devices(1);
    fails();
    for url in ["http://192.0.2.2:81/", "http://[2001:db8::2]:81/"] {
        let refused = site.curl(&[url]);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            site.configuration().contains("9899:") && refused.status.code() == Some(7),
            "{error}"
        );
    }
    ipv6_of_new_devices(0);
    let client = site.start_client();
    client.interrupt();
    assert_eq!(client.end().0, Some(130));
    assert_eq!(site.configuration(), before);
}

#[test]
fn device_on_a_host_without_ipv6_has_ipv4() {
    let Some(site) = needs_root("network namespaces", || Site::make("")) else {
        return;
    };
    for scope in ["all", "default"] {
        site.client
            .run(&format!("sysctl -q net.ipv6.conf.{scope}.disable_ipv6=1"));
    }
    let mut server = tunnel(&site.server, &site.files[0]);
    server.event("tunnel-listening");
    let mut client = tunnel(&site.client, &site.files[1]);
    assert!(client.skip_until(|event| event.to_string().contains("IPv6 is off on this host")));
    let device = client.event("tunnel-device");
    assert_eq!(device["addresses"], serde_json::json!(["10.98.99.1/24"]));
    client.event("tunnel-up");
    assert_eq!(site.ask("192.0.2.2", "5000"), "192.0.2.2\n".repeat(3));
}

#[test]
fn device_carries_again_when_its_peer_comes_back() {
    let Some(site) = needs_root("network namespaces", || Site::make("")) else {
        return;
    };
    let [_server, mut client] = site.start();
    let file = &site.files[1];
    let valid = fs::read_to_string(file).unwrap();
    let known = valid.lines().find(|line| line.starts_with("PublicKey")).unwrap();
    let other = PrivateKey::generate().unwrap().public_key();
    let without = valid.replace(known, &format!("PublicKey = {other}"));
    for (text, restart) in [(&without, 1), (&valid, 0)] {
        fs::write(file, text).unwrap();
        client.signal("-HUP");
        let told = client.event("tunnel-reloaded");
        assert_eq!(told["needs_restart"].as_array().unwrap().len(), restart, "{told}");
        assert_eq!(told["changes"].as_array().unwrap().len(), 2, "{told}");
    }
    client.event("tunnel-up");
    assert_eq!(site.ask("192.0.2.2", "5000"), "192.0.2.2\n".repeat(3));
    assert_eq!(site.ask("2001:db8::2", "5000"), "2001:db8::2\n".repeat(3));
}

/// Sends datagrams of both IP versions, and questions to name servers, until it is killed.
const TALK: &str = r#"
import itertools, socket, time
v4, v6 = (socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6))
for _ in itertools.count():
    for s, to in ((v4, ('192.0.2.2', 9)), (v6, ('2001:db8::2', 9)), (v4, ('198.51.100.53', 53))):
        try: s.sendto(b'x', to)
        except OSError: pass
    time.sleep(0.001)
"#;

/// Kills the client in its start, whatever it has just done, and while it carries.
#[test]
fn client_killed_at_random_moments_leaves_nothing_behind_and_nothing_open() {
    let keys = "KillSwitch = on\nDNS = 192.0.2.2\n";
    let Some(site) = needs_root("network namespaces", || Site::make(keys)) else {
        return;
    };
    let before = site.configuration();
    // Without rules, of which the kill switch has some.
    let links = || -> String {
        let text = site.configuration();
        let is_rule = |line: &&str| {
            line.split_once(':')
                .is_some_and(|(at, _)| at.parse::<u32>().is_ok())
        };
        let (rules, others): (Vec<&str>, Vec<&str>) = text.lines().partition(is_rule);
        // Links have numbers, too.
        let links = rules.into_iter().filter(|line| line.contains("mtu"));
        links.chain(others).collect::<Vec<_>>().join("\n")
    };
    let untouched = links();
    let mut server = tunnel(&site.server, &site.files[0]);
    server.event("tunnel-listening");
    site.start_client().kill();
    site.server.run("nft add table inet leaks");
    site.server
        .run("nft add chain inet leaks through { type filter hook forward priority 0 ; }");
    site.server
        .run("nft add rule inet leaks through iifname != lan counter");
    let mut python = site.client.command("python3");
    let _talk = Child(python.args(["-c", TALK]).spawn().unwrap());
    let seed = u64::from(std::process::id());
    let mut rng = Seed(seed).rng();
    for round in 0..20 {
        let mut client = tunnel(&site.client, &site.files[1]);
        // Each look takes some milliseconds, and the start some dozens of them.
        for _ in 0..rng.below(40) {
            site.client.bytes_sent("up1");
        }
        client.kill();
        // A child of the client that has not executed its program yet holds the device, too.
        let killed = Instant::now();
        while links() != untouched && killed.elapsed() < MOMENT {}
        assert_eq!(links(), untouched, "round {round} of seed {seed}");
    }
    let client = site.start_client();
    assert_eq!(site.ask("192.0.2.2", "5000"), "192.0.2.2\n".repeat(3));
    let listed = site
        .server
        .command("nft")
        .args(["list", "table", "inet", "leaks"])
        .output();
    let leaks = String::from_utf8(listed.unwrap().stdout).unwrap();
    assert!(leaks.contains("counter packets 0 "), "seed {seed}: {leaks}");
    client.interrupt();
    assert_eq!(client.end().0, Some(130));
    assert_eq!(site.configuration(), before);
}

#[test]
fn second_tunnel_leaves_the_kill_switch_of_the_first_alone() {
    let Some(site) = needs_root("network namespaces", || Site::make("KillSwitch = on\n")) else {
        return;
    };
    let before = site.configuration();
    let [_server, client] = site.start();
    let rules = |site: &Site| {
        let list = |version| {
            let listed = site.client.command("ip").args([version, "rule"]).output();
            String::from_utf8(listed.unwrap().stdout).unwrap()
        };
        ["-4", "-6"].map(list)
    };
    let first = rules(&site);
    assert!(first.iter().all(|rules| rules.contains("9899:")), "{first:?}");
    let text = fs::read_to_string(&site.files[1]).unwrap();
    let text = text.replace("Tun = anabranch0", "Tun = anabranch1").replace(
        "Address = 10.98.99.1/24, fd98:99::1/64",
        "Address = 10.97.99.1/24\nRoute = 198.51.100.0/24",
    );
    let second = site.folder.path().join("second.conf");
    // A second kill switch is refused, and without one the rules are none of its business.
    fs::write(&second, &text).unwrap();
    let refused = site
        .client
        .command(PROGRAM)
        .arg("tunnel")
        .arg(&second)
        .output()
        .unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1) && told.contains("another tunnel on this host"),
        "{told}"
    );
    assert_eq!(rules(&site), first);
    fs::write(&second, text.replace("KillSwitch = on\n", "")).unwrap();
    let mut other = tunnel(&site.client, &second);
    other.event("tunnel-device");
    assert_eq!(rules(&site), first);
    other.interrupt();
    assert_eq!(other.end().0, Some(130));
    assert_eq!(rules(&site), first);
    client.interrupt();
    assert_eq!(client.end().0, Some(130));
    assert_eq!(site.configuration(), before);
}

#[test]
fn backup_link_carries_only_when_the_other_one_is_cut() {
    let made = needs_root("network namespaces", || {
        Site::make("Path = up1\nPath = up2, backup, cap=8Mbit\n")
    });
    let Some(site) = made else { return };
    let _tunnel = site.start();
    let status = |json: &[&str]| {
        let mut command = site.client.command(PROGRAM);
        let asked = command
            .args(["tunnel", "status"])
            .arg(&site.files[1])
            .args(json)
            .output();
        String::from_utf8(asked.unwrap().stdout).unwrap()
    };
    let text = status(&[]);
    assert!(
        text.contains("(backup, at most 8.0 Mbit/s): active, rests"),
        "{text}"
    );
    let told: serde_json::Value = serde_json::from_str(&status(&["--json"])).unwrap();
    let paths = &told["peers"][0]["tunnels"][0]["paths"];
    let found = paths.as_array().unwrap().iter().find(|path| path["cost"] == 255);
    assert!(
        found.is_some_and(|path| path["resting"] == true && path["limit_bit_s"] == 8_000_000),
        "{told}"
    );
    // Both directions: the server does as the file of the client says.
    let sent = || [site.server.bytes_sent("down2"), site.client.bytes_sent("up2")];
    let before = sent();
    let fetched = site.file("fetched");
    let got = site.curl(&["--output", &fetched, "http://192.0.2.2/"]);
    assert!(got.status.success(), "{got:?}");
    assert!(fs::read(&fetched).unwrap() == site.content, "other bytes arrived");
    let put = site.curl(&["--upload-file", &fetched, "http://192.0.2.2/"]);
    assert_eq!(String::from_utf8_lossy(&put.stdout), "stored", "{put:?}");
    let after = sent();
    let carried = [0, 1].map(|link| after[link] - before[link]);
    println!("while it rests, the backup carries {carried:?} of {CONTENT} bytes");
    assert!(carried.iter().all(|bytes| *bytes < 200_000), "{carried:?}");

    site.client.run("ip link set up1 down");
    let begun = Instant::now();
    let got = site.curl(&["--output", &fetched, "http://192.0.2.2/"]);
    assert!(got.status.success(), "{got:?}");
    assert!(fs::read(&fetched).unwrap() == site.content, "other bytes arrived");
    let rate = CONTENT as f64 * 8e-6 / begun.elapsed().as_secs_f64();
    println!("over the backup with a cap of 8 Mbit/s: {rate:.1} Mbit/s");
    // Not slower by accident only: the cap is what limits it, as the link has 10 Mbit/s.
    assert!(rate < 8.0, "{rate}");
}

/// What has to be set up needs rights; who has none is told, and what he can do without.
#[test]
fn device_without_rights_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let [_, client] = files(folder.path(), "");
    let mut command = Command::new("setpriv");
    let command = command.args(["--bounding-set=-all", "--inh-caps=-all", PROGRAM, "tunnel"]);
    let refused = command.arg(&client).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1) && text.contains("CAP_NET_ADMIN"),
        "{text}"
    );
}
