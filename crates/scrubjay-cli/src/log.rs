//! The log: what happened, never what was said. No bodies, no headers, no keys.

use crate::paper::Volume;
use crate::redaction::Redacting;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use tracing_subscriber::EnvFilter;

/// A log larger than this is put aside when the program starts, over the one that was put aside before.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Begin to log. A log that cannot be written is no reason not to work.
pub(crate) fn begin(path: &Path, volume: Volume) {
    let Ok(file) = open(path) else { return };
    let level = if volume == Volume::Loud { "debug" } else { "info" };
    // Only our own words: the libraries below would log what is sent.
    let filter = EnvFilter::new(format!("off,scrubjay={level},scrubjay_providers={level}"));
    let log =
        tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter).with_writer(Mutex::new(Redacting(file)));
    log.try_init().unwrap_or_default();
}

fn open(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        scrubjay::paths::create_dir_private(folder)?;
    }
    if std::fs::metadata(path).is_ok_and(|meta| meta.len() > LARGEST) {
        std::fs::rename(path, path.with_extension("log.1"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}
