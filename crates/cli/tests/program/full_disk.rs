//! Full disk tests. What happens when the receiver's disk is or becomes full? The sender is told, and nothing is left. A tunnel carries on.
//!
//! Needs a file system of its own that is small: a tmpfs, which only root may mount. Others skip the test and say so.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Receiver, Running, anabranch, file, needs_root};
use crate::tunnel::{edit, event, init, start_server_for};

/// A mounted file system of one megabyte; unmounted when dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        let mounted = mount
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).output();
    }
}

#[test]
fn file_larger_than_the_free_space_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big.bin", 3_000_000);
    let target = tempfile::tempdir().unwrap();
    let place = target.path().to_owned();
    let Some(_disk) = needs_root("small file systems", || SmallDisk::mount(&place)) else {
        return;
    };
    let mut receiver = Receiver::start_in(target, "127.0.0.1", &["--once"]);
    let mut sender = receiver.sender(&path, &[]);
    let told = sender.event_after("error", |event| assert_ne!(event["event"], "progress"));
    let text = told["message"].as_str().unwrap();
    assert!(
        text.contains("the disk of the receiver has 1.0 MB free"),
        "{text}"
    );
    assert!(text.starts_with("big.bin to 127.0.0.1:"), "{text}");
    assert_eq!(sender.end().0, Some(1));
    let said = receiver.running.event("error");
    let text = said["message"].as_str().unwrap();
    assert!(text.starts_with("big.bin from 127.0.0.1:"), "{text}");
    assert!(
        text.contains("1.0 MB free, and what is sent takes 3.0 MB"),
        "{text}"
    );
}

#[test]
fn disk_that_fills_during_a_transfer_is_reported_to_both_sides() {
    let target = tempfile::tempdir().unwrap();
    let place = target.path().to_owned();
    let Some(_disk) = needs_root("small file systems", || SmallDisk::mount(&place)) else {
        return;
    };
    let mut receiver = Receiver::start_in(target, "127.0.0.1,127.0.0.2", &["--once"]);
    // The size of a pipe is not known before its end.
    let mut command = anabranch();
    command.args(["send", "-", "--json", "--name", "pipe", "--to", &receiver.to]);
    let mut sender = Running::start(command.stdin(Stdio::piped()));
    let mut input = sender.standard_input();
    let writing = std::thread::spawn(move || {
        // The sender ends before it has read everything.
        let _ = input.write_all(&[7; 3_000_000]);
    });
    let told = sender.event("error");
    writing.join().unwrap();
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("the disk of the receiver is full"),
        "{told}"
    );
    assert_eq!(sender.end().0, Some(1));
    let said = receiver.running.event("error");
    assert!(
        said["message"]
            .as_str()
            .unwrap()
            .contains("is full; free some space"),
        "{said}"
    );
    assert!(receiver.names().is_empty());
    assert_eq!(receiver.running.end().0, Some(1));
}

/// Something else takes the space that was free when the transfer began.
#[test]
fn transfer_goes_on_where_the_disk_became_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big.bin", 700_000);
    let target = tempfile::tempdir().unwrap();
    let place = target.path().to_owned();
    let Some(_disk) = needs_root("small file systems", || SmallDisk::mount(&place)) else {
        return;
    };
    let mut receiver = Receiver::start_in(target, "127.0.0.1", &[]);
    // Three seconds, of which the first has passed at the first report.
    let mut sender = receiver.sender(&path, &["--limit-rate", "2Mbit"]);
    receiver.running.event("progress");
    let ballast = place.join("ballast");
    // The disk is full before everything is written.
    let _ = fs::write(&ballast, vec![7; 1_000_000]);
    let said = receiver.running.event("error");
    let text = said["message"].as_str().unwrap();
    assert!(
        text.starts_with("big.bin from 127.0.0.1:") && text.contains("is full; free some space"),
        "{text}"
    );
    let told = sender.event("error");
    let text = told["message"].as_str().unwrap();
    assert!(
        text.starts_with("big.bin to 127.0.0.1:") && text.contains("the disk of the receiver is full"),
        "{text}"
    );
    assert_eq!(sender.end().0, Some(1));
    fs::remove_file(ballast).unwrap();
    let mut sender = receiver.sender(&path, &[]);
    let sent = sender.event("file");
    assert!(sent["from"].as_u64().unwrap() > 100_000, "{sent}");
    assert_eq!(sender.end().0, Some(0));
    receiver.running.event("stored");
    assert!(fs::read(place.join("big.bin")).unwrap() == fs::read(&path).unwrap());
}

/// A tunnel writes what is for its next run only: it carries, and says what a restart loses.
#[test]
fn tunnel_carries_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let [server, client] = init(&folder);
    let disk = tempfile::tempdir().unwrap();
    let Some(_disk) = needs_root("small file systems", || SmallDisk::mount(disk.path())) else {
        return;
    };
    let on_disk = disk.path().join("server.conf");
    fs::copy(&server, &on_disk).unwrap();
    edit(&on_disk, |text| text + "Quota = 1GB/month\n");
    let mut server = start_server_for(&client, &on_disk);
    // The disk is full before everything is written.
    let _ = fs::write(disk.path().join("ballast"), vec![7; 2_000_000]);
    let history = disk.path().join("history");
    let mut command = anabranch();
    command.args(["tunnel", "--json", "--dashboard", "--history"]);
    let mut tunnel = Running::start(command.arg(&history).arg(&client));
    event(&mut tunnel, "tunnel-up");
    event(&mut server, "tunnel-up");
    for (mut program, lost) in [(tunnel, "a restart loses the history"), (server, "another quota")] {
        program.interrupt();
        let warning = program.event("warning");
        let text = warning["message"].as_str().unwrap();
        assert!(text.contains("No space left") && text.contains(lost), "{text}");
        assert_eq!(program.end().0, Some(130));
    }
    let left = fs::read_dir(disk.path()).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["ballast", "server.conf"]);
}
