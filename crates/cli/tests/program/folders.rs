//! Tests of folders and several files. Does everything arrive as it was, in one transfer?

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::harness::{Receiver, anabranch, file, run};

/// A folder with a file of each kind in it.
fn photos(outbox: &TempDir) -> PathBuf {
    let top = outbox.path().join("photos");
    fs::create_dir_all(top.join("2026/.hidden")).unwrap();
    fs::create_dir(top.join("empty")).unwrap();
    fs::write(top.join("2026/a.jpg"), "a picture").unwrap();
    fs::write(top.join("2026/.hidden/aux.c"), "a name of a device elsewhere").unwrap();
    fs::write(top.join("run.sh"), "#!/bin/sh").unwrap();
    fs::set_permissions(top.join("run.sh"), Permissions::from_mode(0o750)).unwrap();
    fs::write(top.join("private"), "").unwrap();
    fs::set_permissions(top.join("private"), Permissions::from_mode(0o400)).unwrap();
    symlink("2026/a.jpg", top.join("best")).unwrap();
    symlink("../empty", top.join("2026/back")).unwrap();
    let sparse = File::create(top.join("disk.img")).unwrap();
    sparse.write_all_at(b"in the middle", 40_000_000).unwrap();
    sparse.set_len(64_000_000).unwrap();
    for (age, name) in [
        "2026/a.jpg",
        "2026/.hidden",
        "2026",
        "run.sh",
        "empty",
        "disk.img",
        ".",
    ]
    .iter()
    .enumerate()
    {
        let time = SystemTime::UNIX_EPOCH
            + Duration::from_nanos(1_500_000_000_123_456_789 + age as u64 * 1_000_000_000);
        File::open(top.join(name)).unwrap().set_modified(time).unwrap();
    }
    top
}

/// Path, kind, permissions, size or target, and time of everything in a folder.
fn listing(top: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let shown = path.strip_prefix(top).unwrap().display().to_string();
        let (mode, time) = (metadata.mode(), metadata.modified().unwrap());
        let what = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().display().to_string()
        } else if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            String::new()
        } else {
            metadata.len().to_string()
        };
        lines.push(format!("{shown} {mode:o} {what} {time:?}"));
    }
    lines.sort();
    lines
}

#[test]
fn folder_arrives_as_it_was() {
    let outbox = tempfile::tempdir().unwrap();
    let top = photos(&outbox);
    let mut receiver = Receiver::start("127.0.0.1,127.0.0.2", &["--once"]);
    let mut sender = receiver.sender(&top, &["--from", "127.0.0.1,127.0.0.2"]);
    let summary = sender.event("summary");
    assert_eq!(sender.end(), (Some(0), String::new()));
    assert_eq!(
        (&summary["files"], &summary["name"]),
        (&5.into(), &"photos".into())
    );
    assert_eq!(receiver.running.event("stored")["entries"][0]["kind"], "folder");
    assert_eq!(receiver.running.end().0, Some(0));
    let arrived = receiver.folder.path().join("photos");
    assert_eq!(listing(&arrived), listing(&top));
    for name in ["2026/a.jpg", "2026/.hidden/aux.c", "disk.img"] {
        assert!(
            fs::read(arrived.join(name)).unwrap() == fs::read(top.join(name)).unwrap(),
            "{name}"
        );
    }
    let on_disk = fs::metadata(arrived.join("disk.img")).unwrap().blocks() * 512;
    assert!(on_disk < 1_000_000, "{on_disk}");
    // Nothing is left beside it.
    let left: Vec<_> = fs::read_dir(receiver.folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn several_paths_are_one_transfer() {
    let outbox = tempfile::tempdir().unwrap();
    let (top, a, b) = (
        photos(&outbox),
        file(&outbox, "a", 3_000_000),
        file(&outbox, "b", 0),
    );
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let paths = [&top, &a, &b].map(|path| path.to_str().unwrap());
    let sent = run(&[&["send", "--to", &receiver.to][..], &paths].concat());
    let line = String::from_utf8(sent.stdout).unwrap();
    let (_, address) = receiver.to.split_once('@').unwrap();
    assert!(
        line.contains(&format!(
            "sent photos and 2 others to {address}: 7 files, 67.0 MB in "
        )),
        "{line}"
    );
    let stored = receiver.running.event("stored");
    assert_eq!(
        (&stored["files"], stored["entries"].as_array().unwrap().len()),
        (&7.into(), 3)
    );
    let names = receiver.stored_names();
    assert_eq!(names, ["a", "b", "photos"]);
}

#[test]
fn existing_folder_is_added_to_only_with_force() {
    let outbox = tempfile::tempdir().unwrap();
    let top = photos(&outbox);
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    let there = receiver.folder.path().join("photos");
    fs::create_dir_all(there.join("2026")).unwrap();
    fs::write(there.join("2026/a.jpg"), "precious").unwrap();
    fs::write(there.join("other"), "precious too").unwrap();
    let refusal = receiver.sender(&top, &[]).event("error");
    assert!(
        refusal["message"]
            .as_str()
            .unwrap()
            .contains("photos exists already"),
        "{refusal}"
    );
    receiver.running.event("error");
    assert_eq!(fs::read(there.join("2026/a.jpg")).unwrap(), b"precious");

    let mut forced = Receiver::start_in(receiver.folder, "127.0.0.1", &["--force", "--once"]);
    assert_eq!(forced.sender(&top, &[]).end().0, Some(0));
    forced.running.event("stored");
    let there = forced.folder.path().join("photos");
    assert_eq!(fs::read(there.join("2026/a.jpg")).unwrap(), b"a picture");
    assert_eq!(fs::read(there.join("other")).unwrap(), b"precious too");
    assert!(there.join("2026/.hidden/aux.c").exists());
}

#[test]
fn links_out_of_the_folder_are_left_out_unless_wanted() {
    let outbox = tempfile::tempdir().unwrap();
    let top = outbox.path().join("top");
    fs::create_dir(&top).unwrap();
    symlink("/etc/passwd", top.join("link")).unwrap();
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let mut sender = receiver.sender(&top, &[]);
    let warning = sender.event("warning");
    assert!(
        warning["message"]
            .as_str()
            .unwrap()
            .starts_with("top/link was left out"),
        "{warning}"
    );
    assert_eq!(sender.end().0, Some(0));
    receiver.running.event("warning");
    assert!(
        receiver
            .folder
            .path()
            .join("top/link")
            .symlink_metadata()
            .is_err()
    );

    let receiver = Receiver::start("127.0.0.1", &["--once", "--all-links"]);
    assert_eq!(receiver.sender(&top, &[]).end().0, Some(0));
    let target = fs::read_link(receiver.folder.path().join("top/link")).unwrap();
    assert_eq!(target, Path::new("/etc/passwd"));
}

#[test]
fn one_file_can_be_received_to_standard_output() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 3_000_000);
    let mut command = anabranch();
    command.args(["recv", "-", "--listen", "127.0.0.1:0"]);
    let mut receiver = command.spawn().unwrap();
    let mut said = std::io::BufReader::new(receiver.stderr.take().unwrap());
    let mut to = String::new();
    while !to.contains("--to ") {
        to.clear();
        assert_ne!(std::io::BufRead::read_line(&mut said, &mut to).unwrap(), 0);
    }
    let to = to.trim().rsplit(' ').next().unwrap().to_owned();
    let sending = std::thread::spawn({
        let path = path.clone();
        move || run(&["send", path.to_str().unwrap(), "--to", &to])
    });
    let received = receiver.wait_with_output().unwrap();
    assert!(received.stdout == fs::read(&path).unwrap());
    assert_eq!(received.status.code(), Some(0));
    assert_eq!(sending.join().unwrap().status.code(), Some(0));
}

#[test]
fn dry_run_lists_everything_and_sends_nothing() {
    let outbox = tempfile::tempdir().unwrap();
    let top = photos(&outbox);
    // Nobody listens there.
    let listed = run(&["send", top.to_str().unwrap(), "--to", "192.0.2.1", "--dry-run"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.contains("would send photos/2026/a.jpg, 9 bytes\n"), "{text}");
    assert!(text.ends_with("would send 5 files, 64.0 MB\n"), "{text}");
    assert_eq!(listed.status.code(), Some(0));
}

#[test]
fn rate_is_limited() {
    let outbox = tempfile::tempdir().unwrap();
    let path = file(&outbox, "a", 200_000);
    let receiver = Receiver::start("127.0.0.1", &["--once"]);
    let mut sender = receiver.sender(&path, &["--limit-rate", "1Mbit"]);
    let summary = sender.event("summary");
    // The first piece is sent at once.
    assert!(
        summary["goodput_bit_s"].as_f64().unwrap() < 2_000_000.0,
        "{summary}"
    );
    assert_eq!(sender.end().0, Some(0));
}
