//! End of a transfer. How do complete entries get their place in the folder of the user? They are moved, each name at once.

use std::io;
use std::path::PathBuf;

use rustix::fs::fchmod;

use super::super::beneath::{enter, move_new, move_over, names, set_time, status, sync};
use super::super::error::StoreError;
use super::super::store::{StoredEntry, StoredTransfer};
use super::Storing;

impl Storing {
    /// Gives all entries their place in the folder of the user.
    pub(in super::super) fn commit(mut self) -> Result<StoredTransfer, StoreError> {
        let committed = self.move_all();
        committed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists(self.taken()),
            _ => self.folder.failed(error),
        })?;
        let folder = &self.folder.path;
        let entries = self.tops.into_iter().map(|(name, (kind, sha256))| StoredEntry {
            path: if self.folder.is_output {
                PathBuf::from("-")
            } else {
                folder.join(&name)
            },
            name,
            kind,
            sha256,
        });
        Ok(StoredTransfer {
            entries: entries.collect(),
            files: self.files,
            size: self.size,
            staging: self.staging,
        })
    }

    fn move_all(&mut self) -> io::Result<()> {
        if self.folder.is_output {
            return Ok(());
        }
        self.settle_folders(false)?;
        self.staging.set_committed(self.folder.durable)?;
        for name in names(&self.staging.tree)? {
            let (from, to) = ((&self.staging.tree, &*name), (&self.staging.target, &*name));
            match self.folder.overwrite {
                false => move_new(from, to)?,
                true => move_over(from, to)?,
            }
        }
        self.settle_folders(true)?;
        if self.folder.durable {
            sync(&self.staging.target)?;
        }
        Ok(())
    }

    /// Gives folders their permissions and times, after what is in them. A folder that may not be written can be neither moved nor
    /// emptied: those of the first names have to be moved before, and all if they may be merged with existing ones.
    fn settle_folders(&self, moved: bool) -> io::Result<()> {
        for (path, entry) in self
            .folders
            .iter()
            .rev()
            .filter(|(path, _)| (path.is_top() || self.folder.overwrite) == moved)
        {
            let place = enter(&self.place_of(path)?, std::iter::once(path.name()))?;
            fchmod(&place, self.staging.mode_of(entry.mode.unwrap_or(0o777)))?;
            if let Some(time) = entry.modified {
                set_time(&place, time)?;
            }
            if self.folder.durable {
                sync(&place)?;
            }
        }
        Ok(())
    }

    /// The name that somebody else has taken meanwhile.
    fn taken(&self) -> String {
        let is_taken = |top: &&String| matches!(status(&self.staging.target, top), Ok(Some(_)));
        let in_tree = |top: &&String| matches!(status(&self.staging.tree, top), Ok(Some(_)));
        let taken = self.tops.keys().filter(in_tree).find(is_taken);
        taken.cloned().unwrap_or_default()
    }
}
