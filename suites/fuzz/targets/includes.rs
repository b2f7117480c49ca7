//! Instruction files that include each other: whatever they say, nothing outside of the project is read unasked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::instructions::{Approvals, Places, load};
use scrubjay::limits::Limits;
use std::path::PathBuf;
use std::sync::LazyLock;

const SECRET: &str = "the secret of another folder";

static ROOM: LazyLock<(tempfile::TempDir, Places)> = LazyLock::new(|| {
    let held = tempfile::tempdir().unwrap();
    let home = held.path().canonicalize().unwrap();
    let root = home.join("project");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::create_dir_all(root.join(".git")).unwrap();
    std::fs::write(home.join("s.md"), SECRET).unwrap();
    std::os::unix::fs::symlink(home.join("s.md"), root.join("l.md")).unwrap();
    std::os::unix::fs::symlink(&home, root.join("up")).unwrap();
    let places = Places { managed: vec![], user: vec![], home, dir: root.clone(), root };
    (held, places)
});

fuzz_target!(|texts: (&str, &str, &str)| {
    let places = &ROOM.1;
    let files = ["CLAUDE.md", "a.md", "sub/b.md"].map(|name| places.root.join(name));
    let written = files.iter().zip([texts.0, texts.1, texts.2]);
    written.for_each(|(file, text): (&PathBuf, &str)| std::fs::write(file, text).unwrap());
    let loaded = load(places, &Approvals::default(), &Limits::default());
    for file in &loaded.files {
        assert!(!file.text.contains(SECRET) || [texts.0, texts.1, texts.2].concat().contains(SECRET), "{file:?}");
    }
});
