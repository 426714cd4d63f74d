//! Entries of a transfer. What is sent? Files, folders and symbolic links, each with its path, permissions and time.

use serde::{Deserialize, Serialize};

/// An entry as it is sent. The path and the target are untrusted; see [`super::TreePath`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    /// Size of a file in bytes; absent if it is not known (a pipe).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// Target of a symbolic link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// Permissions, as far as the receiver grants them; absent for a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<u32>,
    /// Time of the last modification; absent for a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) modified: Option<Time>,
}

/// What an entry is. Devices, sockets and pipes in folders are not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
}

/// Seconds since 1970-01-01 and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Time(pub(crate) i64, pub(crate) u32);
