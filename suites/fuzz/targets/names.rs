//! Names of memories, slugs of projects, and directories that somebody names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::limits::Limits;
use scrubjay::memory::name;
use scrubjay::paths;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

fuzz_target!(|bytes: &[u8]| {
    let os = OsStr::from_bytes(bytes);
    let shown = name::escaped(os);
    assert!(!shown.contains(['\n', '\r', '\u{1b}', '\u{202e}', '\0']), "{shown:?}");
    if let Ok(loadable) = name::loadable(os) {
        assert!(!loadable.contains(['/', '\0']) && ![".", "..", ""].contains(&loadable));
    }
    let slug = paths::slug(Path::new(os), &Limits::default());
    assert!(slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{slug}");
    if let Ok(accepted) = paths::reject(Path::new(os)) {
        assert!(accepted.is_absolute());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(parts) = name::parts(text) {
        assert!(Path::new(text).components().all(|part| matches!(part, Component::Normal(_))), "{text:?}");
        assert!(parts.iter().all(|part| name::loadable(OsStr::new(part)).is_ok()));
        assert!(parts.last().is_some_and(|file| !name::is_index(file)));
    }
    let made = name::slug_of(text) + ".md";
    assert!(name::is_slug(&made) && name::parts(&made).is_ok(), "{made}");
    assert_eq!(name::fold(&name::fold(text)), name::fold(text), "{text:?}");
});
