//! Where does a capture go that a test wants to read? Into memory that both share.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes in memory. All clones are the same buffer: give one to a capture and read the other.
#[derive(Clone, Debug, Default)]
pub struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    /// What has been written since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        core::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
