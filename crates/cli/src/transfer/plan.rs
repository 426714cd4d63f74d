//! Plan of a transfer. What is sent? Files and folders that the user named, with everything in the folders.
//!
//! A link that the user names is followed, as by other programs that copy; a link in a folder is sent as a link.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::digest::Hasher;
use super::entry::{Entry, Kind, Time};
use super::error::{PlanError, SourceError};
use super::file_name::FileName;
use super::tree_path::{TreePath, is_target};

/// Everything that a transfer consists of, in the order in which it is sent: folders before what is in them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) entries: Vec<Planned>,
    /// Sum of the sizes of the files; absent if the only file is a pipe.
    pub(crate) size: Option<u64>,
    /// Bytes that the files take on the disk, less than `size` if some are sparse.
    pub(crate) space: u64,
    pub(crate) files: u64,
    /// Identifies the transfer to a receiver that has a part of it.
    pub(crate) id: Option<String>,
    /// What is left out, and why.
    pub(crate) notes: Vec<String>,
    /// The names that the user gave, as `name` or as `name and 2 others`.
    pub(crate) title: String,
    tops: Vec<PathBuf>,
}

/// An entry and where its contents come from.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) entry: Entry,
    pub(super) source: Source,
}

/// Contents of an entry.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A file, opened when it is sent.
    Path(PathBuf),
    /// A pipe or a device, or a file whose size is not known.
    Opened(PathBuf, Arc<File>),
    Stdin,
    /// A folder or a link.
    Nothing,
}

impl Plan {
    /// Looks for everything below `paths`; `-` is standard input. `name` replaces the name of the only path.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be read or sent under its name.
    pub(crate) fn of(paths: &[PathBuf], name: Option<&str>) -> Result<Self, PlanError> {
        let mut plan = Self {
            size: Some(0),
            ..Self::default()
        };
        let mut names = BTreeSet::new();
        for path in paths {
            let name = match name {
                Some(name) => name.to_owned(),
                None => name_of(path)?,
            };
            FileName::parse(&name).map_err(|error| PlanError::Name(name.clone(), error))?;
            if !names.insert(name.clone()) {
                return Err(PlanError::Twice(name));
            }
            plan.title = match paths.len() - 1 {
                0 => name.clone(),
                1 => format!("{} and 1 other", leading(&plan.entries, &name)),
                others => format!("{} and {others} others", leading(&plan.entries, &name)),
            };
            plan.add_top(path, name)?;
        }
        match (plan.size, &plan.entries[..]) {
            (None, [_, _, ..]) => Err(PlanError::Pipe),
            _ => Ok(plan),
        }
    }

    /// The first `size` bytes of a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub(crate) fn first_of(path: &Path, name: &str, size: u64) -> Result<Self, PlanError> {
        let mut plan = Self::of(&[path.to_owned()], Some(name))?;
        for planned in &mut plan.entries {
            planned.entry.size = planned.entry.size.map(|known| known.min(size));
            plan.size = planned.entry.size;
        }
        Ok(plan)
    }

    /// Makes the transfer one that can be resumed. `secret` keeps others from naming it.
    pub(crate) fn identify(&mut self, secret: &str) {
        if self.size.is_none() {
            return;
        }
        let mut hasher = Hasher::default();
        hasher.update(secret.as_bytes());
        for (path, planned) in self.tops.iter().zip(
            self.entries
                .iter()
                .filter(|planned| !planned.entry.path.contains('/')),
        ) {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            hasher.update(path.as_os_str().as_encoded_bytes());
            hasher.update(b"\0");
            hasher.update(planned.entry.path.as_bytes());
            hasher.update(b"\0");
        }
        self.id = Some(hasher.finish().to_string());
    }

    /// All files that will be read.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter_map(|planned| match &planned.source {
            Source::Path(path) | Source::Opened(path, _) => Some(path.as_path()),
            Source::Stdin | Source::Nothing => None,
        })
    }

    fn add_top(&mut self, path: &Path, name: String) -> Result<(), PlanError> {
        self.tops.push(path.to_owned());
        if path.as_os_str() == "-" {
            return self.add_stream(name, Source::Stdin);
        }
        let failed = |error| SourceError::of(path, error);
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            self.push(folder(name, &metadata), Source::Nothing);
            return self.add_folder(path);
        }
        // Opening a pipe blocks until it has a writer.
        let file = File::open(path).map_err(failed)?;
        if metadata.is_file() && (metadata.len() > 0 || is_empty(&file)) {
            self.add_file(path, name, &metadata);
            return Ok(());
        }
        self.add_stream(name, Source::Opened(path.to_owned(), Arc::new(file)))
    }

    /// Adds what has no size before its end.
    fn add_stream(&mut self, path: String, source: Source) -> Result<(), PlanError> {
        let entry = Entry {
            path,
            kind: Kind::File,
            size: None,
            target: None,
            mode: None,
            modified: None,
        };
        self.files += 1;
        self.size = None;
        self.push(entry, source);
        Ok(())
    }

    fn add_file(&mut self, path: &Path, name: String, metadata: &Metadata) {
        let entry = Entry {
            kind: Kind::File,
            size: Some(metadata.len()),
            ..folder(name, metadata)
        };
        self.files += 1;
        self.size = self.size.map(|size| size.saturating_add(metadata.len()));
        let on_disk = metadata.blocks().saturating_mul(512);
        self.space = self.space.saturating_add(metadata.len().min(on_disk));
        self.push(entry, Source::Path(path.to_owned()));
    }

    /// Adds everything in a folder, in the order of the names.
    fn add_folder(&mut self, path: &Path) -> Result<(), PlanError> {
        let mut waiting = vec![(path.to_owned(), self.entries.len() - 1)];
        while let Some((path, parent)) = waiting.pop() {
            let parent = self.entries[parent].entry.path.clone();
            let failed = |error| SourceError::of(&path, error);
            let found = fs::read_dir(&path).map_err(failed)?;
            let mut found = found.collect::<io::Result<Vec<_>>>().map_err(failed)?;
            found.sort_by_key(fs::DirEntry::file_name);
            for found in found {
                let path = found.path();
                let name = found.file_name();
                let name = name.to_str().ok_or_else(|| PlanError::NotUtf8(path.clone()))?;
                let name = format!("{parent}/{name}");
                TreePath::parse(&name).map_err(|error| PlanError::Path {
                    path: path.clone(),
                    error,
                })?;
                if self.add(&path, name)? {
                    waiting.push((path, self.entries.len() - 1));
                }
            }
        }
        Ok(())
    }

    /// Adds an entry of a folder; returns whether it is a folder itself.
    fn add(&mut self, path: &Path, name: String) -> Result<bool, PlanError> {
        let failed = |error| SourceError::of(path, error);
        let metadata = path.symlink_metadata().map_err(failed)?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            self.push(folder(name, &metadata), Source::Nothing);
            return Ok(true);
        }
        if kind.is_file() {
            self.add_file(path, name, &metadata);
        } else if kind.is_symlink() {
            let target = fs::read_link(path).map_err(failed)?;
            let target = target
                .to_str()
                .ok_or_else(|| PlanError::NotUtf8(path.to_owned()))?;
            if !is_target(target) {
                let text = format!(
                    "{} is a link whose target has control characters; left out",
                    path.display()
                );
                self.notes.push(text);
                return Ok(false);
            }
            let entry = Entry {
                kind: Kind::Link,
                target: Some(target.to_owned()),
                mode: None,
                ..folder(name, &metadata)
            };
            self.push(entry, Source::Nothing);
        } else {
            let text = format!("{} is a device, a socket or a pipe; left out", path.display());
            self.notes.push(text);
        }
        Ok(false)
    }

    fn push(&mut self, entry: Entry, source: Source) {
        self.entries.push(Planned { entry, source });
    }
}

fn folder(path: String, metadata: &Metadata) -> Entry {
    Entry {
        path,
        kind: Kind::Folder,
        size: None,
        target: None,
        mode: Some(metadata.mode() & 0o777),
        modified: Some(Time(metadata.mtime(), metadata.mtime_nsec() as u32)),
    }
}

/// The first of several names.
fn leading<'n>(entries: &'n [Planned], name: &'n str) -> &'n str {
    entries.first().map_or(name, |first| &first.entry.path)
}

/// The name of a file or folder; that of `.` is the name of the folder that it is.
fn name_of(path: &Path) -> Result<String, PlanError> {
    let whole = match path.file_name() {
        Some(_) => path.to_owned(),
        None => fs::canonicalize(path).map_err(|error| SourceError::of(path, error))?,
    };
    let name = whole.file_name().unwrap_or_default().to_str();
    name.map(str::to_owned)
        .ok_or_else(|| PlanError::NotUtf8(path.to_owned()))
}

/// Whether the first read finds the end. Virtual files such as those in /proc report size zero but have content.
fn is_empty(file: &File) -> bool {
    matches!(file.read_at(&mut [0], 0), Ok(0))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn paths(plan: &Plan) -> Vec<&str> {
        plan.entries
            .iter()
            .map(|planned| planned.entry.path.as_str())
            .collect()
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir_all(top.join("b/c")).unwrap();
        fs::write(top.join("b/c/deep"), "1234").unwrap();
        fs::write(top.join("a"), "12").unwrap();
        symlink("a", top.join("link")).unwrap();
        symlink("a\n", top.join("line")).unwrap();
        let plan = Plan::of(&[top.clone(), top.join("a")], None).unwrap();
        assert_eq!(
            paths(&plan),
            [
                "top",
                "top/a",
                "top/b",
                "top/link",
                "top/b/c",
                "top/b/c/deep",
                "a"
            ]
        );
        assert_eq!(
            (plan.size, plan.files, plan.title.as_str()),
            (Some(8), 3, "top and 1 other")
        );
        // The link with a line feed is left out: a receiver would refuse it.
        assert_eq!(plan.notes.len(), 1);
        let link = &plan.entries[3].entry;
        assert_eq!((link.kind, link.target.as_deref()), (Kind::Link, Some("a")));
    }

    #[test]
    fn two_paths_of_one_name_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let path = folder.path().join("a");
        assert!(matches!(
            Plan::of(&[path.clone(), path], None),
            Err(PlanError::Twice(_))
        ));
    }

    #[test]
    fn same_paths_have_the_same_id_for_the_same_user_only() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let id = |name, secret| {
            let mut plan = Plan::of(&[folder.path().join("a")], name).unwrap();
            plan.identify(secret);
            plan.id.unwrap()
        };
        assert_eq!(id(None, "mine"), id(None, "mine"));
        assert_ne!(id(None, "mine"), id(None, "another"));
        assert_ne!(id(None, "mine"), id(Some("b"), "mine"));
    }

    #[test]
    fn pipe_is_sent_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let both = [folder.path().join("a"), PathBuf::from("/proc/self/status")];
        assert!(matches!(Plan::of(&both, None), Err(PlanError::Pipe)));
        assert_eq!(Plan::of(&both[1..], None).unwrap().size, None);
        assert_eq!(Plan::of(&both[..1], None).unwrap().size, Some(1));
    }
}
