//! What the documentation prints of the program's own tables. `UPDATE_DOCS=1` writes it anew.

// A test fails by panicking, also in the functions its tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod conformance;
mod links;

use scrubjay::limits::{self, Limits};
use scrubjay::settings::{Settings, SettingsFile, Source, Sources};
use std::fs;
use std::path::PathBuf;

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// The page must say what the program says.
fn agree(name: &str, printed: &str) -> std::io::Result<()> {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(page(name), printed)?;
    }
    let written = fs::read_to_string(page(name)).unwrap_or_default();
    assert!(written == printed, "docs/{name} is not what the program prints; run the tests once with UPDATE_DOCS=1");
    Ok(())
}

#[test]
fn the_page_of_limits_is_the_table() -> std::io::Result<()> {
    agree("limits.toml", &limits::as_toml())
}

// spec: W3
#[test]
fn the_page_of_limits_is_a_settings_file() {
    let table: toml::Table = toml::from_str(&limits::as_toml()).unwrap();
    assert_eq!(table["limits"].as_table().unwrap().len(), Limits::table().len());
    let user = Some(SettingsFile { table, file: page("limits.toml") });
    let settings = Settings::resolve(&Sources { user, ..Sources::default() });
    assert_eq!((settings.limits(), settings.warnings.len()), (&Limits::default(), 0));
    assert!(Limits::table().iter().all(|limit| settings.origin(&format!("limits.{}", limit.name)) == Source::User));
}
