//! [`Buffer`]: output that is kept as text.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// What was written; clones share it. A sink of `Output::to_sinks`.
#[derive(Clone, Default)]
pub(in crate::cli) struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// The text so far.
    pub(in crate::cli) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
