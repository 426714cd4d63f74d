//! Full disk test. What happens when the receiver's disk is full? The sender is told, and nothing is left.
//!
//! Needs a file system of its own that is small: a tmpfs, which only root may mount. Others skip the test and say so.

use std::path::Path;
use std::process::Command;

use crate::harness::{Receiver, file, needs_root};

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
fn full_disk_is_reported_to_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "big.bin", 3_000_000);
    let target = tempfile::tempdir().unwrap();
    let place = target.path().to_owned();
    let Some(_disk) = needs_root("small file systems", || SmallDisk::mount(&place)) else {
        return;
    };
    let mut receiver = Receiver::start_in(target, "127.0.0.1,127.0.0.2", &["--once"]);
    let mut sender = receiver.sender(&path, &[]);
    let told = sender.event("error");
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
