//! A home directory that is gone when the test is.

use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary home with a project in it.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
}

impl Home {
    /// Make one.
    pub fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("scrubjay-test-").tempdir()?;
        std::fs::create_dir(root.path().join("project"))?;
        std::fs::create_dir(root.path().join("data"))?;
        Ok(Self { root })
    }

    /// Where the work happens.
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Where scrubjay keeps its data.
    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// The whole of it.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Put a file into the project.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.project().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text)?;
        Ok(path)
    }
}
