//! Searching by content and by name.

use crate::bench::{Workshop, bad, good};
use scrubjay::tool::Effect;
use serde_json::json;
use std::time::{Duration, SystemTime};

fn shop() -> Workshop {
    let shop = Workshop::new();
    shop.file("src/a.rs", "fn one() {}\nfn two() {}\n// end\n");
    shop.file("src/b.rs", "fn three() {}\n");
    shop.file("notes.md", "one\ntwo\nthree\nfour\n");
    shop.file("target/out.rs", "fn hidden_by_ignore() {}\n");
    shop.file(".gitignore", "target\n");
    shop.file(".secret/c.rs", "fn hidden() {}\n");
    shop.file(".git/config", "fn git() {}\n");
    shop.file("bin.dat", b"fn text() {}\n\0\x01");
    shop
}

#[tokio::test]
async fn content_is_found_in_what_a_person_would_look_at() {
    let mut shop = shop();
    for (input, found) in [
        (json!({"pattern": "fn "}), "src/a.rs\nsrc/b.rs"),
        (json!({"pattern": "fn ", "output": "count"}), "src/a.rs:2\nsrc/b.rs:1"),
        (json!({"pattern": "fn t", "output": "content"}), "src/a.rs:2:fn two() {}\nsrc/b.rs:1:fn three() {}"),
        (json!({"pattern": "TWO", "ignore_case": true, "output": "content", "path": "notes.md"}), "notes.md:2:two"),
        (json!({"pattern": "two", "glob": "*.md"}), "notes.md"),
        (json!({"pattern": "one", "glob": "src/**"}), "src/a.rs"),
        (
            json!({"pattern": "three", "output": "content", "context": 1, "path": "notes.md"}),
            "notes.md-2-two\nnotes.md:3:three\nnotes.md-4-four",
        ),
        (json!({"pattern": "fn ", "hidden": true}), ".secret/c.rs\nsrc/a.rs\nsrc/b.rs"),
        (json!({"pattern": "one.two", "multiline": true}), "notes.md"),
        (json!({"pattern": "one.two"}), "Nothing matches."),
        (
            json!({"pattern": "fn ", "output": "content", "head_limit": 1}),
            "src/a.rs:1:fn one() {}\n[2 more results not shown; narrow the search]",
        ),
        (json!({"pattern": "^fn [a-z]+\\(\\) \\{\\}$", "output": "count"}), "src/a.rs:2\nsrc/b.rs:1"),
    ] {
        assert_eq!(good(&shop.call("Grep", input.clone()).await), found, "{input}");
    }
}

#[tokio::test]
async fn patterns_that_cannot_be_used_are_explained() {
    let mut shop = shop();
    assert!(bad(&shop.call("Grep", json!({"pattern": "("})).await).contains("cannot be used"));
    let big = bad(&shop.call("Grep", json!({"pattern": "(\\w{1000}){1000}"})).await);
    assert!(big.contains("cannot be used"), "{big}");
    assert!(bad(&shop.call("Grep", json!({"pattern": "x", "glob": "[" })).await).contains("cannot be used"));
    assert!(bad(&shop.call("Grep", json!({"pattern": "x", "path": "nowhere"})).await).contains("does not exist"));
    assert!(bad(&shop.call("Glob", json!({"pattern": "[" })).await).contains("cannot be used"));
    assert!(
        bad(&shop.call("Grep", json!({"pattern": "x", "output": "loud"})).await).contains("unknown variant `loud`")
    );
}

#[tokio::test]
async fn long_lines_are_cut_and_control_characters_shown() {
    let mut shop = Workshop::new();
    shop.file("min.js", format!("needle{}\u{1b}[31m", "x".repeat(3_000_000)));
    shop.file("esc.txt", "needle\u{1b}]52;c;x\u{7}\r\n");
    let text = good(&shop.call("Grep", json!({"pattern": "needle", "output": "content"})).await);
    assert!(text.len() < 2_000 && text.contains("more characters in this line]"), "{}", text.len());
    assert!(text.contains("esc.txt:1:needle⟦U+001B⟧]52;c;x⟦U+0007⟧\n"), "{text}");
}

#[tokio::test]
async fn names_are_found_newest_first() {
    let mut shop = shop();
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    for (name, seconds) in [("src/a.rs", 10), ("src/b.rs", 30), ("notes.md", 20), ("bin.dat", 20)] {
        std::fs::File::options().write(true).open(shop.dir.join(name)).unwrap().set_modified(at(seconds)).unwrap();
    }
    for (input, found) in [
        (json!({"pattern": "**/*.rs"}), "src/b.rs\nsrc/a.rs"),
        (json!({"pattern": "src/*.rs"}), "src/b.rs\nsrc/a.rs"),
        (json!({"pattern": "*"}), "bin.dat\nnotes.md"),
        (json!({"pattern": "**"}), "src/b.rs\nbin.dat\nnotes.md\nsrc/a.rs"),
        (
            json!({"pattern": "*.rs", "path": "src", "head_limit": 1}),
            "src/b.rs\n[1 more file not shown; narrow the pattern]",
        ),
        (json!({"pattern": "*.zig"}), "No file has a name like this."),
        (json!({"pattern": "**/c.rs", "hidden": true}), ".secret/c.rs"),
    ] {
        assert_eq!(good(&shop.call("Glob", input.clone()).await), found, "{input}");
    }
    assert_eq!(shop.effect("Glob", json!({"pattern": "/etc/*"})), Effect::Reads(vec!["/etc".into()]));
    assert_eq!(shop.effect("Grep", json!({"pattern": "x", "path": "src"})), Effect::Reads(vec![shop.dir.join("src")]));
}

// safety: F-43
#[tokio::test]
async fn pipes_and_links_in_the_tree_do_not_hold_a_search_up() {
    let mut shop = shop();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    std::fs::create_dir(shop.dir.join("trap")).unwrap();
    for name in ["pipe", "trap/.gitignore", "trap/x"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, shop.dir.join(name), mode).unwrap();
    }
    std::os::unix::fs::symlink("..", shop.dir.join("src/up")).unwrap();
    assert_eq!(good(&shop.call("Grep", json!({"pattern": "fn "})).await), "src/a.rs\nsrc/b.rs");
    assert_eq!(good(&shop.call("Glob", json!({"pattern": "**/b.rs"})).await), "src/b.rs");
    let inside = good(&shop.call("Grep", json!({"pattern": "fn ", "path": "trap"})).await);
    assert_eq!(inside, "Nothing matches.");
    good(&shop.call("Grep", json!({"pattern": "x", "path": "pipe"})).await);
}

#[tokio::test]
async fn a_search_stops_when_the_person_interrupts() {
    let mut shop = shop();
    shop.cancel.cancel();
    assert!(bad(&shop.call("Grep", json!({"pattern": "fn "})).await).contains("was stopped"));
    assert!(bad(&shop.call("Glob", json!({"pattern": "**"})).await).contains("was stopped"));
}
