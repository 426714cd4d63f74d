//! Tests of test beds: links, ownership, removal. They need root, which CI has.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use anabranch_netsim::link::DropCause;
use anabranch_netsim::{LinkChange, LinkConfig, topology};
use anabranch_types::{Rate, Seed};

use super::{Bed, BedLink, BedLock, Hosts, Side, down, dropped, list};

/// Timeout for a busy machine.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// `None`, with a message, if the test does not run as root outside CI.
fn bed(name: &str, links: &[LinkConfig]) -> Option<Bed> {
    let paths: Vec<_> = links.iter().map(|link| (link.clone(), link.clone())).collect();
    match Bed::up(name, &paths, Seed(1)) {
        Ok(bed) => Some(bed),
        Err(error) if std::env::var_os("CI").is_none() && error.kind() == io::ErrorKind::PermissionDenied => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn fast() -> LinkConfig {
    LinkConfig::new(Rate::mbit(100), Duration::from_millis(1))
}

fn socket(bed: &Bed, side: Side, address: IpAddr) -> UdpSocket {
    let socket = bed
        .hosts()
        .within(side, || UdpSocket::bind((address, 9_000)))
        .unwrap()
        .unwrap();
    socket.set_read_timeout(Some(SHUTDOWN_TIMEOUT)).unwrap();
    socket
}

fn ends(bed: &Bed, path: u8) -> (UdpSocket, UdpSocket) {
    (
        socket(bed, Side::Near, topology::near_addr(path)),
        socket(bed, Side::Far, topology::far_addr(path)),
    )
}

fn send(socket: &UdpSocket, to: IpAddr, text: &str) {
    socket.send_to(text.as_bytes(), (to, 9_000)).unwrap();
}

fn hear(socket: &UdpSocket) -> (String, SocketAddr) {
    let mut buffer = [0; 4_096];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    (String::from_utf8_lossy(&buffer[..length]).into_owned(), from)
}

#[test]
fn each_path_carries_and_counts_both_directions() {
    let Some(bed) = bed("test-paths", &[fast(), fast()]) else {
        return;
    };
    for path in 0..2 {
        let (near, far) = ends(&bed, path);
        send(&near, topology::far_addr(path), "there");
        let (text, from) = hear(&far);
        assert_eq!((text.as_str(), from.ip()), ("there", topology::near_addr(path)));
        send(&far, from.ip(), "and back");
        assert_eq!(hear(&near).0, "and back");
        for from in Side::BOTH {
            let link = BedLink {
                path: path.into(),
                from,
            };
            assert_eq!(bed.statistics(link).delivered.packets, 1, "{link:?}");
        }
    }
    // The receiver may be faster than the statistics.
    while bed.timing().late.count() < 4 {
        std::thread::yield_now();
    }
    let timing = bed.timing();
    assert_eq!(
        (timing.late.count(), timing.refused, bed.overflows().unwrap()),
        (4, 0, 0)
    );
}

#[test]
fn packets_leave_the_host_as_on_a_wire() {
    let Some(bed) = bed("test-wire", &[fast()]) else {
        return;
    };
    let (near, far) = ends(&bed, 0);
    let long = "x".repeat(4_000);
    send(&near, topology::far_addr(0), &long[..1_472]);
    assert_eq!(hear(&far).0.len(), 1_472);
    let link = BedLink {
        path: 0,
        from: Side::Near,
    };
    assert_eq!(bed.statistics(link).offered.bytes, 1_500, "IP and UDP included");
    send(&near, topology::far_addr(0), &long);
    // Fragmented by the kernel, as on any device. The forwarder reads the fragments asynchronously.
    while bed.statistics(link).offered.packets < 1 + 3 {
        std::thread::yield_now();
    }
    assert_eq!(hear(&far).0.len(), 4_000);
    assert_eq!(bed.statistics(link).offered.packets, 1 + 3);
}

#[test]
fn cut_path_carries_nothing_until_healed() {
    let Some(bed) = bed("test-cut", &[fast()]) else {
        return;
    };
    let (near, far) = ends(&bed, 0);
    let link = BedLink {
        path: 0,
        from: Side::Near,
    };
    bed.apply(link, LinkChange::Cut);
    send(&near, topology::far_addr(0), "lost");
    while bed.statistics(link).dropped(DropCause::Cut).packets == 0 {
        std::thread::yield_now();
    }
    bed.apply(link, LinkChange::Heal);
    send(&near, topology::far_addr(0), "found");
    assert_eq!(hear(&far).0, "found");
}

#[test]
fn bed_has_one_owner_and_is_removed_completely() {
    let Some(first) = bed("test-owner", &[fast()]) else {
        return;
    };
    let second = Bed::up("test-owner", &[(fast(), fast())], Seed(1)).unwrap_err();
    assert_eq!(second.kind(), io::ErrorKind::ResourceBusy);
    assert!(
        second.to_string().contains("testbed down --name test-owner"),
        "{second}"
    );
    let owner = |name: &str| {
        list()
            .into_iter()
            .find(|bed| bed.name == name)
            .map(|bed| bed.owner)
    };
    assert_eq!(owner("test-owner"), Some(Some(std::process::id())));
    drop(first);
    assert_eq!(owner("test-owner"), None);
    assert!(!down("test-owner").unwrap());
}

#[test]
fn leftovers_of_a_crash_are_removed() {
    let Some(bed) = bed("test-crash", &[]) else {
        return;
    };
    drop(bed);
    // As after a crash: hosts, a program on one of them, and no lock.
    let left = Hosts::of("test-crash");
    left.make().unwrap();
    let mut program = left
        .within(Side::Far, || {
            std::process::Command::new("sleep").arg("600").spawn()
        })
        .unwrap()
        .unwrap();
    assert_eq!(
        list()
            .into_iter()
            .find(|bed| bed.name == "test-crash")
            .unwrap()
            .owner,
        None
    );
    assert!(down("test-crash").unwrap());
    assert!(!program.wait().unwrap().success(), "it was ended");
    left.make().unwrap();
    drop(Bed::up("test-crash", &[(fast(), fast())], Seed(1)).unwrap());
    assert!(!down("test-crash").unwrap());
}

#[test]
fn bed_name_is_valid_for_namespace_and_file() {
    for name in ["", "../etc", "A", "with space", &"x".repeat(41)] {
        let refused = Bed::up(name, &[], Seed(1)).unwrap_err().kind();
        assert!(matches!(
            refused,
            io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied
        ));
    }
    let taken = BedLock::take("test-name").map(drop).map_err(|error| error.kind());
    assert!(
        matches!(taken, Ok(()) | Err(io::ErrorKind::PermissionDenied)),
        "{taken:?}"
    );
}

#[test]
fn dropped_packets_are_read_from_net_dev() {
    let table = "Inter-|   Receive                                                |  Transmit\n \
                 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls worker compressed\n    \
                 lo:       0       0    0    0    0     0          0         0        0       0    0    9    0     0       0          0\n \
                 path0:    1500       1    0    2    0     0          0         0     3000       2    0    5    0     0       0          0\n";
    assert_eq!(dropped(table), 5);
}
